"""What clients leave behind or make the broker keep for them: all of it has an end."""

from __future__ import annotations

import pytest

from magnetar.core.batchmask import mask_words, open_mask
from magnetar.core.dispatch.shared import CHUNK_ID_BYTES_MAX, CHUNKED_MESSAGES_MAX, Shared
from magnetar.core.entryinfo import COUNT
from magnetar.core.retired import Retired
from tests.support.corebroker import EXCLUSIVE, SHARED, Client, CoreBroker, entry_of

ALL_OPEN = (1 << 64) - 1


def first_chunk(client: Client, uuid: str, chunk: int = 0) -> bytes:
    entry = entry_of(b"%d" % chunk, uuid=uuid, num_chunks_from_msg=2, chunk_id=chunk, total_chunk_msg_size=2)
    return client.send_frame(entry, 0, chunk=True)


def shared(broker: CoreBroker) -> Shared:
    dispatcher = broker.sub().dispatcher
    assert isinstance(dispatcher, Shared)
    return dispatcher


def test_large_messages_without_an_end_are_forgotten_beyond_a_limit() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=1 << 30)
    for start in range(0, CHUNKED_MESSAGES_MAX + 500, 500):
        client.feed(b"".join(first_chunk(client, f"u{k}") for k in range(start, start + 500)))
        client.ack(*[frame.id for frame in client.messages()])
    assert broker.sub().backlog() == 0
    assert len(shared(broker).chunks) == CHUNKED_MESSAGES_MAX
    client.feed(first_chunk(client, "u0", 1) + first_chunk(client, "u900", 1))
    assert client.bodies() == [b"1", b"1"]
    assert b"u900" not in shared(broker).chunks


def test_an_id_of_a_large_message_that_is_a_message_of_its_own_is_not_kept() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", permits=10)
    client.feed(first_chunk(client, "u" * (CHUNK_ID_BYTES_MAX + 1)))
    assert client.bodies() == [b"0"]
    assert shared(broker).chunks == {}


@pytest.mark.parametrize("kind", [EXCLUSIVE, SHARED])
def test_a_mask_is_cut_to_the_messages_of_its_batch(kind: int) -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=kind, permits=10)
    client.publish(b"abc", batch=3)
    (message,) = client.messages()
    client.ack(message.id, ack_set=[-2, *[-1] * 50_000])
    assert broker.sub().acks.parts == {0: 0b110}
    client.ack(message.id, ack_set=[1, 0, 0, 1])
    assert broker.sub().backlog() == 0


def test_a_cumulative_mask_is_cut_as_well() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.consumer("t", kind=EXCLUSIVE, permits=10)
    client.publish(b"abc", batch=3)
    (message,) = client.messages()
    client.ack(message.id, ack_type=1, ack_set=[-2, *[-1] * 50_000])
    assert broker.sub().acks.parts == {0: 0b110}


def test_a_mask_for_an_entry_that_is_not_in_memory_is_as_long_as_any_batch_can_be() -> None:
    broker = CoreBroker(tail_cache_bytes=0)
    client = broker.client()
    client.producer("t")
    client.publish(b"abc", batch=3)
    mask = open_mask(broker.topic(), 0, [ALL_OPEN] * 600_000)
    assert mask.bit_length() == COUNT


def test_a_mask_and_its_words() -> None:
    broker = CoreBroker(tail_cache_bytes=0)
    client = broker.client()
    client.producer("t")
    for words in ([5], [0, 1], [1 << 63, 7, 0, 1 << 40]):
        assert mask_words(open_mask(broker.topic(), 0, words)) == words
    assert open_mask(broker.topic(), 0, [-1]) == ALL_OPEN
    assert mask_words(0) == []


def test_closed_ids_are_remembered_for_their_time_whatever_comes_after_them() -> None:
    retired = Retired()
    for ident in range(1_000):
        retired.add(ident, ident, 100)
    assert len(retired) == 101
    assert retired.holds(999, 1_099)
    assert not retired.holds(999, 1_100)
    assert not retired.holds(5, 999)
    retired.add(950, 1_000, 100)
    retired.add(1, 1_080, 100)
    assert retired.holds(950, 1_100)
    assert len(retired) == 22


def test_a_subscribe_that_is_asked_again_is_answered_when_it_is_durable() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    broker.auto = False
    assert client.subscribe("t") is None
    assert client.subscribe("t") is None
    broker.commit()
    assert client.names() == ["SUCCESS", "SUCCESS"]


def test_a_subscribe_that_is_asked_again_fails_with_the_first() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    broker.auto = False
    assert client.subscribe("t") is None
    assert client.subscribe("t") is None
    broker.fail()
    assert [name for name in client.names() if name != "CLOSE_PRODUCER"] == ["ERROR", "ERROR"]
    assert client.session.consumers == {}


def test_an_exclusive_producer_that_asks_again_is_answered_when_its_epoch_is_durable() -> None:
    broker = CoreBroker()
    client = broker.client()
    client.producer("t")
    client.close_producer()
    broker.auto = False
    assert client.producer("t", 2, name="p", producer_access_mode=1) is None
    assert client.producer("t", 2, name="p", producer_access_mode=1) is None
    broker.commit()
    assert {frame.message.topic_epoch for frame in client.take("PRODUCER_SUCCESS")} == {0}
    assert client.inbox == []
