"""Who is active on a Failover subscription, since when and why, and who would be next."""

from __future__ import annotations

from dataclasses import dataclass

from magnetar.core.dispatch.oneofmany import OneOfMany
from magnetar.core.history import ACTIVE, FINISHING, Event
from magnetar.core.subscription import Subscription

__all__ = ["DECISIONS_MAX", "FailoverFacts", "failover_facts"]

DECISIONS_MAX = 10
"""The latest decisions that are told; the history has more."""


@dataclass(slots=True)
class FailoverFacts:
    """What does not apply is empty."""

    selector: str
    active: str
    since_ms: int
    next: str
    """Who is to be active after the hand-over that is under way, else who would be if the active one left now."""
    until_ms: int
    """When the hand-over that is under way ends at the latest."""
    unfinished: int
    """Entries that the active one may still finish in it."""
    topics: int
    """With ``balanced``: on how many topics the active one is."""
    switches: int
    repeated: int
    decisions: list[Event]


def failover_facts(sub: Subscription) -> FailoverFacts | None:
    """None where there is nothing to choose."""
    dispatcher = sub.dispatcher
    if sub.kind != "Failover" or not isinstance(dispatcher, OneOfMany):
        return None
    active, relief = dispatcher.current, dispatcher.relief
    name = active.name if active is not None else ""
    decisions = [event for event in sub.history.events if event.what in (ACTIVE, FINISHING)]
    return FailoverFacts(
        selector=dispatcher.selector,
        active=name,
        since_ms=dispatcher.since_ms if active is not None else 0,
        next=_next(dispatcher),
        until_ms=dispatcher.handover.due_ms if dispatcher.handover is not None else 0,
        unfinished=dispatcher.unfinished() if relief is not None else 0,
        topics=sub.topic.broker.balance.topics_of(dispatcher, name),
        switches=sub.history.switches,
        repeated=sub.history.repeated,
        decisions=decisions[-DECISIONS_MAX:],
    )


def _next(dispatcher: OneOfMany) -> str:
    if dispatcher.relief is not None:
        return dispatcher.relief.successor.name
    others = [consumer for consumer in dispatcher.subscription.consumers if consumer is not dispatcher.current]
    return dispatcher.pick(others, None).name if others else ""
