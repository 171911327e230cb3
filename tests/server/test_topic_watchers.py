"""Watchers of topic lists, and non-persistent topics, over real sockets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from magnetar.core.nonpersistent.topic import NonPersistentTopic
from magnetar.server.connection import WRITE_HIGH_BYTES
from magnetar.wire.hashing import topics_hash
from tests.server.test_slow_readers import BODY, COUNT, narrow, publish
from tests.support.served import Served
from tests.support.wireclient import WireClient
from tests.support.wirecodec import Command, SubType

NAMESPACE = "public/default"
PASSING = f"non-persistent://{NAMESPACE}/t"
WATCHER, PATTERN = 3, f"persistent://{NAMESPACE}/w-.*"


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as broker:
        yield broker


def watch(client: WireClient) -> list[str]:
    answer = client.request(Command.WATCH_TOPIC_LIST, {2: WATCHER, 3: NAMESPACE, 4: PATTERN}, request_id_field=1)
    assert answer.fields.text(4) == topics_hash(answer.fields.texts(3))
    return answer.fields.texts(3)


def test_a_watcher_hears_of_topics_that_others_create_and_of_nothing_after_it_is_closed(served: Served) -> None:
    with served.wire() as watcher, served.wire() as other:
        assert watch(watcher) == []
        known: set[str] = set()
        for number in range(20):
            other.producer(f"persistent://{NAMESPACE}/w-{number}", number)
        while len(known) < 20:
            fields = watcher.expect(Command.WATCH_TOPIC_UPDATE).fields
            assert (fields.num(1), fields.texts(3)) == (WATCHER, [])
            assert not known & set(fields.texts(2))
            known |= set(fields.texts(2))
            assert fields.text(4) == topics_hash(known)
        assert set(watch(other)) == known
        answer = watcher.request(Command.WATCH_TOPIC_LIST_CLOSE, {2: WATCHER}, request_id_field=1)
        assert answer.command == Command.SUCCESS
        other.producer(f"persistent://{NAMESPACE}/w-last", 99)
        other.expect(Command.WATCH_TOPIC_UPDATE)
        watcher.ping()
        assert served.call(lambda: len(served.core.topic_lists.views[NAMESPACE][PATTERN].watchers)) == 1
    served.eventually(lambda: not served.core.topic_lists.views)


@pytest.mark.parametrize("kind", [SubType.SHARED, SubType.KEY_SHARED, SubType.EXCLUSIVE, SubType.FAILOVER])
def test_what_a_consumer_does_not_read_is_dropped_and_costs_a_bounded_amount(served: Served, kind: SubType) -> None:
    with served.wire() as producer, narrow(served) as slow:
        slow.subscribe(PASSING, "slow", sub_type=kind)
        slow.flow(1, 1_000_000)
        producer.producer(PASSING)
        publish(producer, COUNT)
        connection, session = served.connection_of(slow), served.session_of(slow)
        most = WRITE_HIGH_BYTES + served.core.options.max_session_out_bytes + len(BODY) * 2
        assert served.call(lambda: connection.transport.get_write_buffer_size() + session.out_bytes) <= most
        topic = served.core.topics[PASSING]
        assert isinstance(topic, NonPersistentTopic)
        sent, dropped = served.call(lambda: (topic.subscriptions["slow"].messages_out, topic.dropped))
        assert sent + dropped == COUNT
        assert dropped > 0
        assert len(slow.messages(sent)) == sent
        producer.publish(b"again", COUNT)
        assert slow.message().body == b"again"
