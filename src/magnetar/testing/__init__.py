"""For tests of programs that use a broker: a real one, fast to start, in this process or in one of its own.

>>> from magnetar.testing import EmbeddedBroker
>>> with EmbeddedBroker() as broker:
...     client = pulsar.Client(broker.service_url)

The pytest plugin ``magnetar.testing.plugin`` hands such brokers to tests. ``docs/guides/testing.md`` tells the rest.
The names below are imported when they are first used, because pytest loads this package wherever Magnetar is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from magnetar.testing.embedded import EmbeddedBroker, LoopThread
    from magnetar.testing.process import BrokerFailedError, BrokerProcess

__all__ = ["BrokerFailedError", "BrokerProcess", "EmbeddedBroker", "LoopThread"]


def __getattr__(name: str) -> object:
    if name in ("EmbeddedBroker", "LoopThread"):
        from magnetar.testing import embedded

        return getattr(embedded, name)
    if name in ("BrokerFailedError", "BrokerProcess"):
        from magnetar.testing import process

        return getattr(process, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
