"""A partitioned topic that is deleted, and a crash after each of the rows that are written for it."""

from __future__ import annotations

import pytest

from magnetar.core.catalog import DELETING, PARTITIONED, TOPICS
from magnetar.core.creating import create_partitioned, delete_partitioned
from magnetar.core.names import TopicName
from tests.support.corebroker import CoreBroker, full

PARTITIONS = 3
NAME = TopicName(full("t"))
ROWS = 1 + 1 + PARTITIONS + 1
"""The note, the topic, its partitions, and the note again."""


def ignored(error: Exception | None) -> None:
    assert error is None, error


def made() -> CoreBroker:
    """A topic with a subscription on every partition, and another topic that only looks like a partition of it."""
    broker = CoreBroker()
    create_partitioned(broker.core, NAME, PARTITIONS, True, ignored)
    broker.turn()
    client = broker.client()
    for index in range(PARTITIONS):
        client.consumer(f"t-partition-{index}", consumer_id=index + 1)
    client.consumer("t-partitions", consumer_id=9)
    client.cut()
    return broker


def store_one(broker: CoreBroker) -> bool:
    """The oldest metadata write completes; whether there was one."""
    broker.turn()
    later = broker.writes[1:]
    del broker.writes[1:]
    found = bool(broker.writes)
    broker.store()
    broker.writes = later + broker.writes
    broker.turn()
    return found


@pytest.mark.parametrize("rows", range(ROWS + 1))
def test_it_is_deleted_whole_or_not_at_all(rows: int) -> None:
    broker = made()
    broker.auto_store = False
    answers: list[Exception | None] = []
    delete_partitioned(broker.core, NAME, answers.append)
    for _ in range(rows):
        assert store_one(broker)
    assert bool(answers) is (rows == ROWS)
    broker.auto_store = True
    broker.restart()
    left = sorted(path for path in broker.rows if path.startswith((TOPICS, PARTITIONED, DELETING)))
    other = TOPICS + TopicName(full("t-partitions")).path
    if rows < 2:
        partitions = [TOPICS + NAME.with_partition(index).path for index in range(PARTITIONS)]
        assert left == sorted([PARTITIONED + NAME.path, other, *partitions])
        for index in range(PARTITIONS):
            assert broker.sub(f"t-partition-{index}").backlog() == 0
    else:
        assert left == [other]
        assert list(broker.core.topics) == [full("t-partitions")]
        assert len(broker.log.recover().streams) <= 2


def test_a_topic_made_anew_is_not_what_the_note_is_about() -> None:
    broker = made()
    broker.auto_store = False
    delete_partitioned(broker.core, NAME, ignored)
    for _ in range(ROWS - 1):
        assert store_one(broker)
    kept = broker.rows[DELETING + NAME.path]
    broker.auto_store = True
    broker.turn()
    create_partitioned(broker.core, NAME, PARTITIONS, True, ignored)
    broker.turn()
    broker.client().consumer("t-partition-1")
    broker.rows[DELETING + NAME.path] = kept
    broker.restart()
    assert broker.core.catalog.partitions(NAME) == PARTITIONS
    assert broker.sub("t-partition-1").durable
    assert DELETING + NAME.path not in broker.rows
