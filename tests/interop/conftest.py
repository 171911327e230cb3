"""The official Python client, unmodified, against a broker.

The broker is one of ours, started once for each test module, unless `MAGNETAR_TEST_URL` (and `MAGNETAR_TEST_ADMIN_URL`)
name another: the same tests are run against Apache Pulsar that way. Modules that change settings or restart the broker
use `own_broker` and say which settings they want in a module variable `SETTINGS`.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Iterator

import pulsar
import pytest

from tests.support.broker import Broker, StartedBroker, started_broker
from tests.support.wireclient import WireClient

ClientFactory = Callable[..., pulsar.Client]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker that nobody restarts."""
    service_url = os.environ.get("MAGNETAR_TEST_URL")
    if service_url:
        yield Broker(service_url, os.environ["MAGNETAR_TEST_ADMIN_URL"])
        return
    with started_broker() as started:
        yield started


@pytest.fixture(scope="module")
def own_broker(request: pytest.FixtureRequest) -> Iterator[StartedBroker]:
    """A broker that belongs to the test module, with the settings the module asks for."""
    with started_broker(getattr(request.module, "SETTINGS", {})) as started:
        yield started


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name nobody else uses, which still tells the test it belongs to."""
    readable = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower()).strip("-")
    readable = readable.replace("partition", "part")  # a name with "-partition-" in it is that of a partition
    return f"persistent://public/default/{readable}-{secrets.token_hex(4)}"


@pytest.fixture
def new_client() -> Iterator[ClientFactory]:
    """Make clients for a service URL; all are closed after the test."""
    made: list[pulsar.Client] = []

    def make(service_url: str) -> pulsar.Client:
        client = pulsar.Client(
            service_url, operation_timeout_seconds=20, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
        )
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(broker: Broker, new_client: ClientFactory) -> pulsar.Client:
    """A client of the broker."""
    return new_client(broker.service_url)


@pytest.fixture
def own_client(own_broker: StartedBroker, new_client: ClientFactory) -> pulsar.Client:
    """A client of the broker that belongs to the module."""
    return new_client(own_broker.service_url)


@pytest.fixture
def wire(broker: Broker) -> Iterator[WireClient]:
    """A raw connection for what the wheel does not offer."""
    with broker.wire() as opened:
        yield opened
