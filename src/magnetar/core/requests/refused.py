"""Commands that are understood but not served: each is answered in its own form, so that no client waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magnetar.wire.commands import pb

if TYPE_CHECKING:
    from magnetar.core.broker import Broker
    from magnetar.core.session import Session

__all__ = [
    "add_partition",
    "add_subscription",
    "end_transaction",
    "new_transaction",
    "transaction_coordinator",
]

_TEXT = "transactions are not supported by this broker"


def new_transaction(broker: Broker, session: Session, message: pb.CommandNewTxn) -> None:
    session.reply(
        pb.CommandNewTxnResponse(request_id=message.request_id, error=pb.ServerError.NotAllowedError, message=_TEXT)
    )


def add_partition(broker: Broker, session: Session, message: pb.CommandAddPartitionToTxn) -> None:
    session.reply(
        pb.CommandAddPartitionToTxnResponse(
            request_id=message.request_id, error=pb.ServerError.NotAllowedError, message=_TEXT
        )
    )


def add_subscription(broker: Broker, session: Session, message: pb.CommandAddSubscriptionToTxn) -> None:
    session.reply(
        pb.CommandAddSubscriptionToTxnResponse(
            request_id=message.request_id, error=pb.ServerError.NotAllowedError, message=_TEXT
        )
    )


def end_transaction(broker: Broker, session: Session, message: pb.CommandEndTxn) -> None:
    session.reply(
        pb.CommandEndTxnResponse(request_id=message.request_id, error=pb.ServerError.NotAllowedError, message=_TEXT)
    )


def transaction_coordinator(broker: Broker, session: Session, message: pb.CommandTcClientConnectRequest) -> None:
    session.reply(
        pb.CommandTcClientConnectResponse(
            request_id=message.request_id, error=pb.ServerError.NotAllowedError, message=_TEXT
        )
    )
