"""Findings as plain sentences, made of nothing but the JSON that the broker gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["MESSAGES_SHOWN", "RELEASES", "Fields", "counted", "key_text", "sentence", "span"]

Fields = dict[str, Any]

MESSAGES_SHOWN = 5


def span(ms: int) -> str:
    """A length of time as a person would say it."""
    seconds = max(ms, 0) / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    if seconds < 48 * 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    return f"{int(seconds // 86400)} days"


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _names(finding: Fields) -> str:
    names = [str(name) for name in finding.get("consumers", [])]
    more = finding.get("consumerCount", 0) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _is_are(finding: Fields, verb: str, verbs: str) -> str:
    return verb if finding.get("consumerCount", 0) == 1 else verbs


def key_text(fields: Fields) -> str:
    if "key" in fields:
        return repr(fields["key"])
    return f"base64 {fields['keyB64']}" if "keyB64" in fields else ""


def _messages(finding: Fields) -> str:
    """The messages of a finding, with their keys where they are known."""
    shown = []
    for message in finding.get("messages", [])[:MESSAGES_SHOWN]:
        key = key_text(message)
        shown.append(message["messageId"] + (f" of {key}" if key else ""))
    more = finding.get("messageCount", 0) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _since(finding: Fields, now_ms: int) -> str:
    return f", for {span(now_ms - finding['sinceTimestamp'])} now" if finding.get("sinceTimestamp") else ""


def _behind(finding: Fields) -> str:
    waiting = finding.get("waiting", 0)
    return f"; {counted(waiting, 'entry', 'entries')} {'waits' if waiting == 1 else 'wait'} behind" if waiting else ""


def _until(finding: Fields, now_ms: int) -> str:
    return f" for another {span(finding.get('untilTimestamp', now_ms) - now_ms)}"


def _draining(f: Fields, now: int) -> str:
    held = counted(f["messageCount"], "entry", "entries")
    sent = f", the oldest of them sent {span(now - f['sentTimestamp'])} ago" if f.get("sentTimestamp") else ""
    whose = (
        "of a key that belongs to another consumer by now"
        if f.get("keys", 1) == 1
        else (f"of {f['keys']:,} keys that belong to other consumers by now")
    )
    return f"{_names(f)} holds {held} ({_messages(f)}) {whose}{_since(f, now)}{sent}{_behind(f)}"


def _limit(f: Fields, now: int) -> str:
    return (
        f"{_names(f)} {_is_are(f, 'has', 'have')} {counted(f.get('messageCount', 0), 'unacknowledged message')}"
        f" and {_is_are(f, 'gets', 'get')} no more; the limit for one consumer is {f.get('limit', 0):,}"
    )


def _subscription_limit(f: Fields, now: int) -> str:
    count = counted(f["messageCount"], "unacknowledged message")
    return f"the subscription has {count} and gets no more; its limit is {f['limit']:,}"


def _acks(f: Fields, now: int) -> str:
    if not f.get("consumers"):
        return "everything of it was sent, and has not been acknowledged"
    sent = f", since {span(now - f['sentTimestamp'])}" if f.get("sentTimestamp") else ""
    count = counted(f["messageCount"], "entry is", "entries are")
    first = _messages({"messages": f["messages"]})
    return f"everything was sent; {count} not acknowledged by {_names(f)}{sent}, the first is {first}"


def _nacked(f: Fields, now: int) -> str:
    keys = "the key is" if f.get("keys", 1) == 1 else f"{f['keys']:,} keys are"
    return f"{keys} held in order, because messages were given back: {_messages(f)}{_behind(f)}"


def _finishing(f: Fields, now: int) -> str:
    held = counted(f.get("messageCount", 0), "entry", "entries")
    return f"{_names(f)} finishes {held} before {f.get('reason')} takes over,{_until(f, now)} at most{_behind(f)}"


_SAID: dict[str, Callable[[Fields, int], str]] = {
    "DELETED": lambda f, now: "the subscription is deleted",
    "CURSOR_MOVING": lambda f, now: "the cursor is being moved; nothing is sent until the new place is durable",
    "LOG_FAILING": lambda f, now: f"the log cannot be written, so publishing and acknowledging fail: {f.get('reason')}",
    "NO_CONSUMER": lambda f, now: f"no consumer is connected{_behind(f)}",
    "HANDOVER_DRAIN": _finishing,
    "HANDOVER_DELAY": lambda f, now: f"{_names(f)} takes over and is served after a delay{_until(f, now)}{_behind(f)}",
    "SUBSCRIPTION_UNACKED_LIMIT": _subscription_limit,
    "CONSUMER_UNACKED_LIMIT": _limit,
    "CONNECTION_SLOW": lambda f, now: (
        f"{_names(f)} {_is_are(f, 'does', 'do')} not read what was sent on the connection"
    ),
    "NO_PERMITS": lambda f, now: f"{_names(f)} {_is_are(f, 'has', 'have')} not asked for more{_since(f, now)}",
    "DELAYED": lambda f, now: (
        f"{counted(f['messageCount'], 'message waits for its', 'messages wait for their')} time, "
        f"the next in {span(f.get('untilTimestamp', now) - now)}"
    ),
    "LOG_READ_FAILING": lambda f, now: f"{_messages(f)} cannot be read from the log: {f.get('reason')}",
    "LOOK_AHEAD_FULL": lambda f, now: (
        f"{f['waiting']:,} entries wait for their keys, and {f['limit']:,} is how far reading goes ahead"
    ),
    "DRAINING": _draining,
    "SLOT_DRAINING": lambda f, now: (
        f"another key of the same slot is held by a consumer that no longer owns it{_since(f, now)}, and so many keys"
        f" drain that they are not told apart{_behind(f)}"
    ),
    "NACK_ORDER": _nacked,
    "UNBLOCKING": lambda f, now: f"the drain is over; {counted(f['keys'], 'key')} will be served{_until(f, now)[4:]}",
    "SLOT_UNCOVERED": lambda f, now: f"no consumer has named the range of {counted(f['slots'], 'slot')}{_behind(f)}",
    "RECENTLY_JOINED": lambda f, now: (
        f"{_names(f)} joined while messages were out, and gets nothing newer until {_messages(f)} is acknowledged"
    ),
    "CHUNKS_PARKED": lambda f, now: f"the rest of a large message waits for {_names(f)}: {_messages(f)}{_behind(f)}",
    "LOG_READ": lambda f, now: f"{_messages(f)} and what follows is being read from the log",
    "LOG_WRITE": lambda f, now: f"{counted(f['messageCount'], 'entry', 'entries')} published, not synced yet",
    "WAITING_FOR_ACKS": _acks,
    "TERMINATED": lambda f, now: "the topic was terminated, and everything in it was delivered and acknowledged",
    "ACK_STATE_PAUSE": lambda f, now: (
        f"nothing is sent while acknowledgements cannot be made durable ({f.get('reason')})"
    ),
    "DISPATCH_RATE": lambda f, now: f"nothing is sent{_until(f, now)}, to keep to a rate: {f.get('reason')}",
    "BACKLOG_QUOTA": lambda f, now: f"producers are kept away by a backlog quota: {f.get('reason')}",
    "PUBLISH_RATE": lambda f, now: f"producers are held back{_until(f, now)}, to keep to a rate: {f.get('reason')}",
    "NOTHING_TO_DELIVER": lambda f, now: "everything in the topic was delivered and acknowledged",
    "NOT_KEYED": lambda f, now: "this type of subscription does not look at keys",
    "READY": lambda f, now: "nothing is in the way",
}

RELEASES = ("DRAINING", "CONSUMER_UNACKED_LIMIT", "CONNECTION_SLOW")
"""The codes that disconnecting the consumer ends."""


def sentence(finding: Fields, now_ms: int) -> str:
    """What the finding says; one of a code that is not known here is shown as it came."""
    said = _SAID.get(finding["code"])
    if said is not None:
        return said(finding, now_ms)
    return str({name: value for name, value in finding.items() if name not in ("code", "freedBy")})
