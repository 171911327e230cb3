"""Why a subscription of any type does or does not move."""

from __future__ import annotations

from magnetar.core.consumer import Consumer
from magnetar.core.dispatch.base import Dispatcher
from magnetar.core.dispatch.classic import ClassicKeyShared
from magnetar.core.dispatch.keyshared import KeyShared
from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.dispatch.shared import Shared
from magnetar.core.dispatch.single import SingleActive
from magnetar.core.explain import codes
from magnetar.core.explain.failover import failover_facts
from magnetar.core.explain.keyed import keyed_findings, newcomers
from magnetar.core.explain.limits import dispatch_limits, publish_limits
from magnetar.core.explain.report import CONSUMERS_MAX, MESSAGES_MAX, NAMES_MAX, ConsumerFacts, Finding, Report
from magnetar.core.explain.selector import explain_selector
from magnetar.core.source import Source
from magnetar.core.subscription import Subscription

__all__ = ["busy", "explain_subscription", "subscription_limit"]


def explain_subscription(sub: Subscription) -> Report:
    """Everything that is in the way now, what matters most first."""
    dispatcher = sub.dispatcher
    active = dispatcher.active() if dispatcher is not None else None
    return Report(
        at_ms=sub.topic.broker.now_ms,
        kind=sub.kind,
        findings=_findings(sub),
        backlog=sub.backlog(),
        unacked=dispatcher.unacked() if dispatcher is not None else 0,
        waiting=dispatcher.waiting() if dispatcher is not None else 0,
        unread=_unread(sub),
        draining=dispatcher.draining() if dispatcher is not None else 0,
        active=active.name if active is not None else "",
        consumer_count=len(sub.consumers),
        consumers=[_facts(consumer) for consumer in sub.consumers[:CONSUMERS_MAX]],
        last_sent_ms=sub.last_sent_ms,
        last_acked_ms=sub.last_acked_ms,
        failover=failover_facts(sub),
        selector=explain_selector(sub),
    )


def _facts(consumer: Consumer) -> ConsumerFacts:
    dispatcher = consumer.subscription.dispatcher
    return ConsumerFacts(
        name=consumer.name,
        permits=consumer.permits,
        unacked=consumer.unacked,
        pending=len(consumer.pending),
        blocked=consumer.blocked,
        slow=not consumer.session.writable,
        slots=dispatcher.share(consumer) if dispatcher is not None else 0,
        oldest_sent_ms=consumer.oldest_sent_ms(),
        last_acked_ms=consumer.last_acked_ms,
    )


def _unread(sub: Subscription) -> int:
    floor = sub.acks.floor if sub.dispatcher is None else max(sub.dispatcher.read_next, sub.acks.floor)
    return sub.topic.tail.end - floor


def _findings(sub: Subscription) -> list[Finding]:
    if sub.deleted or sub.topic.deleted:
        return [Finding(codes.DELETED)]
    if sub.fenced:
        return [Finding(codes.CURSOR_MOVING)]
    found: list[Finding] = []
    broker, dispatcher = sub.topic.broker, sub.dispatcher
    if broker.log_error:
        found.append(Finding(codes.LOG_FAILING, text=broker.log_error, until_ms=broker.hold_until_ms))
    if not sub.consumers or dispatcher is None:
        found.append(Finding(codes.NO_CONSUMER, waiting=sub.backlog()))
    elif isinstance(dispatcher, SingleActive) and dispatcher.handover is not None and sub.backlog():
        found.append(_handover(sub, dispatcher, dispatcher.handover.due_ms))
    elif _unread(sub) or dispatcher.waiting():
        found += dispatch_limits(sub) + _in_the_way(sub, dispatcher) or [Finding(codes.READY)]
    else:
        found += _nothing_left(sub, dispatcher)
    # Why nothing new comes is the verdict only where there is nothing else to say.
    limits = publish_limits(sub.topic)
    return limits + found if found[0].code == codes.NOTHING_TO_DELIVER else found + limits


def _handover(sub: Subscription, dispatcher: SingleActive, until_ms: int) -> Finding:
    names = [consumer.name for consumer in sub.consumers if consumer is dispatcher.current]
    if dispatcher.relief is not None:
        held = dispatcher.unfinished()
        return Finding(
            codes.HANDOVER_DRAIN,
            consumers=names,
            consumer_count=1,
            messages=[sub.acks.floor],
            message_count=held,
            waiting=sub.backlog() - held,
            since_ms=dispatcher.relief.began_ms,
            until_ms=until_ms,
            text=dispatcher.relief.successor.name,
        )
    # Reading begins again at the first unacknowledged entry when it is over.
    return Finding(codes.HANDOVER_DELAY, names, 1, waiting=sub.backlog(), until_ms=until_ms)


def _nothing_left(sub: Subscription, dispatcher: Dispatcher) -> list[Finding]:
    """Everything there is has been sent."""
    found: list[Finding] = []
    if sub.topic.pending_runs:
        found.append(Finding(codes.LOG_WRITE, message_count=sub.topic.next_offset - sub.topic.tail.end))
    found += _delayed(dispatcher)
    if sub.backlog() > dispatcher.delayed_count():
        found.append(_waiting_for_acks(sub, dispatcher))
    if isinstance(dispatcher, KeyShared):
        found += keyed_findings(dispatcher)
    if not found:
        found.append(Finding(codes.TERMINATED if sub.topic.terminated else codes.NOTHING_TO_DELIVER))
    return found


def _delayed(dispatcher: Dispatcher) -> list[Finding]:
    """What is kept until its time. That of the others says nothing about them."""
    count = dispatcher.delayed_count()
    return [Finding(codes.DELAYED, message_count=count, until_ms=dispatcher.delayed_until())] if count else []


def _waiting_for_acks(sub: Subscription, dispatcher: Dispatcher) -> Finding:
    holders = [consumer for consumer in sub.consumers if consumer.pending]
    active = dispatcher.active()
    if active is not None:
        holders = [active]
    return Finding(
        codes.WAITING_FOR_ACKS,
        consumers=[consumer.name for consumer in holders[:NAMES_MAX]],
        consumer_count=len(holders),
        messages=[sub.acks.floor],
        message_count=sub.backlog() - dispatcher.delayed_count(),
        sent_ms=min((consumer.oldest_sent_ms() for consumer in holders), default=0),
    )


def _in_the_way(sub: Subscription, dispatcher: Dispatcher) -> list[Finding]:
    """There is something to send."""
    if isinstance(dispatcher, SingleActive):
        return _single(dispatcher)
    if isinstance(dispatcher, PendingDispatcher):
        return _pending(sub, dispatcher)
    return []


def _single(dispatcher: SingleActive) -> list[Finding]:
    consumer = dispatcher.current
    return (busy([consumer]) if consumer is not None else []) + _reads([dispatcher.source])


def _pending(sub: Subscription, dispatcher: PendingDispatcher) -> list[Finding]:
    found = subscription_limit(dispatcher)
    consumers = busy(sub.consumers)
    anyone = any(consumer.ready() for consumer in sub.consumers)
    if not anyone:
        found += consumers
    found += _reads([dispatcher.source, dispatcher.again])
    if isinstance(dispatcher, KeyShared):
        found += keyed_findings(dispatcher)
    elif isinstance(dispatcher, ClassicKeyShared):
        found += newcomers(dispatcher)
    elif isinstance(dispatcher, Shared) and dispatcher.parked:
        found.append(_parked(dispatcher))
    if anyone:
        found += consumers
    found += _delayed(dispatcher)
    # A read that is answered in a moment is no more than the reason why nothing is sent right now.
    found.sort(key=lambda finding: finding.code == codes.LOG_READ)
    return found


def _parked(dispatcher: Shared) -> Finding:
    owners: dict[str, bool] = {consumer.name: True for consumer in dispatcher.chunks.values() if not consumer.ready()}
    parked = sorted(dispatcher.parked)
    return Finding(
        codes.CHUNKS_PARKED, list(owners)[:NAMES_MAX], len(owners), parked[:MESSAGES_MAX], len(parked), len(parked)
    )


def subscription_limit(dispatcher: PendingDispatcher) -> list[Finding]:
    """Whether the subscription as a whole has too many unacknowledged messages."""
    if not dispatcher.blocked:
        return []
    limit, count = dispatcher.limit, dispatcher.unacked_total
    return [Finding(codes.SUBSCRIPTION_UNACKED_LIMIT, limit=limit, message_count=count)]


def busy(consumers: list[Consumer]) -> list[Finding]:
    """Which of the consumers cannot be sent anything, by reason."""
    reasons: dict[str, list[Consumer]] = {
        codes.CONSUMER_UNACKED_LIMIT: [consumer for consumer in consumers if consumer.blocked],
        codes.CONNECTION_SLOW: [consumer for consumer in consumers if not consumer.session.writable],
        codes.NO_PERMITS: [consumer for consumer in consumers if consumer.permits <= 0],
    }
    found: list[Finding] = []
    for code, which in reasons.items():
        if which:
            finding = Finding(code, [consumer.name for consumer in which[:NAMES_MAX]], len(which))
            dispatcher = which[0].subscription.dispatcher
            if code == codes.CONSUMER_UNACKED_LIMIT and isinstance(dispatcher, PendingDispatcher):
                finding.limit = dispatcher.consumer_limit
                finding.message_count = sum(consumer.unacked for consumer in which)
            if code == codes.NO_PERMITS:
                finding.since_ms = min(consumer.last_sent_ms for consumer in which)
            found.append(finding)
    return found


def _reads(sources: list[Source]) -> list[Finding]:
    """What the log is asked for."""
    found: list[Finding] = []
    for source in sources:
        if source.reading and source.error:
            found.append(Finding(codes.LOG_READ_FAILING, messages=[source.wanted], text=source.error))
        elif source.reading:
            found.append(Finding(codes.LOG_READ, messages=[source.wanted]))
    return found
