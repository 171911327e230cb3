"""Sessions under frames that no client would send: garbage, cut, oversized, out of order, with ids of nobody.

Whatever arrives, ``receive`` takes it without an exception, a connection that is closed is told why, and nobody else
notices; see ``tests/support/hostile.py`` for what is checked.
"""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

from magnetar.wire.commands import NAMES, encode, pb
from magnetar.wire.frames import payload_frame
from tests.property.wire.wire_strategies import messages
from tests.support.corebroker import entry_of
from tests.support.hostile import Arena, Hostile

TOPICS = (
    "a",
    "persistent://public/default/a",
    "b-partition-0",
    "persistent://public/default/b",
    "non-persistent://public/default/a",
    "no/where/c",
    "",
    "\x00",
)
_FIELDS = pb.BaseCommand.DESCRIPTOR.fields_by_number
_KINDS = {number: type(getattr(pb.BaseCommand(), _FIELDS[number].name)) for number in NAMES}
# The commands that reach furthest, drawn as often as all others together.
_DEEP = (4, 5, 10, 11, 12, 15, 16, 20, 28, 29)


def _is_text(field: FieldDescriptor | None) -> bool:
    return field is not None and field.type == FieldDescriptor.TYPE_STRING and not field.is_repeated


small_ids = st.integers(0, 2)
edges = st.sampled_from([(1 << 31) - 1, (1 << 32) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])


@st.composite
def commands(draw: st.DrawFn) -> bytes:
    """Any command with any fields, most often about the few ids and topics that others in the stream are about."""
    kind = draw(st.one_of(st.sampled_from(_DEEP), st.sampled_from(sorted(NAMES))))
    message = draw(messages(_KINDS[kind], 2))
    names = message.DESCRIPTOR.fields_by_name
    for name in ("producer_id", "consumer_id"):
        if name in names and draw(st.integers(0, 9)):
            setattr(message, name, draw(small_ids))
    if _is_text(names.get("topic")) and draw(st.integers(0, 9)):
        message.topic = draw(st.sampled_from(TOPICS))
    if _is_text(names.get("subscription")) and draw(st.integers(0, 9)):
        message.subscription = draw(st.sampled_from(("s", "t")))
    for name in ("message_id", "message_ids", "start_message_id"):
        field = names.get(name)
        if field is not None and draw(st.booleans()):
            place = getattr(message, name).add() if field.is_repeated else getattr(message, name)
            place.ledgerId = draw(st.one_of(st.integers(0, 4), edges))
            place.entryId = draw(st.one_of(st.integers(0, 4), edges))
            place.ack_set.extend(draw(st.lists(st.one_of(st.integers(0, 7), st.just(-1)), max_size=2)))
    return encode(message)


@st.composite
def sends(draw: st.DrawFn) -> bytes:
    """SENDs whose command and entry need not agree with each other or with anything."""
    sequence = draw(st.one_of(st.integers(0, 5), edges))
    command = pb.CommandSend(
        producer_id=draw(small_ids),
        sequence_id=sequence,
        num_messages=draw(st.one_of(st.integers(0, 5), st.sampled_from([-1, -(1 << 31), (1 << 31) - 1]))),
    )
    if draw(st.booleans()):
        command.highest_sequence_id = draw(st.one_of(st.integers(0, 9), edges))
    command.is_chunk = draw(st.booleans())
    entry = draw(
        st.one_of(
            st.binary(max_size=30),
            st.builds(
                entry_of,
                st.binary(max_size=5),
                sequence=st.integers(0, 5),
                key=st.one_of(st.none(), st.sampled_from(["k", "l", ""])),
                batch=st.one_of(st.none(), st.integers(-1, 5)),
                uuid=st.sampled_from(["u", ""]),
                num_chunks_from_msg=st.integers(-1, 3),
                chunk_id=st.integers(-1, 3),
                publish_time=st.one_of(st.integers(0, 9), edges),
            ),
        )
    )
    base = pb.BaseCommand(type=pb.BaseCommand.Type.SEND, send=command)
    return payload_frame(base.SerializeToString(), entry)


OPEN = st.builds(
    lambda ident, topic, mode: encode(
        pb.CommandProducer(
            topic=topic, producer_id=ident, request_id=ident, producer_name="p", producer_access_mode=mode
        )
    ),
    small_ids,
    st.sampled_from(TOPICS[:5]),
    st.integers(0, 3),
)
SUBSCRIBE = st.builds(
    lambda ident, topic, kind: (
        encode(pb.CommandSubscribe(topic=topic, subscription="s", subType=kind, consumer_id=ident, request_id=ident))
        + encode(pb.CommandFlow(consumer_id=ident, messagePermits=10))
    ),
    small_ids,
    st.sampled_from(TOPICS[:5]),
    st.integers(0, 3),
)
WATCH = st.builds(
    lambda ident, pattern, closes: encode(
        pb.CommandWatchTopicListClose(watcher_id=ident, request_id=ident)
        if closes
        else pb.CommandWatchTopicList(
            watcher_id=ident, request_id=ident, namespace="public/default", topics_pattern=pattern
        )
    ),
    small_ids,
    st.sampled_from(("public/default/.*", "persistent://public/default/a", "(a+)+", "[")),
    st.booleans(),
)
well_formed = st.one_of(OPEN, SUBSCRIBE, WATCH, sends(), commands())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A frame with a few bytes changed, cut out or put in."""
    frame = bytearray(draw(well_formed))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(frame)))
        what = draw(st.integers(0, 2))
        if what == 0 and at < len(frame):
            frame[at] = draw(st.integers(0, 255))
        elif what == 1:
            frame[at:at] = draw(st.binary(max_size=4))
        else:
            del frame[at : at + draw(st.integers(1, 4))]
    return bytes(frame)


streams = st.lists(
    st.one_of(well_formed, well_formed, well_formed, damaged(), st.binary(max_size=40)), min_size=1, max_size=25
)
cuts = st.lists(st.integers(1, 60), max_size=30)


def play(arena: Arena, hostile: Hostile, frames: list[bytes], pieces: list[int]) -> None:
    hostile.feed_in_pieces(b"".join(frames), pieces)
    arena.use()


@given(st.booleans(), streams, cuts)
def test_any_stream_costs_its_own_connection_at_most(handshake: bool, frames: list[bytes], pieces: list[int]) -> None:
    arena = Arena()
    play(arena, arena.connect(handshake), frames, pieces)
    arena.check()


@given(st.lists(well_formed, min_size=1, max_size=40), cuts)
def test_well_formed_frames_in_any_order(frames: list[bytes], pieces: list[int]) -> None:
    arena = Arena(deduplication=True, ledger_entries_max=3, ledger_min_ms=0, message_ttl_ms=1)
    play(arena, arena.connect(), frames, pieces)
    arena.check()


@given(st.lists(st.tuples(st.integers(0, 2), well_formed), min_size=1, max_size=40), st.integers(0, 40))
def test_several_connections_that_want_the_same(frames: list[tuple[int, bytes]], lost_after: int) -> None:
    arena = Arena(max_unacked_per_consumer=2, key_shared_nack_order=True)
    peers = [arena.connect() for _ in range(3)]
    for number, (who, frame) in enumerate(frames):
        if number == lost_after:
            peers[0].client.cut()
        peers[who].feed(frame)
    arena.use()
    arena.check()


@given(st.lists(well_formed, min_size=1, max_size=20), st.lists(st.sampled_from("csfrt"), max_size=20))
def test_commits_reads_and_stores_that_fail_meanwhile(frames: list[bytes], events: list[str]) -> None:
    """The same, while the log and the metadata store answer late or not well."""
    arena = Arena(tail_cache_bytes=0)
    hostile = arena.connect()
    broker = arena.broker
    broker.auto = broker.auto_store = False
    for number, frame in enumerate(frames):
        hostile.feed(frame)
        event = events[number] if number < len(events) else ""
        if event == "c" and broker.log.commits_pending:
            broker.commit()
        elif event == "f" and broker.log.commits_pending:
            broker.fail()
        elif event == "s":
            broker.store("the store is out of order" if number % 3 == 0 else "")
        elif event == "r" and broker.log.reads_pending:
            broker.read()
        elif event == "t":
            broker.advance(2_000)
    broker.auto = broker.auto_store = True
    broker.advance(5_000)
    arena.bystander.inbox.clear()
    arena.check()
