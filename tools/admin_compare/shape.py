"""What two answers differ in: status, reason, and the names and types of what they hold; values may be any."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tools.admin_compare.script import Answer

__all__ = ["RULES", "Difference", "differences", "rule_of"]

RULES = {
    "empty": "Success without anything to say, or nothing is set: Pulsar answers with an empty body and 200 or 204, "
    "depending on the route; here it is always 204.",
    "page": "Same status; Pulsar sends a page for browsers, or bare text, where here it is JSON with a reason.",
    "more": "Status and reason are the same, and behind Pulsar's reason stands what to do next.",
    "failed": "Pulsar fails (500, with a trace of its stack) at what is the caller's mistake; here it is refused with "
    "a reason.",
}
"""Differences of the same kind in many places."""

_ADDRESS = re.compile(r"127\.0\.0\.1:\d+|localhost:\d+")
_NAMED = re.compile(r"\d+$|(?:non-)?persistent://|.*0x[0-9a-f]+_0x|[\w-]+/[\w.:-]+$")
"""Names in an object that are data: what is below them is compared as a list is."""
_MOST = 8


class Difference(NamedTuple):
    """How two answers to the same request differ."""

    theirs: str
    ours: str
    rule: str
    """The name of a rule that explains it, or nothing."""


def rule_of(theirs: Answer, ours: Answer) -> str:
    """The rule that covers how they differ."""
    fine = theirs.status < 300 and ours.status < 300
    if fine and theirs.status != ours.status and not theirs.body and not ours.body:
        return "empty"
    if theirs.status == ours.status >= 400 and theirs.reason is None and ours.reason:
        return "page"
    if theirs.status == ours.status and theirs.reason and ours.reason and _more(theirs.reason, ours.reason):
        return "more"
    if theirs.status == 500 and 400 <= ours.status < 500:
        return "failed"
    return ""


def _more(theirs: str, ours: str) -> bool:
    return _plain(theirs) != _plain(ours) and _plain(ours).startswith(_plain(theirs))


def differences(theirs: Answer, ours: Answer) -> Difference | None:
    """None when they say the same."""
    rule = rule_of(theirs, ours)
    if theirs.status != ours.status:
        return Difference(_said(theirs), _said(ours), rule)
    if rule:
        return Difference(_said(theirs), _said(ours), rule)
    if theirs.status >= 400:
        if _plain(theirs.reason or "") != _plain(ours.reason or ""):
            return Difference(_said(theirs), _said(ours), "")
        return None
    found = _compare("", _shape(theirs.json), _shape(ours.json)) if theirs.body or ours.body else []
    found += _headers(theirs, ours)
    if not found:
        return None
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return Difference(str(theirs.status), f"{ours.status}: " + _plain("; ".join(found[:_MOST])) + more, "")


def _plain(text: str) -> str:
    return _ADDRESS.sub("HOST:PORT", text)


def _said(answer: Answer) -> str:
    text = (
        answer.reason
        if answer.reason is not None
        else ""
        if answer.status < 300 or b"<html" in answer.body
        else (answer.body.decode("utf-8", "replace"))
    )
    text = _plain(text).strip().split("\n\nStacktrace")[0].replace("\n", " ")
    return f"{answer.status} {text[:160]}{'…' if len(text) > 160 else ''}".strip()


def _headers(theirs: Answer, ours: Answer) -> list[str]:
    names = [{name for name in answer.headers if name.startswith("x-pulsar-")} for answer in (theirs, ours)]
    found = [f"header {name} only there" for name in sorted(names[0] - names[1])]
    return found + [f"header {name} only here" for name in sorted(names[1] - names[0])]


def _shape(value: Any) -> Any:
    """Types in place of values."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, dict):
        shapes = {name: _shape(each) for name, each in value.items()}
        return {"*": _merged(list(shapes.values()))} if shapes and all(map(_NAMED.match, shapes)) else shapes
    if isinstance(value, list):
        return [_merged([_shape(each) for each in value])]
    return "nothing" if value is None else "text"


def _merged(shapes: list[Any]) -> Any:
    """One shape for all elements; None where there are none."""
    if not shapes:
        return None
    if all(isinstance(shape, dict) for shape in shapes):
        names = {name: None for shape in shapes for name in shape}
        return {name: _merged([shape[name] for shape in shapes if name in shape]) for name in names}
    return shapes[0]


def _compare(where: str, theirs: Any, ours: Any) -> list[str]:
    if theirs is None or ours is None or theirs == ours:
        return []
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if {"*"} in (set(theirs), set(ours)) and not (theirs and ours):
            return []
        found = [f"`{where}{name}` only there" for name in theirs if name not in ours]
        found += [f"`{where}{name}` only here" for name in ours if name not in theirs]
        for name in theirs:
            if name in ours:
                found += _compare(f"{where}{name}.", theirs[name], ours[name])
        return found
    if isinstance(theirs, list) and isinstance(ours, list):
        return _compare(f"{where}[].", theirs[0], ours[0])
    return [f"`{where.rstrip('.')}` is {_word(theirs)} there, {_word(ours)} here"]


def _word(shape: Any) -> str:
    return "an object" if isinstance(shape, dict) else "a list" if isinstance(shape, list) else str(shape)
