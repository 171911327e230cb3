"""Topics that a broker keeps for itself. Lists leave them out unless they are asked for, and they do not count.

The names are Pulsar's: the change log of topic policies and the stores of transactions. A name that merely begins with
two underscores is a user's own.
"""

from __future__ import annotations

from magnetar.core.names import PARTITION_MARK

__all__ = ["is_system_topic", "is_transaction_topic"]

_LOCAL_NAMES = frozenset(
    (
        "__change_events",
        "__transaction_buffer_snapshot",
        "__transaction_buffer_snapshot_segments",
        "__transaction_buffer_snapshot_indexes",
    )
)
_PENDING_ACKS = "__transaction_pending_ack"
_COORDINATORS = (
    "persistent://pulsar/system/transaction_coordinator_assign",
    "persistent://pulsar/system/__transaction_log_",
)


def is_system_topic(name: str) -> bool:
    """Whether the full name is that of a system topic or of a partition of one."""
    if "__" not in name and not name.startswith(_COORDINATORS):
        return False  # the names of ten thousand topics pass here for one list
    whole = _whole(name)
    return whole.rpartition("/")[2] in _LOCAL_NAMES or is_transaction_topic(whole)


def is_transaction_topic(name: str) -> bool:
    """Whether the full name is one that transactions use. Nobody else may create such a topic."""
    whole = _whole(name)
    return whole.endswith(_PENDING_ACKS) or whole.startswith(_COORDINATORS)


def _whole(name: str) -> str:
    """The name without a partition's suffix."""
    whole, mark, index = name.rpartition(PARTITION_MARK)
    return whole if mark and index.isdigit() else name
