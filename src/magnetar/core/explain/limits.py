"""Policies that are in the way: a rate, a pause, a quota."""

from __future__ import annotations

from magnetar.core.dispatch.gate import BY_BROKER, BY_SUBSCRIPTION, BY_TOPIC
from magnetar.core.explain import codes
from magnetar.core.explain.report import NAMES_MAX, Finding
from magnetar.core.policies.values import Rate
from magnetar.core.quota import blocking
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic

__all__ = ["dispatch_limits", "publish_limits"]

_WHOSE = {
    BY_SUBSCRIPTION: "subscriptionDispatchRate",
    BY_TOPIC: "dispatchRate of the topic",
    BY_BROKER: "dispatchThrottlingRateInMsg and dispatchThrottlingRateInByte of the broker",
}


def dispatch_limits(sub: Subscription) -> list[Finding]:
    """What keeps the broker from sending."""
    gate, broker = sub.gate, sub.topic.broker
    if gate is None:
        return []
    if gate.pauses and broker.log_error:
        text = f"dispatcherPauseOnAckStatePersistent: {broker.log_error}"
        return [Finding(codes.ACK_STATE_PAUSE, text=text, until_ms=broker.hold_until_ms)]
    if gate.waits():
        throttle = gate.throttles()[gate.level]
        rate = throttle.rate if throttle is not None else None
        own = gate.level == BY_SUBSCRIPTION and sub.name in sub.topic.policies.dispatch_rates
        text = f"{'dispatchRate of the subscription' if own else _WHOSE[gate.level]}: {_words(rate)}"
        return [Finding(codes.DISPATCH_RATE, text=text, until_ms=gate.until_ms)]
    return []


def publish_limits(topic: Topic) -> list[Finding]:
    """What keeps producers from publishing."""
    found: list[Finding] = []
    action, reason = blocking(topic)
    if action:
        found.append(Finding(codes.BACKLOG_QUOTA, text=f"{action}: {reason}"))
    throttle, now = topic.limits.publish, topic.broker.now_ms
    if throttle is not None:
        held = [each for each in topic.producers.values() if each.session.held_until_ms > now]
        if held:
            names = [producer.name for producer in held[:NAMES_MAX]]
            until = max(producer.session.held_until_ms for producer in held)
            text = f"publishRate: {_words(throttle.rate)}; held back: {', '.join(names)}"
            found.append(Finding(codes.PUBLISH_RATE, text=text, until_ms=until))
    return found


def _words(rate: Rate | None) -> str:
    if rate is None:
        return ""
    parts = [f"{rate.messages} messages"] if rate.messages > 0 else []
    if rate.bytes > 0:
        parts.append(f"{rate.bytes} bytes")
    period = "a second" if rate.period_ms == 1000 else f"in {rate.period_ms // 1000} s"
    beyond = " beyond what is published" if rate.relative else ""
    return f"{' and '.join(parts)} {period}{beyond}"
