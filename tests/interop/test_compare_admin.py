"""The list of requests that compares brokers, sent to one twice: it answers alike, and nothing is left behind."""

from __future__ import annotations

from tests.support.broker import Broker
from tools.admin_compare.script import REQUESTS, Answer, Line, Run, read
from tools.admin_compare.shape import differences


def carried_out(broker: Broker, lines: list[Line]) -> list[Answer | None]:
    run = Run(broker.admin_url)
    run.start()
    try:
        return [run.do(line) for line in lines]
    finally:
        run.stop()


def test_a_broker_compared_with_itself(broker: Broker) -> None:
    lines = read(REQUESTS.read_text(encoding="utf-8"))
    first, second = carried_out(broker, lines), carried_out(broker, lines)
    for line, one, other in zip(lines, first, second, strict=True):
        assert (one is None) == (other is None) == (line.method == "!"), line
        if one is not None and other is not None:
            assert one.status < 500, (str(line), one.body)
            assert differences(one, other) is None, str(line)
    assert broker.rest("GET", "tenants")[1] == ["public", "pulsar"]
    assert broker.rest("GET", "clusters")[1] == ["standalone"]
