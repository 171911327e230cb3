"""Explanations, pending acknowledgements and histories over HTTP, of a real drain."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest

from tests.server.admin.conftest import Served, path
from tests.support.wireclient import SubType, WireClient

KEYS = [f"k{n}" for n in range(20)]


def at(topic: str, what: str) -> str:
    return f"{path(topic)}/subscription/s/{what}"


def drain(served: Served, wire: WireClient, topic: str) -> dict[str, Any]:
    """``first`` holds two messages of every key; half of the keys belong to ``second`` by now."""
    wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="first")
    wire.flow(1, 100)
    wire.producer(topic)
    for n in range(40):
        wire.publish(b"x", n, key=KEYS[n % 20])
    wire.messages(40, 1)
    wire.subscribe(topic, "s", 2, SubType.KEY_SHARED, name="second")
    wire.flow(2, 100)
    for n in range(20):
        wire.publish(b"y", 40 + n, key=KEYS[n])
    found: dict[str, Any] = served.get(at(topic, "explain")).json
    return found


def test_a_drain_is_explained(served: Served, wire: WireClient, topic: str) -> None:
    answer = drain(served, wire, topic)
    (finding,) = answer["findings"]
    assert (answer["topic"], answer["subscription"], answer["type"]) == (topic, "s", "Key_Shared")
    assert answer["verdict"] == finding["code"] == "DRAINING"
    assert (finding["consumers"], finding["messageCount"]) == (["first"], 2 * finding["keys"])
    assert finding["waiting"] == answer["msgInReplay"] == finding["keys"]
    assert finding["sentTimestamp"] <= finding["sinceTimestamp"] <= answer["timestamp"]
    key = finding["messages"][0]["key"]
    assert key in KEYS
    one = served.get(at(topic, f"explain?key={key}")).json["key"]
    assert (one["key"], one["owner"], one["ownerAfterDrain"], one["heldBy"]) == (key, "first", "second", "first")
    assert (one["verdict"], one["heldCount"], one["waitingCount"]) == ("DRAINING", 2, 1)
    assert one["heldMessages"][0] == finding["messages"][0]["messageId"]
    same = quote(b64encode(key.encode()).decode())
    assert served.get(at(topic, f"explain?keyB64={same}")).json["key"]["slot"] == one["slot"]
    assert served.get(at(topic, f"explain?ordering={key}&key=other")).json["key"]["slot"] == one["slot"]
    slots = [consumer["slots"] for consumer in answer["consumers"]]
    assert sum(slots) == 65_535


def test_a_key_that_is_no_text(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="first")
    answer = served.get(at(topic, "explain?keyB64=%2Fw%3D%3D")).json
    assert (answer["key"]["keyB64"], answer["key"]["verdict"]) == ("/w==", "NO_PERMITS")
    assert served.get(at(topic, "explain?keyB64=x")).refusal[0] == 412
    assert served.get(f"{path(topic)}/subscription/no/explain").status == 404


def test_a_partitioned_topic_is_asked_by_partition(served: Served, wire: WireClient, topic: str) -> None:
    assert served.put(f"{path(topic)}/partitions", 2).status == 204
    status, reason = served.get(at(topic, "explain")).refusal
    assert status == 404
    assert f"{topic}-partition-0" in reason
    wire.subscribe(f"{topic}-partition-1", "s", 1, SubType.SHARED)
    assert served.get(at(f"{topic}-partition-1", "explain")).json["verdict"] == "NOTHING_TO_DELIVER"


def test_pending_acknowledgements_come_in_pages(served: Served, wire: WireClient, topic: str) -> None:
    finding = drain(served, wire, topic)["findings"][0]
    rows: list[dict[str, Any]] = []
    after = ""
    while True:
        page = served.get(at(topic, f"pendingAcks?limit=7{after}")).json
        rows += page["pendingAcks"]
        if "next" not in page:
            break
        assert len(page["pendingAcks"]) == 7
        after = f"&after={page['next']}"
    ids = [tuple(map(int, row["messageId"].split(":"))) for row in rows]
    assert ids == sorted(set(ids))
    held = [row for row in rows if row["draining"]]
    assert [row["messageId"] for row in held][: len(finding["messages"])] == [
        message["messageId"] for message in finding["messages"]
    ]
    assert len(held) == finding["messageCount"]
    assert {row["consumerName"] for row in held} == {"first"}
    assert [row["key"] for row in rows[:20]] == KEYS
    assert {(row["deliveryCount"], row["openMessages"], row["batchSize"]) for row in rows} == {(1, 1, 1)}
    assert all(0 <= row["ageMillis"] < 60_000 for row in rows)
    slot = held[0]["slot"]
    of_slot = served.get(at(topic, f"pendingAcks?consumer=first&slot={slot}")).json["pendingAcks"]
    assert [row["messageId"] for row in of_slot] == [row["messageId"] for row in rows if row["slot"] == slot]
    assert served.get(at(topic, "pendingAcks?consumer=nobody")).json == {"pendingAcks": []}
    assert served.get(at(topic, "pendingAcks?after=999999:0")).json == {"pendingAcks": []}


@pytest.mark.parametrize(
    "query", ["limit=x", "limit=-1", "slot=one", "after=7", "after=x:y", "after=1:", "limit=9999999999"]
)
def test_a_page_that_cannot_be_asked_for(served: Served, wire: WireClient, topic: str, query: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    assert served.get(at(topic, f"pendingAcks?{query}")).refusal[0] == 412


def test_deliveries_and_open_messages_of_a_batch(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED, name="one")
    wire.flow(1, 100)
    wire.producer(topic)
    wire.publish(b"x" * 30, 0, batch=3)
    first = wire.message(1)
    wire.redeliver(1, [first.id])
    wire.message(1)
    (row,) = served.get(at(topic, "pendingAcks")).json["pendingAcks"]
    assert (row["deliveryCount"], row["openMessages"], row["batchSize"]) == (2, 3, 3)
    assert "slot" not in row
    assert "key" not in row


def test_what_an_exclusive_consumer_has_not_acknowledged(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1, SubType.EXCLUSIVE, name="one")
    wire.flow(1, 4)
    wire.producer(topic)
    ids = [wire.publish(b"x", n, key=f"k{n}") for n in range(6)]
    wire.messages(4)
    wire.ack(1, [ids[1]], request=True)
    rows = served.get(at(topic, "pendingAcks?limit=2")).json
    assert [row["key"] for row in rows["pendingAcks"]] == ["k0", "k2"]
    rows = served.get(at(topic, f"pendingAcks?limit=2&after={rows['next']}")).json
    assert [(row["key"], row["consumerName"]) for row in rows["pendingAcks"]] == [("k3", "one")]
    answer = served.get(at(topic, "explain")).json
    assert (answer["verdict"], answer["unreadEntries"], answer["activeConsumerName"]) == ("NO_PERMITS", 2, "one")


def test_the_history_tells_of_a_drain(served: Served, wire: WireClient, topic: str) -> None:
    drain(served, wire, topic)
    wire.close_consumer(1)
    wire.messages(60, 2)
    answer = served.get(at(topic, "history")).json
    joined, second, drained, left = answer["events"]
    assert (joined["what"], joined["consumerName"], joined["slotsMoved"]) == ("joined", "first", 65_535)
    assert (second["what"], second["consumerName"]) == ("joined", "second")
    assert second["drainingHashesCount"] > 0
    assert drained["what"] == "drained"
    assert (left["what"], left["consumerName"]) == ("left", "first")
    assert left["slotsMoved"] + second["slotsMoved"] == 65_535
    assert left["heldEntries"] >= 40
    assert (answer["changes"], answer["eventsMax"]) == (3, 100)
