"""Topics that a broker keeps for itself. Lists leave them out unless they are asked for, and they do not count.

The names are Pulsar's: the change log of topic policies, the stores of transactions, and everything in the namespace
``pulsar/system``. A name that merely begins with two underscores is a user's own.
"""

from __future__ import annotations

from magnetar.core.names import PARTITION_MARK

__all__ = ["SYSTEM_NAMESPACE", "is_system_topic"]

SYSTEM_NAMESPACE = "pulsar/system"

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
    whole, mark, index = name.rpartition(PARTITION_MARK)
    if not mark or not index.isdigit():
        whole = name
    if whole.rpartition("/")[2] in _LOCAL_NAMES or whole.endswith(_PENDING_ACKS):
        return True
    return whole.startswith(_COORDINATORS)
