"""What topics hold over HTTP: messages one by one, properties, truncating, ledgers, and where cursors are put."""

from __future__ import annotations

import pytest

from tests.server.admin.conftest import Served, path
from tests.support.wireclient import Command, Id, SubType, WireClient


@pytest.fixture
def ids(wire: WireClient, topic: str) -> list[Id]:
    """Five messages, none of them acknowledged on ``s``."""
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    wire.producer(topic)
    return [wire.publish(b"m-%d" % number, number) for number in range(5)]


def test_a_message_by_its_id(served: Served, topic: str, ids: list[Id]) -> None:
    answer = served.get(f"{path(topic)}/ledger/{ids[2].ledger}/entry/{ids[2].entry}")
    assert (answer.status, answer.content_type, answer.body) == (200, "application/octet-stream", b"m-2")
    assert answer.headers["X-Pulsar-Message-ID"] == f"{ids[2].ledger}:{ids[2].entry}"
    assert answer.headers["X-Pulsar-PROPERTY"] == "{}"
    assert answer.headers["X-Pulsar-sequence-id"] == "2"
    for ledger, entry in ((ids[0].ledger, 999), (999_999, 0), (-1, -1), (0, 0), (ids[0].ledger, -1)):
        missing = served.get(f"{path(topic)}/ledger/{ledger}/entry/{entry}")
        assert missing.refusal == (404, "Message id not found"), (ledger, entry)
    assert served.get(f"{path(topic)}/ledger/x/entry/0").status == 404


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", b"m-4"),
        ("?initialPosition=earliest", b"m-0"),
        ("?initialPosition=earliest&messagePosition=2", b"m-1"),
        ("?initialPosition=latest&messagePosition=2", b"m-3"),
        ("?initialPosition=earliest&messagePosition=99", b"m-4"),
        ("?initialPosition=earliest&messagePosition=-5", b"m-0"),
        ("?initialPosition=latest&messagePosition=99", b"m-0"),
    ],
)
def test_a_message_by_its_place(served: Served, topic: str, ids: list[Id], query: str, wanted: bytes) -> None:
    assert served.get(f"{path(topic)}/examinemessage{query}").body == wanted


def test_an_empty_topic_has_no_message_to_examine(served: Served, topic: str) -> None:
    served.put(path(topic))
    reason = "Could not examine messages due to the total message is zero"
    assert served.get(f"{path(topic)}/examinemessage").refusal == (412, reason)
    assert served.get(f"{path(topic)}/examinemessage?messagePosition=x").status == 404
    assert served.put(f"{path(topic)}/backlogSize", {"ledgerId": 1, "entryId": 1}).json == 0


def test_peeking_goes_by_what_is_not_acknowledged(served: Served, wire: WireClient, topic: str, ids: list[Id]) -> None:
    at = f"{path(topic)}/subscription/s/position"
    wire.flow(1, 10)
    wire.messages(5)
    wire.ack(1, [ids[0], ids[2]], request=True)
    assert [served.get(f"{at}/{place}").body for place in (1, 2, 3)] == [b"m-1", b"m-3", b"m-4"]
    assert served.get(f"{at}/4").refusal == (404, "Message not found")
    assert served.get(f"{at}/0").status == 412
    assert served.get(f"{at}/x").status == 404
    assert served.get(f"{path(topic)}/subscription/nobody/position/1").status == 404


def test_the_id_of_a_time(served: Served, topic: str, ids: list[Id]) -> None:
    at = f"{path(topic)}/messageid"
    assert served.get(f"{at}/0").json["ledgerId"] == -1
    for before_all in (1, 1_577_836_800_000):
        first = served.get(f"{at}/{before_all}").json
        assert (first["ledgerId"], first["entryId"]) == (ids[0].ledger, ids[0].entry)
    behind = served.get(f"{at}/99999999999999").json
    assert (behind["ledgerId"], behind["entryId"]) == (ids[4].ledger, ids[4].entry + 1)
    assert served.get(f"{at}/x").status == 404


def test_bytes_behind_a_message(served: Served, topic: str, ids: list[Id]) -> None:
    def behind(entry: int) -> int:
        size = served.put(f"{path(topic)}/backlogSize", {"ledgerId": ids[0].ledger, "entryId": entry}).json
        assert isinstance(size, int)
        return size

    whole = served.get(f"{path(topic)}/stats").json["storageSize"]
    assert behind(-1) == whole
    assert behind(4) == 0
    assert 0 < behind(2) < behind(0) < whole


def test_a_cursor_is_put_to_a_message(served: Served, wire: WireClient, topic: str, ids: list[Id]) -> None:
    at = f"{path(topic)}/subscription/s"
    served.post(f"{at}/skip_all")
    wheres: list[tuple[object, int]] = [
        ({"ledgerId": ids[3].ledger, "entryId": ids[3].entry}, 2),
        ({"ledgerId": ids[3].ledger, "entryId": ids[3].entry, "isExcluded": True}, 1),
        ({"ledgerId": ids[3].ledger, "entryId": ids[3].entry, "excluded": True}, 1),
        ("earliest", 5),
        ("latest", 0),
        ({"ledgerId": ids[0].ledger, "entryId": ids[0].entry, "batchIndex": 0}, 5),
        ({"ledgerId": ids[0].ledger, "entryId": ids[0].entry, "batchIndex": 0, "isExcluded": True}, 4),
        ({"ledgerId": 1 << 60, "entryId": 0}, 0),
        ({"ledgerId": -1, "entryId": -1}, 5),
    ]
    for where, backlog in wheres:
        assert served.post(f"{at}/resetcursor", where).status == 204, where
        assert served.get(f"{path(topic)}/stats").json["subscriptions"]["s"]["msgBacklog"] == backlog, where
    wire.expect(Command.CLOSE_CONSUMER)
    for nonsense in (None, "middle", 7, [], {"ledgerId": "x"}):
        assert served.post(f"{at}/resetcursor", nonsense).status == 400, nonsense


def test_a_cursor_is_put_to_a_time(served: Served, topic: str, ids: list[Id]) -> None:
    at = f"{path(topic)}/subscription/s"
    assert served.post(f"{at}/resetcursor/99999999999999").status == 204
    assert served.get(f"{at}/position/1").status == 404
    assert served.post(f"{at}/resetcursor/0").status == 204
    assert served.get(f"{at}/position/1").body == b"m-0"
    assert served.post(f"{at}/resetcursor/soon").status == 404


def test_the_backlog_is_counted(served: Served, wire: WireClient, topic: str, ids: list[Id]) -> None:
    at = f"{path(topic)}/subscription/s"
    served.post(f"{at}/skip/2")
    found = served.post(f"{at}/analyzeBacklog").json
    assert (found["entries"], found["messages"], found["aborted"]) == (3, 3, False)
    assert (found["firstMessageId"], found["lastMessageId"]) == tuple(f"{i.ledger}:{i.entry}" for i in (ids[2], ids[4]))
    served.post(f"{at}/skip_all")
    assert "firstMessageId" not in served.post(f"{at}/analyzeBacklog").json


def test_properties_of_a_topic(served: Served, topic: str) -> None:
    at = f"{path(topic)}/properties"
    assert served.get(at).refusal == (404, f"Topic {topic} not found")
    assert served.put(path(topic), {"a": "1"}).status == 204
    assert served.put(at, {"b": "ü"}).status == 204
    assert served.get(at).json == {"a": "1", "b": "ü"}
    assert served.delete(f"{at}?key=a").status == 204
    assert served.delete(f"{at}?key=nothing").status == 204
    assert served.get(at).json == {"b": "ü"}
    assert served.put(at, {"c": 1}).status == 400
    assert served.put(at, {"c": "x" * 70_000}).status == 412
    assert served.delete(at).status == 204
    assert served.get(at).json == {}


def test_properties_of_a_partitioned_topic(served: Served, topic: str) -> None:
    assert served.put(f"{path(topic)}/partitions", {"partitions": 2, "properties": {"a": "1"}}).status == 204
    assert served.get(f"{path(topic)}/partitions").json["properties"] == {"a": "1"}
    assert served.put(f"{path(topic)}/properties", {"b": "2"}).status == 204
    assert served.get(f"{path(topic)}/properties").json == {"a": "1", "b": "2"}
    assert served.post(f"{path(topic)}/partitions", 3).status == 204
    assert served.get(f"{path(topic)}/properties").json == {"a": "1", "b": "2"}


def test_properties_of_a_subscription(served: Served, topic: str) -> None:
    served.put(f"{path(topic)}/partitions", 2)
    at = f"{path(topic)}/subscription/s"
    assert served.put(at, {"ledgerId": -1, "entryId": -1, "properties": {"a": "1"}}).status == 204
    assert served.get(f"{at}/properties").json == {"a": "1"}
    assert served.put(f"{at}/properties", {"b": "2"}).status == 204
    assert served.get(f"{path(topic)}-partition-1/subscription/s/properties").json == {"b": "2"}
    assert served.put(f"{at}/properties", {"b": "2" * 99_999}).status == 412
    assert served.get(f"{path(topic)}/subscription/nobody/properties").status == 404


def test_truncate_and_trim(served: Served, wire: WireClient, topic: str, ids: list[Id]) -> None:
    assert served.post(f"{path(topic)}/trim").status == 204
    assert served.get(f"{path(topic)}/internalStats").json["numberOfEntries"] == 5
    assert served.delete(f"{path(topic)}/truncate").status == 204
    after = served.get(f"{path(topic)}/internalStats").json
    assert (after["numberOfEntries"], after["totalSize"], len(after["ledgers"])) == (0, 0, 1)
    assert served.get(f"{path(topic)}/ledger/{ids[0].ledger}/entry/{ids[0].entry}").status == 404
    wire.publish(b"new", 9)
    assert served.get(f"{path(topic)}/subscription/s/position/1").body == b"new"
    for action, method in (("trim", "POST"), ("truncate", "DELETE")):
        answer = served.ask(method, f"/admin/v2/persistent/public/default/nowhere/{action}")
        assert answer.refusal[0] == 404


def test_ledgers_as_they_are_stored(served: Served, topic: str, ids: list[Id]) -> None:
    info = served.get(f"{path(topic)}/internal-info").json
    assert set(info) == {"version", "creationDate", "modificationDate", "ledgers", "cursors"}
    assert info["ledgers"][-1]["ledgerId"] == ids[0].ledger
    assert info["cursors"]["s"]["markDelete"] == {"ledgerId": ids[0].ledger, "entryId": -1}


def test_partitions_that_nobody_has_used_are_made(served: Served, topic: str) -> None:
    served.put(f"{path(topic)}/partitions", 2)
    assert served.get(f"{path(topic)}/internal-info").json == {"version": 0, "partitions": {}}
    assert served.post(f"{path(topic)}/createMissedPartitions").status == 204
    partitions = served.get(f"{path(topic)}/internal-info").json["partitions"]
    assert list(partitions) == [f"{topic}-partition-{index}" for index in range(2)]
    assert served.post(f"{path('persistent://public/default/nowhere')}/createMissedPartitions").status == 404


def test_what_is_not_done_to_a_partitioned_topic(served: Served, topic: str) -> None:
    served.put(f"{path(topic)}/partitions", 2)
    served.put(f"{path(topic)}/subscription/s")
    for action in ("ledger/1/entry/1", "examinemessage", "messageid/0", "subscription/s/position/1"):
        assert served.get(f"{path(topic)}/{action}").refusal[0] == 405, action
    for action in ("analyzeBacklog", "skip/1"):
        assert served.post(f"{path(topic)}/subscription/s/{action}").refusal[0] == 405, action
    assert served.post(f"{path(topic)}/subscription/s/resetcursor", "latest").refusal[0] == 405
    assert served.post(f"{path(topic)}/subscription/s/resetcursor/0").status == 204
    assert served.delete(path(topic)).refusal[0] == 409


def test_partitions_are_made_with_their_topic_only(served: Served, topic: str) -> None:
    assert served.put(f"{path(topic)}-partition-0").refusal[0] == 412
    assert served.put(f"{path(topic)}-partition-0/partitions", 2).refusal[0] == 412
    served.put(f"{path(topic)}/partitions", 2)
    assert served.put(f"{path(topic)}-partition-1").status == 204
    assert served.put(f"{path(topic)}-partition-2").refusal[0] == 412


@pytest.mark.parametrize(("encoded", "name"), [("s%252F1", "s/1"), ("a%25b", "a%b"), ("a+b", "a+b"), ("%25FF", "%FF")])
def test_a_subscription_may_be_encoded_twice(served: Served, topic: str, encoded: str, name: str) -> None:
    """As by the official Java client; what cannot be decoded once more is meant as it stands."""
    served.put(path(topic))
    at = f"{path(topic)}/subscription"
    assert served.put(f"{at}/{encoded}").status == 204
    assert served.get(f"{path(topic)}/subscriptions").json == [name]
    assert served.get(f"{at}/{encoded}/properties").status == 200
    assert served.delete(f"{at}/{encoded}").status == 204


def test_a_blank_may_come_as_a_plus_sign(served: Served, topic: str) -> None:
    served.put(path(topic))
    assert served.put(f"{path(topic)}/subscription/a%20b").status == 204
    assert served.get(f"{path(topic)}/subscription/a+b/properties").status == 200
