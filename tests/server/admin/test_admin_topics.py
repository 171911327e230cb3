"""Topics, partitions and subscriptions are made, changed and deleted over HTTP."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from tests.server.admin import shapes
from tests.server.admin.conftest import Served, path
from tests.server.admin.shapes import shape
from tests.support.wireclient import Command, SubType, WireClient, WireError


def test_a_topic_comes_and_goes(served: Served, topic: str) -> None:
    assert served.put(path(topic)).status == 204
    assert served.put(path(topic)).refusal == (409, "This topic already exists")
    assert topic in served.get("persistent/public/default").json
    assert served.get(f"{path(topic)}/partitions").json == {"partitions": 0, "deleted": False}
    assert served.delete(path(topic)).status == 204
    assert served.delete(path(topic)).refusal == (404, f"Topic {topic} not found")
    assert topic not in served.get("persistent/public/default").json


def test_a_topic_in_use_is_deleted_by_force_only(served: Served, wire: WireClient, topic: str) -> None:
    wire.producer(topic)
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    wire.subscribe(topic, "s", 2, SubType.SHARED)
    assert served.delete(path(topic)).refusal == (
        412,
        "Topic has 3 clients connected Including 2 consumers, 1 producers, and 0 replicators.",
    )
    assert served.delete(f"{path(topic)}?force=true").status == 204
    assert served.get(f"{path(topic)}/stats").status == 404
    wire.expect(Command.CLOSE_PRODUCER)


@pytest.mark.parametrize(
    "name", ["x%2Fy", "%2e%2e", "%C3%A4%20%C3%B6", "a%25b", "%00", "a%2Fstats", "-partition-", "%F0%9F%90%8D"]
)
def test_any_name_can_be_a_topic(served: Served, name: str) -> None:
    at = f"persistent/public/default/{name}"
    assert served.put(at).status == 204
    assert served.get(f"{at}/stats").status == 200
    assert f"persistent://public/default/{unquote(name)}" in served.get("persistent/public/default").json
    assert served.delete(at).status == 204


def test_partitions_grow_but_never_shrink(served: Served, wire: WireClient, topic: str) -> None:
    partitions = f"{path(topic)}/partitions"
    assert served.put(partitions, 0).status == 406
    assert served.put(partitions, {"partitions": 2, "properties": {}}).status == 204
    assert served.put(partitions, 2).refusal == (409, "This topic already exists")
    wire.subscribe(f"{topic}-partition-0", "s", 1)
    assert served.post(partitions, 4).status == 204
    assert served.get(partitions).json == {"partitions": 4, "deleted": False}
    assert wire.partitions(topic) == 4
    reason = "Desired partitions 3 can't be less than the current partitions 4."
    assert served.post(partitions, 3).refusal == (422, reason)
    assert served.post(partitions, 4).status == 422
    assert served.get(f"{path(topic)}-partition-3/subscriptions").json == ["s"]
    assert topic in served.get("persistent/public/default/partitioned").json
    assert f"{topic}-partition-3" in served.get("namespaces/public/default/topics").json
    assert served.delete(partitions).status == 412
    assert served.delete(f"{partitions}?force=true").status == 204
    assert served.get(partitions).status == 404


def test_partitions_may_come_into_being_by_being_asked_for(served: Served, topic: str) -> None:
    assert served.get(f"{path(topic)}/partitions").refusal == (404, f"Topic {topic} not found")
    answer = served.get(f"{path(topic)}/partitions?checkAllowAutoCreation=true")
    assert answer.json == {"partitions": 0, "deleted": False}
    assert served.get(f"{path(topic)}/stats").status == 200


@pytest.mark.parametrize("body", ["three", [3], {"partitions": "x"}, 3.5, True, 10**30, -1, {}])
def test_a_number_of_partitions_that_is_none(served: Served, topic: str, body: object) -> None:
    assert served.put(f"{path(topic)}/partitions", body).status in (400, 406)


def test_a_terminated_topic_ends_where_it_ended(served: Served, wire: WireClient, topic: str) -> None:
    wire.producer(topic)
    last = wire.publish(b"one")
    answer = served.post(f"{path(topic)}/terminate")
    assert shape(answer.json) == shapes.MESSAGE_ID
    assert (answer.json["ledgerId"], answer.json["entryId"]) == (last.ledger, last.entry)
    with pytest.raises(WireError) as refused:
        wire.publish(b"two", 1)
    assert refused.value.code == 15
    assert served.post(f"{path(topic)}/terminate").json == answer.json
    wire.subscribe(topic, "s", 1)
    wire.flow(1, 10)
    wire.ack(1, [wire.message().id])
    wire.expect(Command.REACHED_END_OF_TOPIC)
    assert served.get(f"{path(topic)}/internalStats").json["state"] == "Terminated"


def test_partitions_are_terminated_together(served: Served, topic: str) -> None:
    served.put(f"{path(topic)}/partitions", 2)
    assert served.post(f"{path(topic)}/terminate").status == 405
    assert list(served.post(f"{path(topic)}/terminate/partitions").json) == ["0", "1"]


def test_unload_sends_everybody_away(served: Served, wire: WireClient, topic: str) -> None:
    wire.producer(topic)
    wire.subscribe(topic, "s", 1)
    assert served.put(f"{path(topic)}/unload").status == 204
    wire.expect(Command.CLOSE_PRODUCER)
    wire.expect(Command.CLOSE_CONSUMER)
    wire.producer(topic, 2)
    assert len(served.get(f"{path(topic)}/stats").json["publishers"]) == 1


def test_a_subscription_is_made_where_it_is_wanted(served: Served, wire: WireClient, topic: str) -> None:
    wire.producer(topic)
    ids = [wire.publish(b"x", n) for n in range(4)]
    at = {"ledgerId": ids[1].ledger, "entryId": ids[1].entry, "partitionIndex": -1}
    for name, body in (
        ("absent", None),
        ("last", "latest"),
        ("first", "earliest"),
        ("at", at),
        ("behind", at | {"isExcluded": True, "properties": {"a": "b"}}),
        ("end", {"ledgerId": (1 << 63) - 1, "entryId": (1 << 63) - 1}),
        ("begin", {"ledgerId": -1, "entryId": -1}),
    ):
        assert served.put(f"{path(topic)}/subscription/{name}", body).status == 204, name
    subs = served.get(f"{path(topic)}/stats").json["subscriptions"]
    backlogs = {name: sub["msgBacklog"] for name, sub in subs.items()}
    assert backlogs == {"absent": 0, "last": 0, "first": 4, "at": 3, "behind": 2, "end": 0, "begin": 4}
    assert subs["behind"]["subscriptionProperties"] == {"a": "b"}
    again = served.put(f"{path(topic)}/subscription/at")
    assert again.refusal == (409, "Subscription already exists for topic")


@pytest.mark.parametrize(
    "body", ["middle", 5, {"ledgerId": 10**30}, {"ledgerId": "1"}, b"{", b'"\\ud800"', {"properties": {"a": "\0"}}]
)
def test_a_place_that_is_none(served: Served, topic: str, body: object) -> None:
    served.put(path(topic))
    assert served.put(f"{path(topic)}/subscription/s", body).status in (400, 412)
    assert served.get(f"{path(topic)}/subscriptions").json == []


def test_a_subscription_of_a_partitioned_topic_is_on_every_partition(served: Served, topic: str) -> None:
    served.put(f"{path(topic)}/partitions", 3)
    assert served.put(f"{path(topic)}/subscription/s%2F1").status == 204
    assert served.get(f"{path(topic)}-partition-2/subscriptions").json == ["s/1"]
    assert served.get(f"{path(topic)}/subscriptions").json == ["s/1"]
    assert served.put(f"{path(topic)}/subscription/s%2F1").status == 409
    assert served.delete(f"{path(topic)}/subscription/s%2F1").status == 204
    assert served.get(f"{path(topic)}-partition-2/subscriptions").json == []


def test_a_subscription_in_use_is_deleted_by_force_only(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1)
    gone = served.delete(f"{path(topic)}/subscription/nowhere")
    assert gone.refusal == (404, f"Subscription nowhere not found for topic {topic}")
    busy = served.delete(f"{path(topic)}/subscription/s")
    assert busy.refusal == (412, "Subscription has active connected consumers")
    assert served.delete(f"{path(topic)}/subscription/s?force=true").status == 204
    wire.expect(Command.CLOSE_CONSUMER)
    assert served.get(f"{path(topic)}/subscriptions").json == []


def test_a_topic_that_is_not_there(served: Served) -> None:
    for action in ("stats", "internalStats", "subscriptions", "lastMessageId", "backlog"):
        answer = served.get(f"persistent/public/default/nowhere/{action}")
        assert answer.refusal == (404, "Topic persistent://public/default/nowhere not found"), action
    assert served.get("persistent/public/nowhere/a/stats").refusal == (404, "Namespace not found")
    assert served.get("persistent/public/nowhere").refusal == (404, "Namespace does not exist")
