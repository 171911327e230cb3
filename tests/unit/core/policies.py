"""Setting policies in the core as the admin interface does."""

from __future__ import annotations

from typing import Any

from magnetar.core.catalog import NAMESPACES, TOPICS, Row
from tests.support.corebroker import CoreBroker

__all__ = ["set_namespace", "set_topic"]


def set_namespace(broker: CoreBroker, name: str, value: Any) -> None:
    """A policy of public/default."""
    path = NAMESPACES + "public/default"
    broker.core.rows.change(path, lambda row: {**(row or {}), name: value}, False, lambda error: None)
    broker.turn()


def set_topic(broker: CoreBroker, name: str, value: Any, topic: str = "t") -> None:
    """A policy of a topic's own."""

    def change(row: Row | None) -> Row:
        assert row is not None
        return {**row, "policies": {**row.get("policies", {}), name: value}}

    broker.core.rows.change(TOPICS + broker.topic(topic).name.path, change, False, lambda error: None)
    broker.turn()
