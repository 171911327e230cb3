"""Watchers of topic lists: the answer, updates in order, the hash behind each, connections that are not read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magnetar.core.catalog import NAMESPACES, encode_row
from magnetar.core.creating import create_partitioned, create_topic, delete_partitioned, delete_topic
from magnetar.core.names import TopicName
from magnetar.core.topic_ops import grow_partitions
from magnetar.core.topiclist import watcher as watching
from magnetar.wire.commands import pb
from magnetar.wire.hashing import topics_hash
from tests.support.corebroker import Client, CoreBroker, Frame, answered, full

NAMESPACE = "public/default"
PATTERN = f"persistent://{NAMESPACE}/orders-.*"


def watch(client: Client, pattern: str = PATTERN, ident: int = 7, **fields: Any) -> Frame:
    return answered(
        client.ask(pb.CommandWatchTopicList(watcher_id=ident, namespace=NAMESPACE, topics_pattern=pattern, **fields))
    )


def create(broker: CoreBroker, *names: str) -> None:
    for name in names:
        create_topic(broker.core, TopicName(full(name)), _nothing)
    broker.turn()


def delete(broker: CoreBroker, name: str) -> None:
    delete_topic(broker.core, broker.topic(name), _nothing)
    broker.turn()


def _nothing(*answer: object) -> None:
    """Nobody asked."""


def updates(client: Client) -> list[tuple[list[str], list[str]]]:
    """Take the updates that came: local names of the new and the deleted topics."""
    return [
        ([name.rpartition("/")[2] for name in m.new_topics], [name.rpartition("/")[2] for name in m.deleted_topics])
        for m in (frame.message for frame in client.take("WATCH_TOPIC_UPDATE"))
    ]


class Follower:
    """A client that keeps its list by what it is told, and checks the hash behind every step."""

    def __init__(self, client: Client, answer: Frame) -> None:
        self.client = client
        self.names = set(answer.message.topic)
        assert len(self.names) == len(answer.message.topic)
        self._check(answer.message.topics_hash)

    def follow(self) -> set[str]:
        for frame in self.client.take("WATCH_TOPIC_UPDATE"):
            new, gone = set(frame.message.new_topics), set(frame.message.deleted_topics)
            assert not new & self.names, "told of a topic twice"
            assert gone <= self.names, "told of the end of a topic it never heard of"
            self.names = (self.names | new) - gone
            self._check(frame.message.topics_hash)
        return self.names

    def _check(self, digest: str) -> None:
        assert digest == topics_hash(self.names)


def test_a_broker_says_that_it_offers_watchers() -> None:
    for offered in (True, False):
        client = CoreBroker(topic_watchers=offered).client(connect=False)
        client.say(pb.CommandConnect(client_version="test", protocol_version=21))
        flags = client.inbox[0].message.feature_flags
        assert (flags.supports_topic_watchers, flags.supports_topic_watcher_reconcile) == (offered, offered)


def test_the_answer_has_the_list_and_its_hash_and_updates_follow() -> None:
    broker = CoreBroker()
    client = broker.client()
    create(broker, "orders-1", "bills-1")
    answer = watch(client)
    assert answer.name == "WATCH_TOPIC_LIST_SUCCESS"
    assert (answer.message.watcher_id, list(answer.message.topic)) == (7, [full("orders-1")])
    follower = Follower(client, answer)
    create(broker, "orders-2", "bills-2")
    delete(broker, "orders-1")
    assert follower.follow() == {full("orders-2")}


def test_the_hashes_are_those_of_pulsar() -> None:
    broker = CoreBroker()
    broker.rows[NAMESPACES + "my-property/my-ns"] = encode_row({})
    broker.core.catalog.apply(NAMESPACES + "my-property/my-ns", encode_row({}))
    client = broker.client()
    message = pb.CommandWatchTopicList(
        watcher_id=1, namespace="my-property/my-ns", topics_pattern="my-property/my-ns/pattern-topic-.*"
    )
    hashes = [answered(client.ask(message)).message.topics_hash]
    for number in (1, 2, 3):
        create(broker, f"persistent://my-property/my-ns/pattern-topic-{number}")
        hashes += [frame.message.topics_hash for frame in client.take("WATCH_TOPIC_UPDATE")]
    assert (hashes[0], hashes[1], hashes[3]) == ("00000000", "0d0602ed", "90d4a04a")


def test_a_list_that_the_client_has_already_is_not_sent_again() -> None:
    broker = CoreBroker()
    client = broker.client()
    create(broker, "orders-1")
    answer = watch(client, topics_hash=topics_hash([full("orders-1")]))
    assert (list(answer.message.topic), answer.message.topics_hash) == ([], topics_hash([full("orders-1")]))
    create(broker, "orders-2")
    assert updates(client) == [(["orders-2"], [])]


def test_a_repeated_request_puts_the_list_right_and_leaves_one_watcher() -> None:
    broker = CoreBroker()
    client = broker.client()
    watch(client)
    client.reads = False
    create(broker, "orders-1", "orders-2")
    client.reads = True
    broker.turn()
    client.inbox.clear()  # lost on its way
    follower = Follower(client, watch(client, topics_hash="00000000"))
    assert follower.names == {full("orders-1"), full("orders-2")}
    create(broker, "orders-3")
    assert updates(client) == [(["orders-3"], [])]
    assert len(broker.core.topic_lists.of(client.session)) == 1


def test_everything_of_a_turn_is_one_update() -> None:
    broker = CoreBroker()
    broker.auto_store = False
    client = broker.client()
    watch(client)
    create(broker, "orders-1", "orders-2", "bills-1", "orders-3")
    broker.store()
    broker.turn()
    assert updates(client) == [(["orders-1", "orders-2", "orders-3"], [])]


def test_a_topic_that_could_not_be_stored_is_not_heard_of() -> None:
    broker = CoreBroker()
    broker.auto_store = False
    client = broker.client()
    watch(client)
    create(broker, "orders-1")
    broker.store("no space left")
    broker.turn()
    assert updates(client) == []


def test_partitions_come_by_name_and_are_matched_by_their_topic() -> None:
    broker = CoreBroker()
    client = broker.client()
    follower = Follower(client, watch(client, f"{NAMESPACE}/orders-[a-z]"))
    name = TopicName(full("orders-a"))
    create_partitioned(broker.core, name, 2, True, _nothing)
    broker.turn()
    assert updates(client) == [(["orders-a-partition-0", "orders-a-partition-1"], [])]
    follower.names = {full("orders-a-partition-0"), full("orders-a-partition-1")}
    client.producer("orders-a-partition-1")
    assert updates(client) == [], "using a partition makes no new topic"
    grow_partitions(broker.core, name, 4, _nothing)
    broker.turn()
    assert len(follower.follow()) == 4
    delete_partitioned(broker.core, name, _nothing)
    broker.turn()
    assert follower.follow() == set()


def test_a_domain_in_front_of_the_pattern_means_nothing_and_other_domains_are_not_watched() -> None:
    broker = CoreBroker()
    client = broker.client()
    watch(client, f"{NAMESPACE}/orders-.*", 1)
    watch(client, f"persistent://{NAMESPACE}/orders-.*", 2)
    client.producer("non-persistent://public/default/orders-1")
    client.producer("orders-1", 2)
    heard = [(f.message.watcher_id, list(f.message.new_topics)) for f in client.take("WATCH_TOPIC_UPDATE")]
    assert heard == [(1, [full("orders-1")]), (2, [full("orders-1")])]


def test_system_topics_are_neither_listed_nor_heard_of() -> None:
    broker = CoreBroker()
    client = broker.client()
    create(broker, "__change_events")
    assert list(watch(client, f"{NAMESPACE}/.*").message.topic) == []
    create(broker, "x__transaction_pending_ack", "__mine")
    assert updates(client) == [(["__mine"], [])]


def test_after_close_nothing_is_heard_and_nothing_is_kept() -> None:
    broker = CoreBroker()
    client = broker.client()
    watch(client)
    for _ in range(2):
        assert answered(client.ask(pb.CommandWatchTopicListClose(watcher_id=7))).name == "SUCCESS"
    create(broker, "orders-1")
    assert updates(client) == []
    other = broker.client()
    watch(other)
    other.cut()
    create(broker, "orders-2")
    lists = broker.core.topic_lists
    assert (lists.views, lists.stirred, lists.watchers) == ({}, [], {})


def test_a_connection_that_is_not_read_is_told_the_difference_when_it_is() -> None:
    broker = CoreBroker()
    client = broker.client()
    create(broker, "orders-a", "orders-b")
    follower = Follower(client, watch(client))
    client.session.pause()
    for number in range(50):
        create(broker, f"orders-{number}")
        delete(broker, f"orders-{number}")
    create(broker, "orders-c")
    delete(broker, "orders-a")
    assert client.inbox == []
    (watcher,) = broker.core.topic_lists.of(client.session).values()
    assert len(watcher.untold) == 2, "what came and went meanwhile costs nothing"
    client.session.resume()
    broker.turn()
    assert len(client.inbox) == 1
    assert follower.follow() == {full("orders-b"), full("orders-c")}


def test_a_long_list_of_changes_comes_in_portions_each_with_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "UPDATE_BYTES_MAX", 1_000)
    broker = CoreBroker()
    client = broker.client()
    follower = Follower(client, watch(client))
    client.session.pause()
    create(broker, *(f"orders-{number}" for number in range(40)))
    client.session.resume()
    broker.turn()
    assert len(client.inbox) > 4
    assert len(follower.follow()) == 40


@pytest.mark.parametrize(
    "pattern",
    ["public/default/(", "([a-z/]+)+!", "(a|aa)*(b)+!", "", "public/default/" + "x" * 40],
    ids=["no expression", "nested", "groups", "empty", "long"],
)
def test_a_pattern_that_cannot_be_evaluated_is_refused_so_that_the_client_asks_for_lists(pattern: str) -> None:
    broker = CoreBroker()
    client = broker.client()
    answer = watch(client, pattern)
    assert (answer.name, answer.message.error) == ("ERROR", pb.ServerError.NotAllowedError)
    assert broker.core.topic_lists.views == {}
    assert broker.core.topic_lists.watchers == {}


def test_what_cannot_be_watched_is_refused() -> None:
    client = CoreBroker(topic_watchers=False).client()
    assert watch(client).message.error == pb.ServerError.NotAllowedError
    broker = CoreBroker(max_message_bytes=200)
    client = broker.client()
    message = pb.CommandWatchTopicList(watcher_id=1, namespace="public/none", topics_pattern=".*")
    assert answered(client.ask(message)).message.error == pb.ServerError.TopicNotFound
    create(broker, *(f"orders-{number}" for number in range(10)))
    assert watch(client).message.error == pb.ServerError.NotAllowedError
    assert broker.core.topic_lists.views == {}


def test_a_connection_may_watch_so_many_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "WATCHERS_MAX", 2)
    client = CoreBroker().client()
    names = [watch(client, ident=ident).name for ident in (1, 2, 2, 3)]
    assert names == ["WATCH_TOPIC_LIST_SUCCESS"] * 3 + ["ERROR"]


def test_a_name_too_long_to_be_matched_quickly_is_in_no_list() -> None:
    broker = CoreBroker()
    client = broker.client()
    watch(client)
    create(broker, "orders-" + "x" * 600, "orders-1")
    assert updates(client) == [(["orders-1"], [])]


_STEPS = st.lists(
    st.tuples(st.sampled_from(("create", "delete", "part", "unpart", "pause", "resume", "watch")), st.integers(0, 5)),
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(_STEPS)
def test_whoever_follows_the_updates_has_the_list(steps: list[tuple[str, int]]) -> None:
    broker = CoreBroker()
    client = broker.client()
    follower = Follower(client, watch(client))
    for step, number in steps:
        name = TopicName(full(f"orders-{number}"))
        if step == "create" and not broker.core.catalog.partitions(name):
            create(broker, str(name))
        elif step == "delete" and str(name) in broker.core.topics:
            delete(broker, str(name))
        elif step == "part" and str(name) not in broker.core.topics:
            create_partitioned(broker.core, name, number + 1, False, _nothing)
        elif step == "unpart":
            delete_partitioned(broker.core, name, _nothing)
        elif step == "pause":
            client.session.pause()
        elif step == "resume":
            client.session.resume()
        elif step == "watch" and client.session.writable:
            follower.follow()
            follower = Follower(client, watch(client))
        broker.turn()
    client.session.resume()
    broker.turn()
    assert follower.follow() == set(broker.core.catalog.topic_names(NAMESPACE))
    assert broker.core.catalog.counts.get(NAMESPACE, 0) == len(follower.names)
