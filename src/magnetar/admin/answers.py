"""What goes back over HTTP: JSON as Pulsar writes it, and refusals with a status and a reason."""

from __future__ import annotations

import msgspec
from aiohttp import web

__all__ = ["Fields", "Refusal", "json_answer", "no_content", "reason_answer", "text_answer"]

Fields = dict[str, object]
"""A JSON object under construction; its order is the order on the wire."""

_JSON = "application/json"


class Refusal(Exception):  # noqa: N818
    """The request cannot be fulfilled. ``reason`` is a sentence for the caller, Pulsar's own where it has one."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status: int = status
        self.reason: str = reason


def json_answer(value: object, status: int = 200) -> web.Response:
    """``value`` as a JSON document."""
    return web.Response(body=msgspec.json.encode(value), status=status, content_type=_JSON)


def text_answer(text: str, content_type: str = _JSON) -> web.Response:
    """Bare text. Pulsar labels even that as JSON, and its clients expect it so."""
    return web.Response(body=text.encode(), content_type=content_type)


def no_content() -> web.Response:
    """Done, and nothing more to say."""
    return web.Response(status=204)


def reason_answer(status: int, reason: str) -> web.Response:
    """A failure in the one form that all of them have."""
    return json_answer({"reason": reason}, status)
