"""Pages of what is pending, and the entries they need, from memory and from the log."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from magnetar.core.explain.entries import describe, load_entries
from magnetar.core.explain.pending import LOOKED_AT_MAX, Wanted, pending_page
from tests.support.corebroker import EXCLUSIVE, SHARED, START_MS, CoreBroker, entry_of
from tests.unit.core.keyshared.scene import Scene


def entries(broker: CoreBroker, *offsets: int) -> dict[int, bytes]:
    found: list[dict[int, bytes]] = []
    load_entries(broker.topic(), list(offsets), found.append)
    broker.turn()
    return found[0]


def test_entries_come_from_the_log_where_memory_has_them_no_more() -> None:
    broker = CoreBroker(tail_cache_bytes=400, read_batch_bytes=1)
    client = broker.client()
    client.producer("t")
    client.consumer("t")
    client.publish(*[b"%d" % n for n in range(10)], key="k")
    broker.log.damage(broker.topic().stream, 3)
    assert broker.topic().tail.base > 0
    got = entries(broker, 8, 0, 1, 2, 3, 4, 9, 99)
    assert sorted(got) == [0, 1, 2, 4, 8, 9]
    assert got[4].endswith(b"4")


def test_entries_that_retention_has_taken_are_left_out() -> None:
    broker = CoreBroker(tail_cache_bytes=1, ledger_entries_max=2, ledger_min_ms=0)
    client = broker.client()
    client.producer("t")
    client.consumer("t")
    for n in range(6):
        client.publish(b"%d" % n)
        broker.advance(1)
    broker.sub().move_floor(4)
    broker.turn()
    broker.advance(broker.options.retention_check_ms)
    assert broker.topic().first_offset == 4
    assert sorted(entries(broker, 0, 1, 2, 3, 4, 5)) == [4, 5]


def test_what_an_entry_says_of_itself() -> None:
    assert describe(entry_of(key="k", batch=3)) == (b"k", 3)
    assert describe(entry_of(key="k", ordering_key=b"\xff")) == (b"\xff", 1)
    assert describe(entry_of()) == (None, 1)
    assert describe(b"garbage") == (None, 1)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=40),
    st.integers(1, 9),
    st.sampled_from([None, "first", "second"]),
)
def test_pages_together_are_everything_that_is_pending(
    published: list[tuple[int, bool]], limit: int, consumer: str | None
) -> None:
    scene = Scene()
    first = scene.join("first")
    second = scene.join("second")
    for number, (key, acked) in enumerate(published):
        scene.publish(f"k{key}")
        for joined in (first, second):
            for what in joined.new():
                if acked:
                    joined.ack(what)
                elif number % 5 == 0:
                    joined.nack(what)
    held = sorted((o, c.name) for c in scene.sub.consumers for o in c.pending if consumer in (None, c.name))
    rows, after = [], -1
    while True:
        page, after = pending_page(scene.sub, Wanted(after, limit, consumer))
        assert len(page) <= limit
        rows += [(row.offset, row.consumer.name) for row in page]
        if after < 0:
            break
        assert after == rows[-1][0]
    assert rows == held


def test_facts_of_a_row() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=SHARED, permits=10)
    client.publish(b"abc", batch=3)
    client.nack(client.messages()[0].id)
    broker.advance(1_000)
    client.ack(client.messages()[0].id, ack_set=[0b100])
    ((row,), _) = pending_page(broker.sub(), Wanted())
    assert (row.offset, row.slot, row.draining, row.sent_ms, row.deliveries, row.open) == (0, -1, False, START_MS, 2, 1)
    assert pending_page(broker.sub(), Wanted(slot=3)) == ([], -1)


def test_an_exclusive_page_looks_at_so_many_offsets_only() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.consumer("t", kind=EXCLUSIVE)
    sub = broker.sub()
    assert sub.dispatcher is not None
    for offset in range(1, LOOKED_AT_MAX + 5):
        sub.acks.add(offset)
    sub.dispatcher.read_next = LOOKED_AT_MAX + 10
    rows, after = pending_page(sub, Wanted())
    assert ([row.offset for row in rows], after) == ([0], LOOKED_AT_MAX - 1)
    rows, after = pending_page(sub, Wanted(after))
    assert ([row.offset for row in rows], after) == ([LOOKED_AT_MAX + k for k in range(5, 10)], -1)
