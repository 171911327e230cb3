"""A connection that follows no rules, on a broker that others use at the same time.

``Arena`` holds a core with a bystander, who has a topic of its own, and any number of hostile connections. Bytes reach
these as a socket would bring them: in pieces that end anywhere. Afterwards ``check`` says whether the promise held: a
connection that was closed was told why, nothing came out of ``receive`` but bytes taken, and the bystander, a
checkpoint and the next start never noticed.

It is used by the property tests and by the fuzzer (``tests/fuzz``), which is why it knows neither of them.
"""

from __future__ import annotations

from collections.abc import Iterable

from magnetar.wire.commands import encode, pb
from tests.support.corebroker import EXCLUSIVE, Client, CoreBroker

__all__ = ["Arena", "Hostile"]

SILENCE = (
    "no handshake within a keep-alive interval",
    "no sign of life for two keep-alive intervals",
    "it did not answer a liveness probe",
)
OWN = "bystander"
"""The bystander's topic; hostile frames are made without this name."""


class Hostile:
    """One hostile connection, with the part of a frame that has not been taken yet."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.rest = b""

    def feed(self, data: bytes) -> None:
        """A piece of the stream arrives."""
        session = self.client.session
        if session.closed or session.closing:
            return
        data = self.rest + data
        used = session.receive(data)
        assert 0 <= used <= len(data)
        self.rest = data[used:]
        assert len(self.rest) <= self.client.broker.options.max_message_bytes + (64 << 10), "it collects without limit"
        self.client.broker.turn()

    def feed_in_pieces(self, stream: bytes, cuts: Iterable[int]) -> None:
        """The stream arrives in pieces of the given sizes, then its rest."""
        at = 0
        for size in cuts:
            self.feed(stream[at : at + size])
            at += size
        self.feed(stream[at:])

    def check(self) -> None:
        """If the broker hung up on what was said, it gave its reason; to one who is silent there is nothing to say."""
        session = self.client.session
        if session.closing and session.closing not in SILENCE:
            reasons = [frame.message.message for frame in self.client.inbox if frame.name == "ERROR"]
            assert session.closing in reasons, "it was closed without a word"


class Arena:
    """See the module's text. ``options`` are the core's."""

    def __init__(self, **options: object) -> None:
        self.broker = CoreBroker(**options)
        self.bystander = self.broker.client()
        self.bystander.producer(OWN)
        self.bystander.consumer(OWN, kind=EXCLUSIVE, permits=1_000_000)
        self.hostile: list[Hostile] = []
        self.published = 0

    def connect(self, handshake: bool = True) -> Hostile:
        """Another hostile connection."""
        found = Hostile(self.broker.client(connect=handshake))
        self.hostile.append(found)
        return found

    def use(self) -> None:
        """The bystander publishes, receives and acknowledges, as if nothing were."""
        client = self.bystander
        body = b"%d" % self.published
        self.published += 1
        client.publish(body)
        (message,) = client.messages()
        assert message.body == body
        assert len(client.receipts()) == 1
        answer = client.ack(message.id, receipt=True)
        assert answer is not None
        assert answer.name == "ACK_RESPONSE"
        assert client.names() == [], "the bystander hears of what others do"

    def check(self, later_ms: int = 130_000) -> None:
        """Everybody else is well, and so is what has been stored; upkeep runs for ``later_ms``."""
        for hostile in self.hostile:
            hostile.check()
        self.use()
        core = self.broker.core
        token = self.broker.log.begin_checkpoint()
        state = list(core.states())
        for topic in core.topics.values():
            state += topic.states()
        self.broker.log.finish_checkpoint(token, state)
        for hostile in self.hostile:
            hostile.client.cut()
        assert list(core.sessions.values()) == [self.bystander.session]
        self.broker.advance(later_ms)
        self.use_after_restart()

    def use_after_restart(self) -> None:
        """What was stored can be read by the next broker, and the bystander's messages are among it."""
        self.broker.restart()
        reader = self.broker.client()
        reader.say(
            pb.CommandSubscribe(
                topic=f"persistent://public/default/{OWN}",
                subscription="all",
                subType=EXCLUSIVE,
                consumer_id=9,
                request_id=1,
                durable=False,
                initialPosition=1,
            )
        )
        reader.feed(encode(pb.CommandFlow(consumer_id=9, messagePermits=1_000_000)))
        assert reader.bodies() == [b"%d" % k for k in range(self.published)]
