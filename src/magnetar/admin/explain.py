"""Explanations, pending acknowledgements and histories as JSON. What is empty is left out."""

from __future__ import annotations

from base64 import b64encode

from magnetar.admin.answers import Fields
from magnetar.core.explain.codes import FREED_BY
from magnetar.core.explain.entries import describe, entry_in_memory
from magnetar.core.explain.failover import FailoverFacts
from magnetar.core.explain.pending import PendingAck
from magnetar.core.explain.report import ConsumerFacts, Finding, KeyReport, Report
from magnetar.core.explain.selector import SelectorReport, max_over_mean
from magnetar.core.history import Event
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic

__all__ = [
    "event_fields",
    "failover_fields",
    "id_text",
    "key_fields",
    "key_report_fields",
    "pending_fields",
    "report_fields",
    "selector_fields",
]

MIXED_ADVICE = "use a key-based batcher in this producer: all of a batch goes by the key of its first message"


def id_text(topic: Topic, offset: int) -> str:
    """A message id as ``ledger:entry``."""
    ledger, entry = topic.ledgers.position(offset)
    return f"{ledger}:{entry}"


def key_fields(key: bytes | None) -> Fields:
    """A key as text, or in base64 under another name, so that nobody has to guess."""
    if key is None:
        return {}
    try:
        return {"key": key.decode()}
    except UnicodeDecodeError:
        return {"keyB64": b64encode(key).decode()}


def _message(topic: Topic, offset: int) -> Fields:
    """A message by its id, and by its key if that takes no read."""
    entry = entry_in_memory(topic, offset)
    return {"messageId": id_text(topic, offset), **key_fields(describe(entry)[0] if entry else None)}


def _messages(topic: Topic, offsets: list[int]) -> list[Fields]:
    return [_message(topic, offset) for offset in offsets]


def _finding(topic: Topic, finding: Finding) -> Fields:
    found: Fields = {
        "code": finding.code,
        "consumers": finding.consumers,
        "consumerCount": finding.consumer_count,
        "messages": _messages(topic, finding.messages),
        "messageCount": finding.message_count,
        "keys": finding.keys,
        "slots": finding.slots,
        "waiting": finding.waiting,
        "limit": finding.limit,
        "sinceTimestamp": finding.since_ms,
        "sentTimestamp": finding.sent_ms,
        "untilTimestamp": finding.until_ms,
        "reason": finding.text,
        "freedBy": FREED_BY[finding.code],
    }
    return {name: value for name, value in found.items() if value}


def report_fields(sub: Subscription, report: Report) -> Fields:
    topic = sub.topic
    found: Fields = {
        "topic": str(topic.name),
        "subscription": sub.name,
        "type": report.kind,
        "timestamp": report.at_ms,
        "verdict": report.findings[0].code,
        "findings": [_finding(topic, finding) for finding in report.findings],
        "msgBacklog": report.backlog,
        "unackedMessages": report.unacked,
        "msgInReplay": report.waiting,
        "unreadEntries": report.unread,
        "drainingHashesCount": report.draining,
        "lastConsumedTimestamp": report.last_sent_ms,
        "lastAckedTimestamp": report.last_acked_ms,
        "consumerCount": report.consumer_count,
        "consumers": [_consumer(facts) for facts in report.consumers],
    }
    if report.selector is not None:
        found["keySharedSelector"] = selector_fields(report.selector)
    if report.active:
        found["activeConsumerName"] = report.active
    if report.failover is not None:
        found["failover"] = failover_fields(report.failover)
    return found


def failover_fields(facts: FailoverFacts) -> Fields:
    """Who is active, since when, who is next, and the latest decisions; the name is that of the stats' field."""
    found: Fields = {
        "selector": facts.selector,
        "activeConsumerName": facts.active,
        "activeSince": facts.since_ms,
        "nextConsumerName": facts.next,
        "handoverUntil": facts.until_ms,
        "unfinishedEntries": facts.unfinished,
        "activeTopics": facts.topics,
        "switches": facts.switches,
        "repeatedEntries": facts.repeated,
        "decisions": [event_fields(event) for event in facts.decisions],
    }
    return {name: value for name, value in found.items() if value or name in ("switches", "repeatedEntries")}


def selector_fields(report: SelectorReport) -> Fields:
    """How keys are shared out. Consumers have a rate where the selector knows it."""
    return {
        "name": report.name,
        "movedSlots": report.moved_slots,
        "maxOverMean": round(max_over_mean(report.shares), 3),
        "consumers": [
            {
                "consumerName": share.consumer,
                "slots": share.slots,
                "share": round(share.part, 4),
                "rangeCount": share.range_count,
                "ranges": share.ranges,
                **({"rate": round(share.rate, 3)} if share.rate >= 0 else {}),
            }
            for share in report.shares
        ],
        "decisions": [
            {
                "timestamp": one.at_ms,
                "what": one.what,
                "consumerName": one.consumer,
                "otherConsumerName": one.other,
                "slotsMoved": one.slots,
                "reason": one.why,
            }
            for one in report.decisions
        ],
        "hotKeys": [
            {**key_fields(hot.key), "share": round(hot.part, 4), "consumerName": hot.owner} for hot in report.hot_keys
        ],
        "mixedBatches": [
            {"producerName": row.producer, "batches": row.batches, "mixed": row.mixed, "advice": MIXED_ADVICE}
            for row in report.mixed
        ],
    }


def _consumer(facts: ConsumerFacts) -> Fields:
    return {
        "consumerName": facts.name,
        "availablePermits": facts.permits,
        "unackedMessages": facts.unacked,
        "pendingAcks": facts.pending,
        "oldestSentTimestamp": facts.oldest_sent_ms,
        "lastAckedTimestamp": facts.last_acked_ms,
        "blockedConsumerOnUnackedMsgs": facts.blocked,
        "connectionSlow": facts.slow,
        "slots": facts.slots,
    }


def key_report_fields(topic: Topic, report: KeyReport) -> Fields:
    """``owner`` may have the key now, ``ownerAfterDrain`` when what is held has been acknowledged."""
    return {
        **key_fields(report.key),
        "slot": report.slot,
        "verdict": report.findings[0].code,
        "owner": report.owner,
        "ownerAfterDrain": report.owner_after,
        "heldBy": report.held_by,
        "heldMessages": [id_text(topic, offset) for offset in report.held],
        "heldCount": report.held_count,
        "sentTimestamp": report.sent_ms,
        "waitingMessages": [id_text(topic, offset) for offset in report.waiting],
        "waitingCount": report.waiting_count,
        "findings": [_finding(topic, finding) for finding in report.findings],
    }


def pending_fields(topic: Topic, row: PendingAck, entry: bytes | None, now_ms: int) -> Fields:
    key, messages = describe(entry) if entry else (None, 0)
    found: Fields = {
        "messageId": id_text(topic, row.offset),
        "consumerName": row.consumer.name,
        **key_fields(key),
        "deliveryCount": row.deliveries,
        "openMessages": row.open or messages,
    }
    if messages:
        found["batchSize"] = messages
    if row.sent_ms:
        found["sentTimestamp"] = row.sent_ms
        found["ageMillis"] = max(now_ms - row.sent_ms, 0)
    if row.slot >= 0:
        found["slot"] = row.slot
        found["draining"] = row.draining
    return found


def event_fields(event: Event) -> Fields:
    found: Fields = {
        "timestamp": event.at_ms,
        "what": event.what,
        "consumerName": event.consumer,
        "slotsMoved": event.slots,
        "drainingHashesCount": event.draining,
        "heldEntries": event.held,
        "lastedMillis": event.lasted_ms,
        "why": event.why,
        "selector": event.selector,
    }
    return {name: value for name, value in found.items() if value}
