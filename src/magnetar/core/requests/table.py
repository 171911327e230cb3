"""Which function answers which command."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from magnetar.core.requests import connecting, cursors, lookups, producing, refused, schemas, subscribing, watching
from magnetar.errors import MagnetarError
from magnetar.wire.commands import NAMES, decode_body
from magnetar.wire.errors import WireError

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["handle"]

_TABLE: dict[int, Callable[[Broker, Session, Any], None]] = {
    2: connecting.connect,
    4: subscribing.subscribe,
    5: producing.open_producer,
    12: subscribing.unsubscribe,
    15: producing.close_producer,
    16: subscribing.close_consumer,
    21: lookups.partitioned_metadata,
    23: lookups.lookup,
    25: cursors.consumer_stats,
    28: cursors.seek,
    29: cursors.last_message_id,
    32: lookups.topics_of_namespace,
    34: schemas.get_schema,
    37: connecting.auth_response,
    39: schemas.get_or_create_schema,
    50: refused.new_transaction,
    52: refused.add_partition,
    54: refused.add_subscription,
    56: refused.end_transaction,
    62: refused.transaction_coordinator,
    64: watching.watch_topics,
    67: watching.unwatch_topics,
}


def handle(broker: Broker, session: Session, kind: int, data: bytes, start: int, stop: int) -> None:
    """Decode the command and answer it; an error of the catalogue becomes an ERROR of the same request."""
    action = _TABLE.get(kind)
    if action is None:
        raise WireError(f"command {NAMES.get(kind, kind)} is not one that a broker can answer")
    message = decode_body(kind, data, start, stop)
    try:
        action(broker, session, message)
    except MagnetarError as error:
        session.error(message.request_id if hasattr(message, "request_id") else (1 << 64) - 1, error)
