"""Fuzzes sessions with atheris: ``python -m tests.fuzz.sessions CORPUS -runs=10000`` (options are libFuzzer's).

An input is a list of steps for two hostile connections on one broker; see ``steps`` for its form. Frames get their
sizes here, most of the time, so that what is mutated is the commands and not only the sizes around them. What has to
hold is checked by ``tests/support/hostile.py``. An input that fails is written to a file, and is run again by naming
that file instead of the corpus.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import FileFinder, SourceFileLoader
from pathlib import Path

import atheris

SOURCE = str(Path(__file__).parents[2] / "src" / "magnetar")
RAW, PAYLOAD, TIME, SECOND = 1, 2, 4, 8


def _uncompiled(path: str) -> FileFinder:
    """The coverage of compiled modules cannot be seen, so their sources are imported."""
    if not path.startswith(SOURCE):
        raise ImportError
    return FileFinder(path, (SourceFileLoader, [".py"]))


sys.path_hooks.insert(0, _uncompiled)
sys.path_importer_cache.clear()
with atheris.instrument_imports(include=["magnetar.core", "magnetar.wire"]):
    from magnetar.wire.commands import encode, pb
    from magnetar.wire.frames import frame, payload_frame
    from tests.support.corebroker import entry_of
    from tests.support.hostile import Arena


def steps(data: bytes) -> Iterator[tuple[int, bytes]]:
    """An input taken apart: a byte of flags, two bytes of size, so many bytes; and again."""
    at = 0
    while at + 3 <= len(data):
        size = int.from_bytes(data[at + 1 : at + 3], "big")
        yield data[at], data[at + 3 : at + 3 + size]
        at += 3 + size


def step(flags: int, data: bytes) -> bytes:
    return bytes((flags,)) + len(data).to_bytes(2, "big") + data


def play(data: bytes) -> None:
    """Run one input."""
    arena = Arena(deduplication=bool(data[:1] and data[0] & 128), ledger_entries_max=3, ledger_min_ms=0)
    peers = [arena.connect(), arena.connect(handshake=False)]
    for flags, chunk in steps(data):
        peer = peers[1 if flags & SECOND else 0]
        if flags & TIME:
            arena.broker.advance(int.from_bytes(chunk[:2], "big"))
        elif flags & RAW:
            peer.feed(chunk)
        elif flags & PAYLOAD:
            size = chunk[0] if chunk else 0
            peer.feed(payload_frame(chunk[1 : 1 + size], chunk[1 + size :]))
        else:
            peer.feed(frame(chunk))
    if arena.bystander.session.closed:
        return  # time went by until the bystander, who answers no PING here, was let go
    arena.bystander.take("PING")
    arena.check(later_ms=0)


def opening(topic: str) -> bytes:
    """A producer, a consumer of every type with permits, and three messages."""
    opened = [
        pb.CommandProducer(topic=topic, producer_id=1, request_id=1, producer_name="p"),
        *(
            pb.CommandSubscribe(topic=topic, subscription=f"s{kind}", subType=kind, consumer_id=kind, request_id=2)
            for kind in range(4)
        ),
        *(pb.CommandFlow(consumer_id=kind, messagePermits=5) for kind in range(4)),
    ]
    send = pb.BaseCommand(
        type=pb.BaseCommand.Type.SEND, send=pb.CommandSend(producer_id=1, sequence_id=1, num_messages=1)
    ).SerializeToString()
    start = b"".join(step(0, encode(message)[8:]) for message in opened)
    return start + step(PAYLOAD, bytes((len(send),)) + send + entry_of(b"body", key="k")) * 3


def seeds() -> Iterator[bytes]:
    """Conversations that make sense, to begin from."""
    topic = "persistent://public/default/a"
    start = opening(topic)
    ack = pb.CommandAck(consumer_id=1, ack_type=0, request_id=9)
    ack.message_id.add(ledgerId=2, entryId=0, ack_set=[1])
    seek = pb.CommandSeek(consumer_id=1, request_id=3)
    seek.message_id.ledgerId = seek.message_id.entryId = 0
    later = [
        ack,
        seek,
        pb.CommandRedeliverUnacknowledgedMessages(consumer_id=3),
        pb.CommandGetLastMessageId(consumer_id=1, request_id=4),
        pb.CommandConsumerStats(consumer_id=1, request_id=5),
        pb.CommandUnsubscribe(consumer_id=2, request_id=6),
        pb.CommandCloseProducer(producer_id=1, request_id=7),
        pb.CommandGetTopicsOfNamespace(namespace="public/default", request_id=8, topics_pattern="public/default/a.*"),
        pb.CommandLookupTopic(topic=topic, request_id=8),
        pb.CommandPartitionedTopicMetadata(topic="b", request_id=8),
        pb.CommandWatchTopicList(watcher_id=1, request_id=8, namespace="public/default", topics_pattern=".*"),
    ]
    watched = step(0, encode(later[-1])[8:]) + step(0, encode(later[-2])[8:])
    yield watched + step(0, encode(pb.CommandWatchTopicListClose(watcher_id=1, request_id=9))[8:])
    yield opening(f"non-{topic}")
    for message in later:
        yield start + step(0, encode(message)[8:]) + step(TIME, b"\x10\x00")
    yield step(SECOND, encode(pb.CommandConnect(client_version="x"))[8:]) + start
    yield step(SECOND | RAW, b"GET / HTTP/1.1\r\n\r\n")


def main() -> None:
    corpus = Path(sys.argv[1])
    if corpus.is_dir():
        for number, seed in enumerate(seeds()):
            (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup(sys.argv, play)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
