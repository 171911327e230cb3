"""What is asked of persistent topics and makes no sense for others, with Pulsar's answers to it.

Where Pulsar fails with an internal error, the answer here is that the request is not allowed.
"""

from __future__ import annotations

from aiohttp import web

from magnetar.admin.answers import Refusal
from magnetar.admin.call import Call, Handler

__all__ = ["REFUSED", "refusing"]

_SUB = "/subscription/{sub}"
_NOT_ALLOWED = "{} on a non-persistent topic is not allowed"
_NEEDS_PERSISTENT = (406, "Need to provide a persistent topic name")


def _not(what: str) -> tuple[int, str]:
    return 405, _NOT_ALLOWED.format(what)


REFUSED: dict[tuple[str, str], tuple[int, str]] = {
    ("PUT", _SUB): (400, "Create subscription on non-persistent topic can only be done through client"),
    ("POST", f"{_SUB}/skip_all"): _not("Skip messages"),
    ("POST", f"{_SUB}/skip/{{numMessages}}"): _not("Skip messages"),
    ("POST", f"{_SUB}/expireMessages"): _not("Expire messages"),
    ("POST", f"{_SUB}/expireMessages/{{expireTimeInSeconds}}"): _not("Expire messages"),
    ("POST", "/all_subscription/expireMessages/{expireTimeInSeconds}"): _not("Expire messages for all subscriptions"),
    ("GET", f"{_SUB}/position/{{messagePosition}}"): _not("Peek messages"),
    ("GET", "/lastMessageId"): _not("GetLastMessageId"),
    ("GET", "/examinemessage"): _not("Examine messages"),
    ("GET", "/messageid/{timestamp}"): _not("Get message ID by timestamp"),
    ("GET", "/ledger/{ledgerId}/entry/{entryId}"): _not("GetMessageById"),
    ("PUT", "/backlogSize"): _not("Get backlog size"),
    ("POST", f"{_SUB}/resetcursor"): _not("Reset-cursor"),
    ("POST", f"{_SUB}/resetcursor/{{timestamp}}"): _not("Reset-cursor"),
    ("POST", f"{_SUB}/analyzeBacklog"): _not("Analyze backlog"),
    ("PUT", f"{_SUB}/properties"): _not("Set properties of a subscription"),
    ("POST", "/trim"): _not("Trim"),
    ("GET", "/internal-info"): _not("Get internal info"),
    ("PUT", "/compaction"): _not("Compaction"),
    ("GET", "/compaction"): _not("Compaction"),
    ("DELETE", "/truncate"): (412, "unsupport truncate"),
    ("POST", "/terminate"): _NEEDS_PERSISTENT,
    ("POST", "/terminate/partitions"): _NEEDS_PERSISTENT,
    ("GET", "/properties"): _NEEDS_PERSISTENT,
    ("PUT", "/properties"): _NEEDS_PERSISTENT,
    ("DELETE", "/properties"): _NEEDS_PERSISTENT,
}
"""By method and the path behind the topic: status and reason."""


def refusing(status: int, reason: str) -> Handler:
    """A handler that refuses, once it is certain that the topic's namespace exists."""

    async def refuse(call: Call) -> web.StreamResponse:
        call.name()
        raise Refusal(status, reason)

    return refuse
