"""Skip, clear and expire: what they acknowledge, what they answer, and that a key stays with who holds it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.server.admin.conftest import Served, path
from tests.support.wireclient import Command, Delivery, Id, SubType, WireClient

HOUR_MS = 3_600_000
ALL_KEYS = [f"k{n}" for n in range(30)]


def publish(wire: WireClient, topic: str, count: int, age_ms: int = 0, producer_id: int = 1) -> list[Id]:
    wire.producer(topic, producer_id)
    at = int(time.time() * 1000) - age_ms
    ids = [wire.publish(b"%d" % n, n, producer_id, metadata={3: at}) for n in range(count)]
    wire.close_producer(producer_id)
    return ids


def sub_of(served: Served, topic: str, name: str = "s") -> dict[str, int]:
    found: dict[str, int] = served.get(f"{path(topic)}/stats").json["subscriptions"][name]
    return found


def at(topic: str, what: str, sub: str = "s") -> str:
    return f"{path(topic)}/subscription/{sub}/{what}"


def numbers(got: list[Delivery]) -> list[bytes]:
    return [delivery.body for delivery in got]


def test_skip_leaves_out_what_is_acknowledged_and_stops_at_the_end(
    served: Served, wire: WireClient, topic: str
) -> None:
    wire.subscribe(topic, "s", 1, SubType.SHARED)
    wire.flow(1, 100)
    ids = publish(wire, topic, 300)
    wire.messages(100)
    wire.ack(1, ids[1:90], request=True)
    assert served.post(at(topic, "skip/3")).status == 204
    assert sub_of(served, topic)["msgBacklog"] == 300 - 89 - 3
    assert served.post(at(topic, "skip/0")).status == 204
    cursor = served.get(f"{path(topic)}/internalStats").json["cursors"]["s"]
    assert cursor["markDeletePosition"] == f"{ids[91].ledger}:{ids[91].entry}"
    wire.flow(1, 300)
    assert numbers(wire.messages(2)) == [b"100", b"101"]
    assert served.post(at(topic, "skip/100000")).status == 204
    assert (sub_of(served, topic)["msgBacklog"], sub_of(served, topic)["unackedMessages"]) == (0, 0)


def test_clear_gives_up_the_backlog_of_all_partitions(served: Served, wire: WireClient, topic: str) -> None:
    assert served.put(f"{path(topic)}/partitions", 2).status == 204
    for index in range(2):
        wire.subscribe(f"{topic}-partition-{index}", "s", 1 + index)
        publish(wire, f"{topic}-partition-{index}", 5)
    assert served.post(at(topic, "skip_all")).status == 204
    for index in range(2):
        assert sub_of(served, f"{topic}-partition-{index}")["msgBacklog"] == 0
    assert served.post(at(topic, "skip/1")).refusal == (405, "Skip messages on a partitioned topic is not allowed")
    assert served.post(at(topic, "expireMessages"), {"ledgerId": 1, "entryId": 1}).refusal[0] == 405
    assert served.post(at(topic, "expireMessages/0")).status == 409


def test_what_is_not_there_or_no_number_is_refused(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1)
    reason = f"Subscription no not found for topic {topic}"
    for what in ("skip/1", "skip_all", "expireMessages/1"):
        assert served.post(at(topic, what, "no")).refusal == (404, reason)
    assert served.post(at(topic, "expireMessages", "no"), {"ledgerId": 1, "entryId": 1}).refusal == (404, reason)
    for number in ("x", "-1", str(1 << 31), "1.5"):
        assert served.post(at(topic, f"skip/{number}")).status == 404
        assert served.post(at(topic, f"expireMessages/{number}")).status == 404
    assert served.post(at(topic, "expireMessages")).status == 412


def test_expiry_takes_what_is_old(served: Served, wire: WireClient, topic: str) -> None:
    for number, name in enumerate(("s", "other"), 1):
        wire.subscribe(topic, name, number)
    publish(wire, topic, 4, HOUR_MS)
    publish(wire, topic, 3)
    assert served.post(at(topic, "expireMessages/7200")).refusal[0] == 409, "nothing is that old"
    assert served.post(at(topic, "expireMessages/60")).status == 204
    sub = sub_of(served, topic)
    assert (sub["msgBacklog"], sub["msgExpired"], sub["totalMsgExpired"]) == (3, 4, 4)
    assert sub["lastExpireTimestamp"] > 0
    status, reason = served.post(f"{path(topic)}/all_subscription/expireMessages/60").refusal
    assert status == 409
    assert reason.startswith(f"Expire message by timestamp not issued on topic {topic}: s has")
    assert sub_of(served, topic, "other")["msgBacklog"] == 3, "the other one was expired nevertheless"


def test_expiry_without_consumers_is_done_even_if_nothing_is_old(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1)
    publish(wire, topic, 2)
    wire.close_consumer(1)
    assert served.post(at(topic, "expireMessages/60")).status == 204
    assert sub_of(served, topic)["msgBacklog"] == 2


def test_expiry_up_to_a_message(served: Served, wire: WireClient, topic: str) -> None:
    wire.subscribe(topic, "s", 1)
    ids = publish(wire, topic, 6)

    def expire(entry: int, excluded: bool = False) -> int:
        body = {"ledgerId": ids[0].ledger, "entryId": entry, "isExcluded": excluded}
        return served.post(at(topic, "expireMessages"), body).status

    assert expire(1) == 204
    assert sub_of(served, topic)["msgBacklog"] == 4
    assert expire(3, excluded=True) == 204
    assert sub_of(served, topic)["msgBacklog"] == 3
    assert expire(2) == 204, "it is acknowledged, as was asked"
    assert expire(6) == 409, "the topic ends before it"
    assert expire(5) == 204
    assert sub_of(served, topic)["totalMsgExpired"] == 6


Clearing = Callable[[Served, str, Id], int]
CLEARINGS: dict[str, Clearing] = {
    "skip": lambda served, topic, last: served.post(at(topic, "skip/30")).status,
    "clear": lambda served, topic, last: served.post(at(topic, "skip_all")).status,
    "expire": lambda served, topic, last: served.post(at(topic, "expireMessages/60")).status,
    "expire-to": lambda served, topic, last: (
        served.post(at(topic, "expireMessages"), {"ledgerId": last.ledger, "entryId": last.entry}).status
    ),
}


@pytest.mark.parametrize("clearing", CLEARINGS)
def test_d1_11_a_drain_survives_skip_clear_and_expiry(
    served: Served, wire: WireClient, topic: str, clearing: str
) -> None:
    wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="first")
    wire.flow(1, 1000)
    wire.producer(topic)
    old = int(time.time() * 1000) - HOUR_MS
    for n, key in enumerate(ALL_KEYS):
        last = wire.publish(b"held", n, key=key, metadata={3: old})
    held = wire.messages(30, 1)
    wire.subscribe(topic, "s", 2, SubType.KEY_SHARED, name="second")
    wire.flow(2, 1000)
    draining = sub_of(served, topic)["drainingHashesCount"]
    assert draining > 0
    assert CLEARINGS[clearing](served, topic, last) == 204
    sub = sub_of(served, topic)
    assert (sub["msgBacklog"], sub["unackedMessages"], sub["drainingHashesCount"]) == (0, 30, draining)
    for n, key in enumerate(ALL_KEYS, 30):
        wire.publish(b"next", n, key=key)
    waiting = sub_of(served, topic)["msgInReplay"]
    first = list(wire.delivered())
    assert waiting + len(first) == 30
    assert {delivery.consumer_id for delivery in first} == {1}, "the second one got a key that the first one holds"
    wire.ack(1, [delivery.id for delivery in held], request=True)
    assert [delivery.body for delivery in wire.messages(waiting, 2)] == [b"next"] * waiting
    assert sub_of(served, topic)["drainingHashesCount"] == 0


def test_a_consumer_is_disconnected_and_its_messages_go_on_in_order(
    served: Served, wire: WireClient, topic: str
) -> None:
    wire.subscribe(topic, "s", 1, SubType.KEY_SHARED, name="stuck/one")
    wire.flow(1, 1000)
    wire.producer(topic)
    for n in range(60):
        wire.publish(b"%d" % n, n, key=ALL_KEYS[n % 5])
    wire.messages(60, 1)
    wire.subscribe(topic, "s", 2, SubType.KEY_SHARED, name="second")
    wire.flow(2, 1000)
    there = at(topic, "consumer/stuck%2Fone/disconnect")
    assert served.post(there).status == 204
    assert wire.expect(Command.CLOSE_CONSUMER).fields.num(1) == 1
    assert numbers(wire.messages(60, 2)) == [b"%d" % n for n in range(60)]
    assert served.post(there).refusal == (
        404,
        f"Consumer stuck/one is not connected to subscription s of {topic}",
    )
