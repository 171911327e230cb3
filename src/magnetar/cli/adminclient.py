"""What the commands need of the admin interface: one request, its JSON, and a sentence where there is none."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import quote, urlsplit

import click

from magnetar.cli.pulsarclient import fail
from magnetar.core.names import PERSISTENT, TopicName
from magnetar.errors import InvalidTopicName

__all__ = ["ADMIN_URL_OPTION", "DEFAULT_URL", "Answer", "ask", "subscription_path"]

DEFAULT_URL = "http://localhost:8080"
WAIT_SECONDS = 40
"""Longer than the broker takes to say that it takes too long."""

ADMIN_URL_OPTION = click.option(
    "--admin-url", default=DEFAULT_URL, show_default=True, metavar="URL", help="The broker's HTTP address."
)

Answer = dict[str, Any]


def subscription_path(topic: str, subscription: str) -> str:
    """The path of a subscription under the admin interface."""
    try:
        name = TopicName(topic)
    except InvalidTopicName as error:
        raise click.BadParameter(str(error), param_hint="TOPIC") from None
    if name.domain != PERSISTENT:
        raise click.BadParameter(f"{topic}: only persistent:// topics have subscriptions here", param_hint="TOPIC")
    local, sub = quote(name.local, safe=""), quote(subscription, safe="")
    return f"/admin/v2/persistent/{name.namespace}/{local}/subscription/{sub}"


def ask(admin_url: str, method: str, path: str) -> Answer:
    """Send a request; its JSON object, empty for an answer without a body. Ends the command where it is refused."""
    url = urlsplit(admin_url if "://" in admin_url else f"http://{admin_url}")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise click.BadParameter(f"'{admin_url}' is not an address such as {DEFAULT_URL}", param_hint="--admin-url")
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname, url.port, timeout=WAIT_SECONDS)
    try:
        connection.request(method, path, headers={"Accept": "application/json"})
        response = connection.getresponse()
        status, text = response.status, response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        raise fail(
            f"no answer from {admin_url}: {error}; is the broker running, and is this its HTTP address?"
        ) from None
    finally:
        connection.close()
    return _read(status, text, f"{method} {path}")


def _read(status: int, text: str, request: str) -> Answer:
    try:
        answer = json.loads(text) if text.strip() else {}
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise fail(f"{request} was answered with {status} and something that is no JSON object: {text[:200]!r}")
    if status >= 400:
        raise fail(f"{answer.get('reason', 'refused without a reason')} (status {status})")
    return answer
