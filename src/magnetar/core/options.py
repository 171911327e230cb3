"""The limits and switches of the core, each with a unit in its name. The shell fills them from the settings."""

from __future__ import annotations

__all__ = ["FRAME_PADDING_BYTES", "Options"]

FRAME_PADDING_BYTES = 10_240
"""How much larger than the largest message a frame may be."""


class Options:
    """Defaults are Apache Pulsar's wherever it has the setting."""

    def __init__(self) -> None:
        self.cluster: str = "standalone"
        self.broker_url: str = "pulsar://127.0.0.1:6650"
        self.http_url: str = "http://127.0.0.1:8080"
        self.server_version: str = "Magnetar"
        self.max_message_bytes: int = 5 * 1024 * 1024
        self.keep_alive_ms: int = 30_000
        self.liveness_probe_ms: int = 5_000
        self.max_pending_publishes: int = 1_000
        """Per connection; above it the socket is not read, until half of them are answered."""
        self.max_session_out_bytes: int = 4 << 20
        """What may wait in one connection's out-buffer before its consumers are passed over."""
        self.max_connections: int = 0
        self.auto_create_topics: bool = True
        self.auto_create_partitions: int = 0
        """Above 0, topics created by use are partitioned."""
        self.auto_create_subscriptions: bool = True
        self.default_partitions: int = 1
        self.tail_cache_bytes: int = 32 << 20
        self.read_batch_entries: int = 500
        self.read_batch_bytes: int = 5 * 1024 * 1024
        self.ledger_entries_max: int = 50_000
        self.ledger_bytes_max: int = 2 << 30
        self.ledger_min_ms: int = 10 * 60_000
        self.ledger_max_ms: int = 240 * 60_000
        self.retention_ms: int = 0
        """-1 keeps for ever."""
        self.retention_bytes: int = 0
        """-1 keeps without limit of size."""
        self.message_ttl_ms: int = 0
        self.expiry_check_ms: int = 5 * 60_000
        self.retention_check_ms: int = 2 * 60_000
        self.max_unacked_per_consumer: int = 50_000
        self.max_unacked_per_subscription: int = 200_000
        self.max_producers_per_topic: int = 0
        self.max_consumers_per_topic: int = 0
        self.max_consumers_per_subscription: int = 0
        self.max_subscriptions_per_topic: int = 0
        self.max_topics_per_namespace: int = 0
        self.round_robin_entries: int = 20
        self.batch_index_ack: bool = True
        self.deduplication: bool = False
        self.dedup_producers_max: int = 10_000
        self.failover_delay_ms: int = 1_000
        self.failover_by_hash: bool = False
        self.subscription_types: frozenset[str] = frozenset(("Exclusive", "Shared", "Failover", "Key_Shared"))
        self.ring_points: int = 100
        self.key_shared_ring: bool = True
        """Whether Key_Shared uses the consistent hash ring; else the widest-range split."""
        self.key_shared_classic: bool = False
        """Whether new dispatchers of Key_Shared follow the older rule of recently joined consumers."""
        self.key_shared_unblocking_ms: int = 10
        self.key_shared_nack_order: bool = False
        self.key_shared_drain_lease_ms: int = 0
        """0: a drain lasts as long as its holder."""
        self.look_ahead_per_consumer: int = 4_000
        self.look_ahead_per_subscription: int = 40_000
        self.history_events_max: int = 100
        """How many of its latest changes a subscription remembers."""
        self.subscription_metadata_bytes: int = 1_024
