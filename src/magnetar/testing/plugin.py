"""The pytest plugin: a broker for each test, by asking for it.

    def test_it(magnetar_url):
        client = pulsar.Client(magnetar_url)

``magnetar_broker`` is an ``EmbeddedBroker`` in memory, fresh for every test that asks; ``magnetar_url`` and
``magnetar_admin_url`` are its addresses. A mark gives it settings, named as in broker.conf:

    @pytest.mark.magnetar(defaultNumPartitions=4, allowAutoTopicCreationType="partitioned")

The brokers of a session share one thread, started with the first of them. pytest loads this module wherever Magnetar is
installed, so nothing of the broker is imported before a test wants it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from magnetar.testing.embedded import EmbeddedBroker, LoopThread

__all__ = ["magnetar_admin_url", "magnetar_broker", "magnetar_url"]


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known, for those who let pytest refuse unknown ones."""
    config.addinivalue_line("markers", "magnetar(**settings): settings of the test's broker, named as in broker.conf")


@pytest.fixture(scope="session")
def _magnetar_loop() -> Iterator[LoopThread]:
    from magnetar.testing.embedded import LoopThread

    loop = LoopThread()
    yield loop
    loop.close()


@pytest.fixture
def magnetar_broker(_magnetar_loop: LoopThread, request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """A fresh broker in memory, which answers at ``.service_url`` and ``.admin_url`` until the test ends."""
    from magnetar.testing.embedded import EmbeddedBroker

    settings = {}
    # The mark nearest to the test comes first; it is the one that counts.
    for mark in reversed(list(request.node.iter_markers("magnetar"))):
        settings.update(mark.kwargs)
    with EmbeddedBroker(settings=settings, loop=_magnetar_loop) as broker:
        yield broker


@pytest.fixture
def magnetar_url(magnetar_broker: EmbeddedBroker) -> str:
    """The service URL of the test's broker."""
    return magnetar_broker.service_url


@pytest.fixture
def magnetar_admin_url(magnetar_broker: EmbeddedBroker) -> str:
    """The admin URL of the test's broker."""
    return magnetar_broker.admin_url
