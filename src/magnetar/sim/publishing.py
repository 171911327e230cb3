"""Producers of simulated clients: what was not answered is sent again, by whoever carries the author's name next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magnetar.sim.book import Author, Sent, Violation
from magnetar.sim.rules import judge_receipt
from magnetar.wire.commands import pb
from magnetar.wire.entry import seal
from magnetar.wire.frames import payload_frame

if TYPE_CHECKING:
    from magnetar.sim.peer import Peer

__all__ = [
    "TERMINATED",
    "close_producer",
    "make_entry",
    "open_producer",
    "producer_closed",
    "publish",
    "receipt_came",
    "send_refused",
]

TERMINATED = 15
"""The error of whoever publishes to a topic that was terminated."""


def open_producer(peer: Peer, author: Author) -> None:
    """Open a producer under the author's name; when it is open, what was not answered is sent again."""
    peer.ids += 1
    ident = peer.ids
    peer.producing[author.name] = ident

    def opened(message: Any) -> None:
        if isinstance(message, pb.CommandProducerSuccess):
            if peer.producing.get(author.name) == ident:
                peer.producers[ident] = author
                _send(peer, ident, list(author.unanswered))
        elif peer.producing.get(author.name) == ident:
            del peer.producing[author.name]
            if message.error == TERMINATED:
                author.unanswered.clear()
                author.given_up = author.sequence

    topic = f"persistent://public/default/{author.topic}"
    peer.ask(pb.CommandProducer(topic=topic, producer_id=ident, producer_name=author.name), opened)


def publish(peer: Peer, author: Author, fresh: list[Sent]) -> None:
    """Send new entries of an author whose producer is open here."""
    author.unanswered.extend(fresh)
    _send(peer, peer.producing[author.name], fresh)


def _send(peer: Peer, ident: int, entries: list[Sent]) -> None:
    if entries:
        peer.say(b"".join(_send_frame(ident, sent) for sent in entries))


def close_producer(peer: Peer, author: Author) -> None:
    """Close the author's producer, which is open here."""
    ident = peer.producing.pop(author.name)
    peer.producers.pop(ident, None)
    peer.ask(pb.CommandCloseProducer(producer_id=ident), lambda reply: None)


def producer_closed(peer: Peer, ident: int) -> None:
    """The broker has closed a producer."""
    author = peer.producers.pop(ident, None)
    if author is not None:
        del peer.producing[author.name]


def receipt_came(peer: Peer, message: Any) -> None:
    """A SEND is answered: in the order of the SENDs, and truly."""
    author = peer.producers.get(message.producer_id)
    if author is None or peer.broken:
        return
    if not author.unanswered or author.unanswered[0].sequence != message.sequence_id:
        raise Violation("receipts", f"{author.name} got a receipt for {message.sequence_id} out of turn")
    sent = author.unanswered.popleft()
    place = (message.message_id.ledgerId, message.message_id.entryId)
    name = f"persistent://public/default/{author.topic}"
    core_topic = peer.world.core.topics[name]
    topic = peer.world.topic_of(core_topic.stream)
    offset = core_topic.ledgers.offset(*place) if place[0] < 1 << 63 else -1
    judge_receipt(topic, author, sent, place, offset, peer.world.options.deduplication)


def send_refused(peer: Peer, message: Any) -> None:
    """A SEND is refused, because the topic was terminated: in the order of the SENDs."""
    author = peer.producers.get(message.producer_id)
    if author is None or peer.broken:
        return
    if not author.unanswered or author.unanswered[0].sequence + author.unanswered[0].count - 1 != message.sequence_id:
        raise Violation("receipts", f"{author.name} was refused {message.sequence_id} out of turn")
    refused = author.unanswered.popleft()
    author.given_up = refused.sequence + refused.count


def _send_frame(ident: int, sent: Sent) -> bytes:
    command = pb.CommandSend(producer_id=ident, sequence_id=sent.sequence, num_messages=sent.count)
    if sent.count > 1:
        command.highest_sequence_id = sent.sequence + sent.count - 1
    base = pb.BaseCommand(type=pb.BaseCommand.Type.SEND, send=command)
    return payload_frame(base.SerializeToString(), sent.entry)


def make_entry(sent: Sent) -> bytes:
    """The bytes of an entry, which no other entry has."""
    metadata = pb.MessageMetadata(
        producer_name=sent.author.name, sequence_id=sent.sequence, publish_time=sent.published_ms
    )
    metadata.partition_key = sent.key
    if sent.count > 1:
        metadata.num_messages_in_batch = sent.count
    return seal(metadata.SerializeToString(), b"%d" % sent.number)
