"""The handshake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.errors import TooManyRequests
from magnetar.wire.commands import pb
from magnetar.wire.errors import WireError

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = ["PROTOCOL_VERSION", "auth_response", "connect"]

PROTOCOL_VERSION = 21
ENTRY_METADATA_VERSION = 18
"""From this version of the protocol on clients can read broker entry metadata."""


def connect(broker: Broker, session: Session, message: pb.CommandConnect) -> None:
    """CONNECT: the session is open from here on."""
    if session.connected:
        raise WireError("CONNECT came twice on one connection")
    most = broker.options.max_connections
    if most and len(broker.sessions) > most:
        session.refuse(TooManyRequests(f"the broker has its {most} connections (brokerMaxConnections); try later"))
        return
    session.connected = True
    session.client_version = message.client_version
    session.protocol_version = min(PROTOCOL_VERSION, message.protocol_version)
    session.partial_producers = message.feature_flags.supports_partial_producer
    asked = message.feature_flags.supports_broker_entry_metadata
    knows = message.protocol_version >= ENTRY_METADATA_VERSION
    session.entry_metadata = asked and knows and broker.options.entry_metadata_exposed
    answer = pb.CommandConnected(
        server_version=broker.options.server_version,
        protocol_version=session.protocol_version,
        max_message_size=broker.options.max_message_bytes,
    )
    answer.feature_flags.supports_get_partitioned_metadata_without_auto_creation = True
    answer.feature_flags.supports_topic_watchers = broker.options.topic_watchers
    answer.feature_flags.supports_topic_watcher_reconcile = broker.options.topic_watchers
    session.reply(answer)


def auth_response(broker: Broker, session: Session, message: pb.CommandAuthResponse) -> None:
    """AUTH_RESPONSE: nobody was challenged, so nothing is expected; clients that refresh anyway are left alone."""
