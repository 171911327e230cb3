"""The limits and switches of the core, each with a unit in its name. The shell fills them from the settings."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

__all__ = ["FRAME_PADDING_BYTES", "Options"]

FRAME_PADDING_BYTES = 10_240
"""How much larger than the largest message a frame may be."""


@dataclass
class Options:
    """Defaults are Apache Pulsar's wherever it has the setting."""

    cluster: str = "standalone"
    broker_url: str = "pulsar://127.0.0.1:6650"
    http_url: str = "http://127.0.0.1:8080"
    server_version: str = "Magnetar"
    max_message_bytes: int = 5 * 1024 * 1024
    keep_alive_ms: int = 30_000
    liveness_probe_ms: int = 5_000
    max_pending_publishes: int = 1_000
    """Per connection; above it the socket is not read, until half of them are answered."""
    max_session_out_bytes: int = 4 << 20
    """What may wait in one connection's out-buffer before its consumers are passed over."""
    max_connections: int = 0
    auto_create_topics: bool = True
    auto_create_partitions: int = 0
    """Above 0, topics created by use are partitioned."""
    auto_create_subscriptions: bool = True
    default_partitions: int = 1
    non_persistent_topics: bool = True
    non_persistent_pending_max: int = 1_000
    """Non-persistent messages of one connection that may wait for their receipts to be written."""
    pattern_evaluation: bool = True
    pattern_length_max: int = 50
    topic_watchers: bool = True
    max_partitions: int = 0
    """Of one topic; 0: no limit."""
    tail_cache_bytes: int = 32 << 20
    read_batch_entries: int = 500
    read_batch_bytes: int = 5 * 1024 * 1024
    ledger_entries_max: int = 50_000
    ledger_bytes_max: int = 2 << 30
    ledger_min_ms: int = 10 * 60_000
    ledger_max_ms: int = 240 * 60_000
    retention_ms: int = 0
    """-1 keeps for ever."""
    retention_bytes: int = 0
    """-1 keeps without limit of size."""
    message_ttl_ms: int = 0
    expiry_check_ms: int = 5 * 60_000
    retention_check_ms: int = 2 * 60_000
    max_unacked_per_consumer: int = 50_000
    max_unacked_per_subscription: int = 200_000
    max_producers_per_topic: int = 0
    max_consumers_per_topic: int = 0
    max_consumers_per_subscription: int = 0
    max_subscriptions_per_topic: int = 0
    max_topics_per_namespace: int = 0
    round_robin_entries: int = 20
    batch_index_ack: bool = True
    schema_strategy: str = "FULL"
    schema_auto_update: bool = True
    schema_enforced: bool = False
    deduplication: bool = False
    dedup_producers_max: int = 10_000
    failover_delay_ms: int = 1_000
    failover_by_hash: bool = False
    failover_selector: str = ""
    """Empty: ``modulo``, or ``ring`` where ``failover_by_hash`` says so."""
    failover_drain_ms: int = 0
    """How long the active consumer may finish what it holds before another takes over; 0: a pause and a rewind."""
    subscription_types: frozenset[str] = frozenset(("Exclusive", "Shared", "Failover", "Key_Shared"))
    ring_points: int = 100
    key_shared_ring: bool = True
    """Whether Key_Shared uses the consistent hash ring; else the widest-range split."""
    key_shared_selector: str = ""
    """One of ``core/selector/names.py``; empty: as ``key_shared_ring`` says."""
    rebalance_slots: int = 0
    """How many slots the rate-aware selector may move in a minute while nobody joins or leaves; 0: none."""
    rebalance_percent: int = 10
    """How far the busiest consumer may be above the mean rate before slots are moved."""
    key_shared_classic: bool = False
    """Whether new dispatchers of Key_Shared follow the older rule of recently joined consumers."""
    key_shared_unblocking_ms: int = 10
    key_shared_nack_order: bool = False
    key_shared_drain_lease_ms: int = 0
    """0: a drain lasts as long as its holder."""
    look_ahead_per_consumer: int = 4_000
    look_ahead_per_subscription: int = 40_000
    quota_check: bool = True
    quota_check_ms: int = 60_000
    quota_bytes: int = -1
    """Of a topic's backlog; below 0: no limit."""
    quota_ms: int = -1
    """The age that the oldest message of a backlog may reach; below 0: no limit."""
    quota_action: str = "producer_request_hold"
    delete_inactive: bool = True
    delete_inactive_partitioned: bool = False
    inactive_caught_up: bool = False
    """Whether a topic counts as unused although it has subscriptions, when they have no backlog."""
    inactive_after_ms: int = 60_000
    inactive_check_ms: int = 60_000
    subscription_expiration_ms: int = 0
    """How long a subscription may stay without a consumer; 0: for ever."""
    subscription_expiry_check_ms: int = 5 * 60_000
    publish_rate_messages: int = 0
    """Of one topic in a second, as all rates here; 0: no limit."""
    publish_rate_bytes: int = 0
    dispatch_rate_messages: int = 0
    """Of the whole broker."""
    dispatch_rate_bytes: int = 0
    topic_dispatch_rate_messages: int = 0
    topic_dispatch_rate_bytes: int = 0
    subscription_dispatch_rate_messages: int = 0
    subscription_dispatch_rate_bytes: int = 0
    dispatch_rate_relative: bool = False
    """Whether the rate of publishing comes on top of the dispatch rates of topics and subscriptions."""
    throttle_caught_up: bool = True
    """Whether dispatch rates hold for subscriptions that are nearly caught up."""
    subscribe_rate: int = 0
    """How often one consumer may subscribe to a topic in ``subscribe_rate_period_ms``; 0: no limit."""
    subscribe_rate_period_ms: int = 30_000
    pause_on_ack_state: bool = False
    """Whether nothing is dispatched while acknowledgements cannot be made durable."""
    history_events_max: int = 100
    """How many of its latest changes a subscription remembers."""
    delayed_delivery: bool = True
    delay_tick_ms: int = 1_000
    max_delay_ms: int = 0
    """The longest delay that a producer may ask for; 0: any."""
    compaction_threshold: int = 0
    """Bytes that are not compacted yet at which a topic is compacted; 0: only on demand."""
    compaction_check_ms: int = 60_000
    compaction_retain_null_key: bool = False
    entry_timestamp: bool = False
    entry_index: bool = False
    """Whether entries are stored with the time at which they came and the index of their last message."""
    entry_metadata_exposed: bool = False
    subscription_metadata_bytes: int = 1_024

    def values(self) -> dict[str, Any]:
        """Every option by its name; compiled classes have no ``__dict__`` to look into."""
        return {each.name: getattr(self, each.name) for each in fields(self)}
