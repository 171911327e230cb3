"""The one screen of ``magnetar explain``: the key, the findings, figures, consumers, and what happened lately."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from magnetar.cli.explain_selector import selector_lines
from magnetar.cli.explain_text import MESSAGES_SHOWN, RELEASES, Fields, counted, key_text, sentence, span

__all__ = ["explanation", "history_lines"]

CONSUMERS_SHOWN = 10
COLUMNS = 110
_NAME_WIDTH = 24


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _lines(finding: Fields, now_ms: int, release: Callable[[str], str]) -> list[str]:
    found = _wrapped(f"{finding['code']}: {sentence(finding, now_ms)}.", "  ")
    found += _wrapped(f"  What frees it: {finding['freedBy']}.", "    ")
    names = finding.get("consumers", [])
    if finding["code"] in RELEASES and names:
        found.append(f"  To disconnect it: {release(names[0])}")
    return found


def explanation(answer: Fields, release: Callable[[str], str]) -> list[str]:
    """The lines of one screen; ``release`` makes the command that disconnects a consumer."""
    now_ms, key = answer["timestamp"], answer.get("key")
    kind = answer["type"] or "no consumer so far"
    found = [f"{answer['topic']}, subscription {answer['subscription']} ({kind})"]
    if key is not None:
        found += ["", *_key_lines(key, now_ms, release)]
    found += [""]
    for finding in answer["findings"]:
        found += _lines(finding, now_ms, release)
    found += ["", *_figures(answer, now_ms), *selector_lines(answer)]
    return found


def _key_lines(key: Fields, now_ms: int, release: Callable[[str], str]) -> list[str]:
    owner, after = key["owner"] or "nobody", key["ownerAfterDrain"] or "nobody"
    whose = f"belongs to {owner}" if owner == after else f"is at {owner} now and goes to {after} after the drain"
    found = [f"Key {key_text(key)}: slot {key['slot']}, {whose}."]
    if key["heldCount"]:
        ids = _some(key["heldMessages"], key["heldCount"])
        age = span(now_ms - key["sentTimestamp"])
        found.append(f"  {key['heldBy']} holds {ids}, the oldest since {age}.")
    if key["waitingCount"]:
        found.append(f"  Waiting: {_some(key['waitingMessages'], key['waitingCount'])}.")
    for finding in key["findings"]:
        found += [f"  {line}" for line in _lines(finding, now_ms, release)]
    return found


def _some(ids: list[str], count: int) -> str:
    shown = ids[:MESSAGES_SHOWN]
    more = count - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _figures(answer: Fields, now_ms: int) -> list[str]:
    active = f", active is {answer['activeConsumerName']}" if answer.get("activeConsumerName") else ""
    backlog = (
        f"Backlog {counted(answer['msgBacklog'], 'entry', 'entries')}, {answer['msgInReplay']:,} of them waiting,"
        f" {answer['unreadEntries']:,} not looked at yet; {answer['unackedMessages']:,} messages unacknowledged;"
        f" {counted(answer['consumerCount'], 'consumer')}{active}"
    )
    found = [backlog]
    if answer["consumers"]:
        found.append(
            f"  {'consumer':{_NAME_WIDTH}} {'permits':>8} {'unacked':>8} {'oldest':>12} {'last ack':>12} {'slots':>6}"
        )
    for one in answer["consumers"][:CONSUMERS_SHOWN]:
        oldest = span(now_ms - one["oldestSentTimestamp"]) if one["oldestSentTimestamp"] else "-"
        acked = span(now_ms - one["lastAckedTimestamp"]) if one["lastAckedTimestamp"] else "-"
        marks = [
            word
            for word, name in (("blocked", "blockedConsumerOnUnackedMsgs"), ("slow", "connectionSlow"))
            if one[name]
        ]
        found.append(
            f"  {one['consumerName']:{_NAME_WIDTH}} {one['availablePermits']:>8} {one['unackedMessages']:>8}"
            f" {oldest:>12} {acked:>12} {one['slots'] or '-':>6} {' '.join(marks)}".rstrip()
        )
    more = answer["consumerCount"] - CONSUMERS_SHOWN
    if more > 0:
        found.append(f"  and {more} more")
    return found


_HAPPENED: dict[str, str] = {
    "joined": "{name} joined",
    "left": "{name} left",
    "active": "{name} is active",
    "finishing": "{name} is to be active, when the other has finished",
    "drained": "the drain is over, it took {lasted}",
    "leasedOut": "{name} held a drain for too long and is disconnected",
    "disconnected": "{name} is disconnected by an operator",
    "selector": "another selector shares out the slots",
    "rebalanced": "slots were moved between consumers that stay",
}


def history_lines(events: list[Fields], now_ms: int) -> list[str]:
    """What happened, oldest first."""
    found = ["", "Lately:"] if events else ["", "Nothing has happened to it since the broker started."]
    for event in events:
        text = _HAPPENED.get(event["what"], str(event["what"])).format(
            name=event.get("consumerName", ""), lasted=span(event.get("lastedMillis", 0))
        )
        details = [
            f"{event[name]:,} {words}"
            for name, words in (
                ("heldEntries", "entries held"),
                ("slotsMoved", "slots moved"),
                ("drainingHashesCount", "slots drain"),
            )
            if event.get(name)
        ]
        if event.get("reason"):
            details.append(event["reason"])
        ago = span(now_ms - event["timestamp"])
        found.append(f"  {ago:>12} ago  {text}" + (f": {', '.join(details)}" if details else ""))
    return found
