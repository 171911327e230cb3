"""The OpenAPI document is that of the table, it is valid, and the broker answers as it says: schemathesis asks."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from magnetar.admin.openapi import document
from magnetar.admin.routes import ROUTES
from tests.server.admin.conftest import Served
from tests.support.wireclient import SubType
from tools.gen_admin_docs import OPENAPI, PAGE, openapi, page

EXAMPLES = 2
"""Requests made up for each route. The walk with hostile names is the longer one."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]

schema = schemathesis.openapi.from_dict(document())

HOME = "persistent/public/openapi"
REAL: dict[str, Any] = {
    "t": "public",
    "n": "openapi",
    "topic": "there",
    "sub": "s",
    "domain": "persistent",
    "cluster": "standalone",
    "bundle": "0x00000000_0x40000000",
    "name": "maxConsumersPerTopic",
    "value": "7",
    "role": "app",
    "key": "k",
    "entryId": 0,
    "timestamp": 0,
    "messagePosition": 1,
    "version": 0,
    "numMessages": 1,
    "expireTimeInSeconds": 1,
}


def prepare(served: Served) -> dict[str, Any]:
    """What a request with real names finds; whatever an earlier one took away is made again."""
    served.put("namespaces/public/openapi")
    served.put("namespaces/public/openapi/property/k/v")
    topic = f"{HOME}/there"
    there = served.get(f"{topic}/internalStats")
    if there.status != 200 or there.json["state"] != "LedgerOpened" or not there.json["numberOfEntries"]:
        served.delete(f"{topic}?force=true")
        served.delete(f"{topic}/partitions?force=true")
        served.put(topic)
        with served.wire() as wire:
            wire.subscribe("persistent://public/openapi/there", "s", 1, SubType.SHARED)
            wire.producer("persistent://public/openapi/there")
            wire.publish(b"x")
        there = served.get(f"{topic}/internalStats")
    served.put(f"{topic}/subscription/s", "earliest")
    with served.wire() as wire:
        wire.producer("non-persistent://public/openapi/there")
    here = served.get("brokers").json[0]
    return REAL | {"ledgerId": there.json["ledgers"][-1]["ledgerId"], "broker": here}


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_broker_answers_as_the_document_says(served: Served, case: schemathesis.Case) -> None:
    base = f"http://127.0.0.1:{served.http_port}"
    case.call_and_validate(base_url=base, checks=CHECKS)
    real = prepare(served)
    for name in case.path_parameters:
        case.path_parameters[name] = real.get(name, case.path_parameters[name])
    case.call_and_validate(base_url=base, checks=CHECKS)


def test_every_route_is_described() -> None:
    paths = document()["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES if not route.hidden}
    names = [each["operationId"] for methods in paths.values() for each in methods.values()]
    assert len(names) == len(set(names))


def test_references_lead_somewhere() -> None:
    found = document()
    text = json.dumps(found)
    for kind, table in found["components"].items():
        for name in table:
            assert f'"#/components/{kind}/{name}"' in text, name


def test_the_committed_files_are_those_of_the_table() -> None:
    assert OPENAPI.read_text(encoding="utf-8") == openapi(), "run `make docs`"
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"
