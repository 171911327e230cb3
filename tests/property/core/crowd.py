"""Clients that do whatever comes to their minds, on one core: right requests, at any time, about anything.

    crowd = Crowd(seed)
    crowd.play(100)     # raises when the books do not balance after a step
    crowd.settle()      # everybody takes what there is: nothing may be stuck
    crowd.leave()       # nobody is left: nothing may be left behind

Commits, log reads and metadata writes are late or fail now and then. All of it follows from the seed.
"""

from __future__ import annotations

import random

from magnetar.core.consumer import pending_count
from magnetar.core.creating import delete_topic
from magnetar.core.dispatch.pending import PendingDispatcher
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic
from magnetar.core.topic_ops import skip
from magnetar.wire.commands import pb
from tests.support.corebroker import START_MS, Client, CoreBroker, full

__all__ = ["Crowd"]

TOPICS = ("t", "u")
SUBSCRIPTIONS = ("s0", "s1", "s2", "s3")
"""Each for the type of its number."""
LEDGERS = (0, 1, 2, 3, (1 << 63) - 1, (1 << 64) - 1)
PERMITS = 1_000


class Crowd:
    """See the module's text."""

    def __init__(self, seed: int) -> None:
        self.dice = dice = random.Random(seed)
        self.broker = CoreBroker(
            tail_cache_bytes=dice.choice([0, 200, 1 << 20]),
            ledger_entries_max=dice.choice([3, 50_000]),
            ledger_min_ms=0,
            max_unacked_per_consumer=dice.choice([5, 50_000]),
            max_unacked_per_subscription=dice.choice([8, 200_000]),
            deduplication=dice.random() < 0.3,
            failover_delay_ms=dice.choice([0, 1_000]),
            key_shared_classic=dice.random() < 0.2,
            key_shared_nack_order=dice.random() < 0.3,
            message_ttl_ms=dice.choice([0, 0, 50_000]),
        )
        self.clients: list[Client] = []
        self.held: dict[int, list[tuple[int, tuple[int, int]]]] = {}
        """What each connection has received: consumer ids and places."""
        self.actions = (
            *[self.connect] * 2,
            self.cut,
            *[self.open_producer] * 4,
            *[self.subscribe] * 6,
            *[self.flow] * 6,
            *[self.publish] * 7,
            *[self.acknowledge] * 5,
            *[self.give_back] * 2,
            self.close_consumer,
            self.close_producer,
            self.unsubscribe,
            self.seek,
            self.ask_last,
            self.wait,
            self.fail_commit,
            self.delete,
            self.skip,
            self.stop_reading,
        )
        self.connect()

    def play(self, steps: int) -> None:
        """So many things happen."""
        dice, broker = self.dice, self.broker
        for _ in range(steps):
            if not self.living():
                self.connect()
            broker.auto, broker.auto_store = dice.random() < 0.6, dice.random() < 0.8
            dice.choice(self.actions)()
            self.check()

    def living(self) -> list[Client]:
        """Who is connected; what they have received is noted."""
        self.clients = [each for each in self.clients if not each.session.closed and not each.session.closing]
        for client in self.clients:
            mine = self.held.setdefault(client.session.number, [])
            mine += [(frame.message.consumer_id, frame.id) for frame in client.messages()]
        return self.clients

    def someone(self) -> Client:
        return self.dice.choice(self.living())

    def topic(self) -> Topic | None:
        return self.broker.core.topics.get(full(self.dice.choice(TOPICS)))

    # -- what may happen -------------------------------------------------------------------------------------------

    def connect(self) -> None:
        self.clients.append(self.broker.client())

    def cut(self) -> None:
        self.someone().cut()

    def open_producer(self) -> None:
        dice = self.dice
        self.someone().producer(
            dice.choice(TOPICS),
            dice.randint(1, 2),
            dice.choice(["a", "b"]),
            producer_access_mode=dice.choice([0, 0, 0, 0, 1, 2, 3]),
            epoch=dice.randint(0, 2),
            user_provided_producer_name=dice.random() < 0.7,
        )

    def subscribe(self) -> None:
        dice = self.dice
        name = dice.choice(SUBSCRIPTIONS)
        reader = dice.random() < 0.2
        self.someone().subscribe(
            dice.choice(TOPICS),
            "r" + name if reader else name,
            int(name[1]),
            dice.randint(1, 3),
            durable=not reader,
            consumer_name=dice.choice("xyz"),
            priority_level=dice.randint(0, 1),
        )

    def flow(self) -> None:
        self.someone().flow(self.dice.choice([1, 3, 10, PERMITS]), self.dice.randint(1, 3))

    def publish(self) -> None:
        dice, client = self.dice, self.someone()
        if client.session.producers:
            ident = dice.choice(sorted(client.session.producers))
            bodies = [b"x"] * dice.randint(1, 6)
            client.publish(*bodies, producer_id=ident, key=dice.choice(["k", "l", None]), batch=dice.choice([None, 3]))

    def _some_held(self, client: Client) -> tuple[int, list[tuple[int, int]]]:
        held = self.held[client.session.number] or [(1, (1, 0))]
        picked = [self.dice.choice(held) for _ in range(self.dice.randint(1, 4))]
        stranger = self.dice.random() < 0.1
        return self.dice.randint(1, 3) if stranger else picked[0][0], [place for _, place in picked]

    def acknowledge(self) -> None:
        dice, client = self.dice, self.someone()
        consumer, places = self._some_held(client)
        how = dice.random()
        if how < 0.6:
            client.ack(*places, consumer_id=consumer, receipt=dice.random() < 0.5)
        elif how < 0.8:
            client.ack(places[0], consumer_id=consumer, ack_set=[dice.choice([0, 1, 2, 6, 7, -1])])
        else:
            client.ack(places[0], consumer_id=consumer, ack_type=1, ack_set=dice.choice([[], [6]]))

    def give_back(self) -> None:
        dice, client = self.dice, self.someone()
        consumer, places = self._some_held(client)
        how = dice.random()
        if how < 0.6:
            client.nack(*places, consumer_id=consumer)
        elif how < 0.9:
            client.redeliver_all(consumer, epoch=dice.choice([None, 1]))
        else:
            client.nack((dice.randint(0, 9), dice.randint(0, 9)), consumer_id=consumer)

    def close_consumer(self) -> None:
        self.someone().close_consumer(self.dice.randint(1, 3))

    def close_producer(self) -> None:
        self.someone().close_producer(self.dice.randint(1, 2))

    def unsubscribe(self) -> None:
        self.someone().ask(pb.CommandUnsubscribe(consumer_id=self.dice.randint(1, 3), force=self.dice.random() < 0.3))

    def seek(self) -> None:
        dice, client, consumer = self.dice, self.someone(), self.dice.randint(1, 3)
        if dice.random() < 0.5:
            client.seek((dice.choice(LEDGERS), dice.randint(0, 5)), consumer)
        else:
            client.ask(pb.CommandSeek(consumer_id=consumer, message_publish_time=START_MS + dice.randint(-5, 5)))

    def ask_last(self) -> None:
        self.someone().last_id(self.dice.randint(1, 3))

    def wait(self) -> None:
        self.broker.advance(self.dice.choice([10, 1_500, 6_000]))

    def fail_commit(self) -> None:
        if self.broker.log.commits_pending:
            self.broker.fail()

    def delete(self) -> None:
        topic = self.topic()
        if topic is not None and not topic.deleted:
            delete_topic(self.broker.core, topic, _ignore)
            self.broker.turn()

    def skip(self) -> None:
        topic = self.topic()
        for sub in list(topic.subscriptions.values()) if topic is not None else []:
            if sub.durable and not sub.fenced and not sub.deleted:
                skip(sub, self.dice.choice([1, -1]), _ignore)
        self.broker.turn()

    def stop_reading(self) -> None:
        for client in self.clients:
            client.reads = self.dice.random() < 0.7

    # -- what must hold --------------------------------------------------------------------------------------------

    def check(self) -> None:
        """The books balance."""
        core = self.broker.core
        for topic in core.topics.values():
            for producer in topic.producers.values():
                assert producer.session.producers.get(producer.id) is producer
                assert producer.pending >= 0
            for sub in topic.subscriptions.values():
                self._check_subscription(topic, sub)
        for session in core.sessions.values():
            assert session.pending >= 0
            assert all(each.topic.producers.get(each.name) is each for each in session.producers.values())
            assert all(each in each.subscription.consumers for each in session.consumers.values())

    def _check_subscription(self, topic: Topic, sub: Subscription) -> None:
        assert not sub.deleted or topic.deleted
        assert sub.acks.floor <= topic.tail.end
        for consumer in sub.consumers:
            assert consumer.session.consumers.get(consumer.id) is consumer
        dispatcher = sub.dispatcher
        if isinstance(dispatcher, PendingDispatcher):
            counts = [sum(map(pending_count, consumer.pending.values())) for consumer in sub.consumers]
            assert counts == [consumer.unacked for consumer in sub.consumers]
            assert sum(counts) == dispatcher.unacked_total
            held = [offset for consumer in sub.consumers for offset in consumer.pending]
            assert len(held) == len(set(held)), "a message is at two consumers"

    def settle(self) -> None:
        """All is well again, and everybody receives and acknowledges: nobody who is there keeps a backlog."""
        broker = self.broker
        broker.auto = broker.auto_store = True
        for client in self.clients:
            client.reads = True
        broker.turn()
        if broker.writes:
            broker.store()
            broker.turn()
        broker.advance(5_000)
        for client in self.living():
            for ident in client.session.consumers:
                client.redeliver_all(ident)
        for _ in range(100):
            for client in self.living():
                for ident, consumer in list(client.session.consumers.items()):
                    client.flow(max(PERMITS - consumer.permits, 1), ident)
            for client in self.living():
                for consumer_id, place in self.held[client.session.number]:
                    client.ack(place, consumer_id=consumer_id)
                self.held[client.session.number] = []
            broker.advance(1_100)
            if not self.stuck():
                break
        assert not self.stuck()
        self.check()

    def stuck(self) -> list[tuple[str, str]]:
        """Subscriptions that could move and do not."""
        subs = [(topic, sub) for topic in self.broker.core.topics.values() for sub in topic.subscriptions.values()]
        return [
            (str(topic.name), sub.name) for topic, sub in subs if sub.fenced or (sub.consumers and sub.backlog() > 0)
        ]

    def leave(self) -> None:
        """Everybody goes, and what stays is what is durable."""
        broker = self.broker
        for client in self.living():
            client.cut()
        broker.advance(130_000)
        core = broker.core
        assert not core.sessions
        assert not core.reads
        for topic in core.topics.values():
            assert (topic.producers, topic.waiting, topic.exclusive) == ({}, [], None)
            for sub in topic.subscriptions.values():
                assert sub.durable, "a reader was left behind"
                assert sub.dispatcher is None or sub.dispatcher.unacked() == 0
        before = self.cursors()
        broker.restart()
        assert self.cursors() == before

    def cursors(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Where every subscription stands."""
        return {
            (name, sub.name): (sub.acks.floor, sub.acks.above, topic.tail.end)
            for name, topic in self.broker.core.topics.items()
            for sub in topic.subscriptions.values()
        }


def _ignore(error: Exception | None) -> None:
    """How it ended does not matter here."""
