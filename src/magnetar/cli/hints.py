"""What to do next when a broker has refused: by the status, and by the words that Pulsar and Magnetar use."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["hint"]


class _Hint(NamedTuple):
    statuses: tuple[int, ...]
    words: str
    text: str


_HINTS = tuple(
    (statuses, re.compile(words, re.IGNORECASE | re.DOTALL), text)
    for statuses, words, text in (
        _Hint((401, 403), "", "set MAGNETAR_ADMIN_TOKEN to a token that may do this"),
        _Hint((404,), "it is partitioned", "the commands with 'partitioned' in their name take the topic as a whole"),
        _Hint(
            (404,), "has zero partitions|not the partitioned", "'magnetar topics list-partitioned-topics' lists those"
        ),
        _Hint((404,), "subscription", "'magnetar topics subscriptions TOPIC' lists those that there are"),
        _Hint((404,), "namespace", "'magnetar namespaces list TENANT' lists those that there are"),
        _Hint((404,), "tenant", "'magnetar tenants list' lists those that there are"),
        _Hint((404,), "schema", "'magnetar schemas upload' gives the topic one"),
        _Hint((404,), "message", "'magnetar topics stats-internal TOPIC' says which ledgers and entries there are"),
        _Hint((404,), "topic", "'magnetar topics list NAMESPACE' lists those that there are"),
        _Hint((404,), "cluster", "'magnetar brokers list' shows the brokers of the cluster that answers"),
        _Hint((409, 412), "partitioned topic[;,].*delete", "use 'magnetar topics delete-partitioned-topic'"),
        _Hint((409, 412), "connected|active .*consumers", "--force disconnects them first"),
        _Hint((409,), "non empty|still has", "delete what is in it first, or use --force where the broker allows that"),
        _Hint((409,), "running", "'magnetar topics compaction-status TOPIC' says when it is done"),
        _Hint((409,), "incompatible", "'magnetar schemas compatibility' tries a schema without storing it"),
        _Hint((405,), "partitioned", "name one partition: TOPIC-partition-0 and so on"),
        _Hint((503,), "", "the broker's log says what is wrong; 'magnetar brokers healthcheck' says when it is over"),
        _Hint((500,), "", "the broker's own log says more"),
    )
)


def hint(status: int, path: str, reason: str, understood: bool) -> str:
    """A sentence, or nothing where the reason says it all. ``understood``: the broker answered in JSON."""
    if status in (404, 405) and (not understood or "path" in reason.lower()):
        return "this broker does not know the request: it is of another version, or this is not its HTTP address"
    for statuses, words, text in _HINTS:
        if status in statuses and words.search(reason):
            return text
    return ""
