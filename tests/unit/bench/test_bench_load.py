"""The load against a small broker over real sockets: it counts right, and notices every lie."""

import json
from typing import cast

import pytest

from bench import load
from bench.consume import run_consume
from bench.consumers import ConsumePlan
from bench.latency import LatencyPlan, run_latency
from bench.publish import PublishPlan, run_publish
from bench.runner import LoadProcess, together
from bench.session import BrokerError, Session
from bench.topics import open_topics
from tests.unit.bench.small_broker import SmallBroker, serving


def publish(
    broker: SmallBroker, messages: int = 300, batch: int = 1, window: int = 2000, topics: int = 1, connections: int = 1
) -> dict[str, object]:
    with serving(broker) as address:
        plan = PublishPlan(address, "topic", messages, 100, batch, window, topics, connections, timeout_s=1.0)
        return dict(run_publish(plan))


def consume(broker: SmallBroker, messages: int = 300, batch: int = 1) -> list[str]:
    broker.silent_after, silent_after = 1 << 40, broker.silent_after
    with serving(broker) as address:
        assert run_publish(PublishPlan(address, "topic", messages, batch=batch))["errors"] == []
        broker.silent_after = silent_after
        report = run_consume(ConsumePlan(address, "topic", messages, batch=batch, timeout_s=1.0, kind="exclusive"))
    return cast(list[str], report["errors"])


def test_publish_counts_every_receipt() -> None:
    broker = SmallBroker()
    report = publish(broker, 3000, window=100, topics=3, connections=2)
    assert (report["errors"], report["messages"], len(broker.entries)) == ([], 3000, 3000)
    assert cast(float, report["p99_ms"]) >= cast(float, report["p50_ms"]) > 0


def test_publish_of_batches_counts_messages() -> None:
    broker = SmallBroker()
    report = publish(broker, 3000, batch=100)
    assert (report["errors"], report["messages"], len(broker.entries)) == ([], 3000, 30)


def test_publish_notices_a_lost_receipt() -> None:
    assert publish(SmallBroker(drop_receipt=17))["errors"] == ["no answer in 1 s: 299 of 300 receipts"]


def test_publish_reports_a_refusal() -> None:
    assert "send error 3: no room" in cast(list[str], publish(SmallBroker(refuse_send=5))["errors"])


@pytest.mark.parametrize("batch", [1, 10])
def test_consume_proves_that_all_came_and_were_acknowledged(batch: int) -> None:
    broker = SmallBroker()
    assert consume(broker, batch=batch) == []
    assert broker.acked == set(range(300 // batch))


def test_consume_notices_a_lost_message() -> None:
    errors = consume(SmallBroker(lose_delivery=9))
    assert errors[1:] == ["1 missing"]
    assert "299 of 300" in errors[0]


def test_consume_notices_a_message_that_comes_twice() -> None:
    assert consume(SmallBroker(repeat_delivery=9)) == ["1 delivered twice"]


def test_consume_notices_a_spoilt_batch() -> None:
    assert consume(SmallBroker(spoil_delivery=2), batch=10) == ["1 checksums wrong"]


def test_consume_notices_forgotten_acknowledgements() -> None:
    assert consume(SmallBroker(forget_acks=True)) == ["300 acknowledged entries were delivered again"]


def test_consume_gives_up_on_a_silent_broker() -> None:
    errors = consume(SmallBroker(silent_after=100))
    assert "100 of 300" in errors[0]


def test_latency_stamps_every_message() -> None:
    with serving(SmallBroker()) as address:
        report = run_latency(LatencyPlan(address, "topic", rate=1000, duration_s=0.2))
    assert (report["errors"], report["messages"]) == ([], 200)
    assert cast(float, report["max_ms"]) >= cast(float, report["p50_ms"]) > 0


def test_many_topics_are_opened() -> None:
    with serving(SmallBroker()) as address, Session(address) as session:
        assert open_topics(session, "many", 120, 10.0) > 0


def test_a_session_says_who_is_not_there() -> None:
    with serving(SmallBroker()) as address:
        pass
    with pytest.raises(BrokerError, match="cannot connect"):
        Session(address)


def test_the_command_prints_one_line_and_says_by_its_code_that_all_went_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving(SmallBroker()) as address:
        assert load.main(["publish", address, "--n", "200"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 200
    assert load.main(["publish", address, "--n", "200"]) == 1
    assert "cannot connect" in json.loads(capsys.readouterr().out)["errors"][0]


def test_loads_in_processes_start_together_and_report() -> None:
    broker = SmallBroker()
    started: list[int] = []
    with serving(broker) as address:
        loads = [
            LoadProcess("publish", address, ["--topic", name, "--n", 1000, "--timeout", 10], 10.0) for name in "ab"
        ]
        reply = together(loads, lambda: started.append(len(broker.entries)))
    assert (reply["errors"], reply["messages"], started, len(broker.entries)) == ([], 1000, [0], 2000)


def test_a_load_that_cannot_connect_is_reported_not_waited_for() -> None:
    with serving(SmallBroker()) as address:
        pass
    reply = together([LoadProcess("publish", address, ["--n", 10, "--timeout", 5], 5.0)])
    assert reply["messages"] == 0
    assert "cannot connect" in reply["errors"][0]
