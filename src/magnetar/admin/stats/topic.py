"""Topic statistics: the topic, who publishes to it, and its subscriptions (which have a module of their own)."""

from __future__ import annotations

from dataclasses import dataclass

from magnetar.admin.answers import Fields
from magnetar.admin.rates import Sampler, topic_out
from magnetar.admin.stats.common import iso, seconds
from magnetar.admin.stats.subscription import delayed_index_bytes, subscription_stats
from magnetar.core.backlog import backlog_bytes, known_age_ms, slowest
from magnetar.core.compaction.state import TopicCompaction
from magnetar.core.producer import MODES, Producer
from magnetar.core.topic import Topic

__all__ = ["View", "compaction_stats", "topic_stats"]


@dataclass(slots=True, frozen=True)
class View:
    """What the caller wants to see of a topic."""

    rates: Sampler
    owner: str
    publishers: bool = True
    consumers: bool = True
    earliest: bool = False
    """Whether to say when the oldest message of the backlog was published."""


def topic_stats(topic: Topic, view: View) -> Fields:
    """Everything that Pulsar's topic statistics have; figures of things that do not exist here are zero."""
    rate = view.rates.rate(topic)
    messages_out, bytes_out = topic_out(topic)
    found: Fields = {
        "msgRateIn": rate.messages,
        "msgThroughputIn": rate.bytes,
        "msgRateOut": rate.third,
        "msgThroughputOut": rate.fourth,
        "bytesInCounter": topic.bytes_in,
        "msgInCounter": topic.messages_in,
        "systemTopicBytesInCounter": 0,
        "bytesOutCounter": bytes_out,
        "msgOutCounter": messages_out,
        "bytesOutInternalCounter": 0,
        "averageMsgSize": rate.size,
        "msgChunkPublished": topic.chunked,
        "storageSize": topic.size_bytes,
        "backlogSize": backlog_bytes(topic, topic.low_water()),
        "backlogQuotaLimitSize": topic.policies.quota_size.limit,
        "backlogQuotaLimitTime": seconds(topic.policies.quota_age.limit),
        **_oldest(topic),
        "publishRateLimitedTimes": topic.limits.publish.limited if topic.limits.publish is not None else 0,
        "earliestMsgPublishTimeInBacklogs": _earliest(topic) if view.earliest else 0,
        "offloadedStorageSize": 0,
        "lastOffloadLedgerId": 0,
        "lastOffloadSuccessTimeStamp": 0,
        "lastOffloadFailureTimeStamp": 0,
        "ongoingTxnCount": 0,
        "abortedTxnCount": 0,
        "committedTxnCount": 0,
        "publishers": [_publisher(p, view.rates) for p in topic.producers.values()] if view.publishers else [],
        "waitingPublishers": len(topic.waiting),
    }
    subs = {sub.name: subscription_stats(sub, view.rates, view.consumers) for sub in topic.subscriptions.values()}
    found["subscriptions"] = subs
    found["replication"] = {}
    found["deduplicationStatus"] = "Enabled" if topic.dedup is not None else "Disabled"
    if topic.epoch >= 0:
        found["topicEpoch"] = topic.epoch
    holes = sum(int(str(sub["nonContiguousDeletedMessagesRanges"])) for sub in subs.values())
    found["nonContiguousDeletedMessagesRanges"] = holes
    found["nonContiguousDeletedMessagesRangesSerializedSize"] = 0
    found["delayedMessageIndexSizeInBytes"] = sum(map(delayed_index_bytes, topic.subscriptions.values()))
    found["compaction"] = compaction_stats(topic.compaction)
    found["ownerBroker"] = view.owner
    found["topicCreationTimeStamp"] = topic.created_ms
    found["lastPublishTimeStamp"] = topic.last_publish_ms
    return found


def compaction_stats(state: TopicCompaction) -> Fields:
    return {
        "lastCompactionRemovedEventCount": state.removed,
        "lastCompactionSucceedTimestamp": state.succeeded_ms,
        "lastCompactionFailedTimestamp": state.failed_ms,
        "lastCompactionDurationTimeInMills": state.took_ms,
    }


def _oldest(topic: Topic) -> Fields:
    """The age of the backlog, and whose backlog that is."""
    age_ms, sub = known_age_ms(topic), slowest(topic)
    if age_ms < 0 or sub is None:
        return {"oldestBacklogMessageAgeSeconds": -1}
    return {"oldestBacklogMessageAgeSeconds": age_ms // 1000, "oldestBacklogMessageSubscriptionName": sub.name}


def _earliest(topic: Topic) -> int:
    return topic.limits.oldest_ms if known_age_ms(topic) >= 0 else 0


def _publisher(producer: Producer, rates: Sampler) -> Fields:
    rate = rates.rate(producer)
    session = producer.session
    found: Fields = {
        "accessMode": MODES[producer.mode],
        "msgRateIn": rate.messages,
        "msgThroughputIn": rate.bytes,
        "averageMsgSize": rate.size,
        "chunkedMessageRate": 0.0,
        "producerId": producer.id,
        "supportsPartialProducer": session.partial_producers,
        "producerName": producer.name,
        "address": session.address,
        "connectedSince": iso(producer.connected_ms),
        "clientVersion": session.client_version,
        "metadata": producer.metadata,
    }
    if not session.client_version:
        del found["clientVersion"]
    return found
