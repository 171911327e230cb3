"""Failover subscriptions that share their topics out evenly: the selector ``balanced``.

What one topic's consumers are among themselves says nothing about the others, so there is a book here: for every
subscription name of a tenant, which consumer name is (or is to be) active on which topic. Names, because an application
subscribes to each topic with another consumer of the same name.

Who is active stays so, as long as nobody has two topics less. When the active one goes, the topic's candidate with the
fewest topics follows, so that what a consumer leaves is spread and nothing else moves. A consumer that comes does so
topic by topic; what it is to take over is decided when nobody has come or gone for SETTLE_MS, and after SETTLE_MOST_MS
at the latest, over all topics together and with at most one switch for each. Deciding at every single step would move
topics to and fro that the next step moves again, and switch a hundred times while a fleet starts.

``even_out`` is the decision. Consumers are nodes; whoever has a topic could give it to that topic's other candidates.
The shortest way from one of the most loaded to somebody with two less is walked, one topic a step, until there is none:
then no other assignment has a lower maximum or a higher minimum. Topics with the same candidates and the same holder
are alike, so it looks at kinds of topics and not at each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.core.failover import candidates_of
from magnetar.core.history import BALANCE
from magnetar.core.timers import Timer

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.consumer import Consumer
    from magnetar.core.dispatch.oneofmany import OneOfMany

__all__ = ["SETTLE_MOST_MS", "SETTLE_MS", "Balance", "Topics", "even_out"]

SETTLE_MS = 100
SETTLE_MOST_MS = 1_000

Topics = dict[tuple[str, ...], dict[str, list[int]]]
"""Topics by their candidates, and then by who has them."""


def even_out(topics: Topics, load: dict[str, int]) -> list[tuple[int, str]]:
    """Moves that leave nobody with two topics more than somebody who could have one of them, directly or by way of
    others: topics and who gets them, each topic once. ``topics`` and ``load`` are changed."""
    moved: dict[int, str] = {}
    while True:
        way = _way(topics, load)
        if not way:
            return list(moved.items())
        for giver, candidates, taker in way:
            of = topics[candidates]
            # A topic that has moved already is moved on first: that is one switch, and not two.
            topic = next((topic for topic in of[giver] if topic in moved), of[giver][-1])
            of[giver].remove(topic)
            of.setdefault(taker, []).append(topic)
            moved[topic] = taker
        load[way[0][0]] -= 1
        load[way[-1][2]] += 1


def _way(topics: Topics, load: dict[str, int]) -> list[tuple[str, tuple[str, ...], str]]:
    """The shortest way from a heavy one to one with two less: who gives to whom, and from which topics."""
    gives: dict[str, list[tuple[str, ...]]] = {}
    for candidates, of in topics.items():
        for holder, those in of.items():
            if those:
                gives.setdefault(holder, []).append(candidates)
    seen_by_heavier: dict[str, bool] = {}
    for heavy in sorted(gives, key=lambda name: (-load[name], name)):
        if heavy in seen_by_heavier:
            continue
        found = _way_from(heavy, gives, load, seen_by_heavier)
        if found:
            return found
    return []


def _way_from(
    heavy: str, gives: dict[str, list[tuple[str, ...]]], load: dict[str, int], seen: dict[str, bool]
) -> list[tuple[str, tuple[str, ...], str]]:
    """Breadth first; of those that are equally near, the lightest. Whoever a heavier one has reached without finding
    anybody leads nowhere for a lighter one either."""
    came: dict[str, tuple[str, tuple[str, ...]]] = {}
    seen[heavy] = True
    ring = [heavy]
    while ring:
        reached: list[str] = []
        for holder in ring:
            for candidates in gives.get(holder, ()):
                for name in candidates:
                    if name not in seen:
                        seen[name] = True
                        came[name] = (holder, candidates)
                        reached.append(name)
        light = min(reached, key=lambda name: (load[name], name), default=heavy)
        if load[light] + 2 <= load[heavy]:
            way: list[tuple[str, tuple[str, ...], str]] = []
            while light != heavy:
                holder, candidates = came[light]
                way.append((holder, candidates, light))
                light = holder
            return way[::-1]
        ring = reached
    return []


class _Group:
    """The topics of one subscription name, in the order in which they came, and who has how many."""

    def __init__(self) -> None:
        self.places: dict[OneOfMany, str] = {}
        self.load: dict[str, int] = {}
        self.timer: Timer | None = None
        self.until_ms: int = 0

    def put(self, dispatcher: OneOfMany, name: str) -> None:
        self.take(dispatcher)
        self.places[dispatcher] = name
        self.load[name] = self.load.get(name, 0) + 1

    def take(self, dispatcher: OneOfMany) -> None:
        name = self.places.pop(dispatcher, None)
        if name is not None:
            self.load[name] -= 1
            if not self.load[name]:
                del self.load[name]


class Balance:
    """See the module's text."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker
        self.groups: dict[tuple[str, str], _Group] = {}

    def topics_of(self, dispatcher: OneOfMany, name: str) -> int:
        """On how many topics of the subscription's name a consumer of that name is active."""
        group = self.groups.get(_key(dispatcher))
        return group.load.get(name, 0) if group is not None else 0

    def pick(self, dispatcher: OneOfMany, consumers: list[Consumer], heir: Consumer | None) -> Consumer:
        """Whoever is active stays, else the candidate with the fewest topics."""
        candidates = candidates_of(consumers)
        if heir is not None and heir in candidates:
            return heir
        return min(candidates, key=lambda consumer: self.topics_of(dispatcher, consumer.name))

    def chose(self, dispatcher: OneOfMany, chosen: Consumer, at_once: bool) -> None:
        """Who is active on the topic is decided; whether that is even is looked at later."""
        group = self.groups.setdefault(_key(dispatcher), _Group())
        group.put(dispatcher, chosen.name)
        now_ms = self.broker.now_ms
        if group.timer is None:
            group.until_ms = now_ms + SETTLE_MOST_MS
        else:
            group.timer.cancel()
        if at_once:
            group.until_ms = now_ms
        due_ms = min(now_ms + SETTLE_MS, group.until_ms)
        group.timer = self.broker.timers.at(due_ms, lambda: self._settle(group))

    def drop(self, dispatcher: OneOfMany) -> None:
        """Nobody is connected to the topic any more, or its selector is another."""
        key = _key(dispatcher)
        group = self.groups.get(key)
        if group is None:
            return
        group.take(dispatcher)
        if not group.places:
            if group.timer is not None:
                group.timer.cancel()
            del self.groups[key]

    def _settle(self, group: _Group) -> None:
        group.timer = None
        members = list(group.places)
        topics: Topics = {}
        load: dict[str, int] = {}
        for index, dispatcher in enumerate(members):
            candidates = tuple(dict.fromkeys(one.name for one in candidates_of(dispatcher.subscription.consumers)))
            for name in candidates:
                load.setdefault(name, group.load.get(name, 0))
            topics.setdefault(candidates, {}).setdefault(group.places[dispatcher], []).append(index)
        for index, name in even_out(topics, load):
            dispatcher = members[index]
            if group.places[dispatcher] != name:
                consumers = candidates_of(dispatcher.subscription.consumers)
                group.put(dispatcher, name)
                dispatcher.take(next(one for one in consumers if one.name == name), BALANCE)


def _key(dispatcher: OneOfMany) -> tuple[str, str]:
    sub = dispatcher.subscription
    return sub.topic.name.tenant, sub.name
