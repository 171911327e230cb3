"""What the commands need of the admin interface: requests, their answers, and a sentence where one is refused.

Works with any Pulsar: a request that another broker of the cluster has to answer (307) is sent there. The exit code
says what went wrong: 1 the broker refused, 3 nobody answered.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

import click

from magnetar.cli.hints import hint

__all__ = [
    "ADMIN_URL_OPTION",
    "DEFAULT_URL",
    "REFUSED",
    "UNREACHABLE",
    "Admin",
    "Answer",
    "Reply",
    "ask",
    "subscription_path",
]

DEFAULT_URL = "http://localhost:8080"
URL_VARIABLE = "MAGNETAR_ADMIN_URL"
TOKEN_VARIABLE = "MAGNETAR_ADMIN_TOKEN"
WAIT_SECONDS = 40
"""Longer than the broker takes to say that it takes too long."""
REDIRECTS_MAX = 5
REFUSED, UNREACHABLE = 1, 3
_REDIRECTED = (301, 302, 307, 308)

ADMIN_URL_OPTION = click.option(
    "--admin-url",
    default=DEFAULT_URL,
    show_default=True,
    metavar="URL",
    envvar=URL_VARIABLE,
    show_envvar=True,
    help="The broker's HTTP address.",
)

Answer = dict[str, Any]
Query = Mapping[str, object]
T = TypeVar("T")


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    data: bytes

    def value(self) -> Any:
        """The body as JSON, as text where it is none, None where there is no body."""
        text = self.data.decode(errors="replace").strip()
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError:
            return text


class Admin:
    """Requests to one broker. What it refuses ends the command with a sentence and exit code 1."""

    def __init__(self, url: str) -> None:
        self.url: str = url if "://" in url else f"http://{url}"
        self.token: str = os.environ.get(TOKEN_VARIABLE, "")

    def get(self, path: str, query: Query | None = None) -> Any:
        """What is at the path."""
        return self.request("GET", path, query).value()

    def put(self, path: str, body: object = None, query: Query | None = None) -> Any:
        return self.request("PUT", path, query, body).value()

    def post(self, path: str, body: object = None, query: Query | None = None) -> Any:
        return self.request("POST", path, query, body).value()

    def delete(self, path: str, query: Query | None = None) -> Any:
        return self.request("DELETE", path, query).value()

    def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: object = None,
        content_type: str = "application/json",
        may_be: tuple[int, ...] = (),
    ) -> Reply:
        """Send a request. ``query`` leaves out what is None; ``body`` is sent as JSON unless it is None.

        A refusal with a status of ``may_be`` is an answer like any other.
        """
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        url = self.url.rstrip("/") + path + (f"?{urlencode(given)}" if given else "")
        data = None if body is None else json.dumps(body).encode()
        for _ in range(REDIRECTS_MAX):
            reply = self._send(method, url, data, content_type)
            there = reply.headers.get("Location")
            if reply.status not in _REDIRECTED or not there:
                break
            url = urljoin(url, there)
        if reply.status >= 300 and reply.status not in may_be:
            raise self._refusal(method, path, reply)
        return reply

    def lines(self, path: str, take: Callable[[Iterable[bytes]], T]) -> T:
        """What ``take`` makes of the lines of a page, which is never in memory as a whole."""
        url = self.url.rstrip("/") + path
        with self._answer("GET", url, None, "") as response:
            if response.status >= 300:
                raise self._refusal("GET", path, Reply(response.status, response.headers, response.read()))
            return take(response)

    def _send(self, method: str, address: str, data: bytes | None, content_type: str) -> Reply:
        with self._answer(method, address, data, content_type) as response:
            return Reply(response.status, response.headers, response.read())

    @contextlib.contextmanager
    def _answer(
        self, method: str, address: str, data: bytes | None, content_type: str
    ) -> Iterator[http.client.HTTPResponse]:
        headers = {"Accept": "*/*"}
        if data is not None:
            headers["Content-Type"] = content_type
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        url = urlsplit(address)
        connection = _connection(address)
        target = url.path + (f"?{url.query}" if url.query else "")
        try:
            connection.request(method, target, body=data, headers=headers)
            yield connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            what = f"no answer from {url.scheme}://{url.netloc}: {str(error) or type(error).__name__}"
            click.echo(f"magnetar: {what}; is the broker running, and is this its HTTP address?", err=True)
            raise SystemExit(UNREACHABLE) from None
        finally:
            connection.close()

    def _refusal(self, method: str, path: str, reply: Reply) -> SystemExit:
        answer = reply.value()
        reason = answer.get("reason") if isinstance(answer, dict) else None
        if not reason:
            words = http.client.responses.get(reply.status, "")
            reason = f"{self.url} answers {method} {path} with {reply.status} {words}".rstrip()
        reason = _sentence(str(reason))
        next_step = hint(reply.status, path, reason, isinstance(answer, dict))
        click.echo(f"magnetar: {reason} (status {reply.status}){next_step and '; ' + next_step}", err=True)
        return SystemExit(REFUSED)


def _sentence(reason: str) -> str:
    """What a broker says, on one line. Pulsar's unexpected errors bring a stack trace, of which the message counts."""
    _, found, message = reason.partition("Message:")
    text = message.partition("Stacktrace:")[0] if found and "Stacktrace:" in message else reason
    return " ".join(text.split())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _connection(address: str) -> http.client.HTTPConnection:
    try:
        url = urlsplit(address)
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if not host or url.scheme not in ("http", "https"):
        raise click.BadParameter(f"'{address}' is not an address such as {DEFAULT_URL}", param_hint="--admin-url")
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    return kind(host, port, timeout=WAIT_SECONDS)


def subscription_path(topic: str, subscription: str) -> str:
    """The path of a subscription under the admin interface."""
    from magnetar.core.names import PERSISTENT, TopicName
    from magnetar.errors import InvalidTopicName

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
    reply = Admin(admin_url).request(method, path)
    answer = reply.value()
    if answer is None:
        return {}
    if not isinstance(answer, dict):
        said = f"{method} {path} was answered with {reply.status} and something that is no JSON object"
        click.echo(f"magnetar: {said}: {reply.data[:200]!r}", err=True)
        raise SystemExit(REFUSED)
    return answer
