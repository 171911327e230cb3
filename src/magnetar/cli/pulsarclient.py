"""What ``produce`` and ``consume`` need of the official client, which is an extra and has no type annotations.

The client is imported when a command runs. Its own log goes to stdout unless it is told otherwise, so it is shown only
on request, on stderr. A refused connection it retries for as long as an operation may take: the address is tried first.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, cast
from urllib.parse import urlsplit

import click

__all__ = ["URL_OPTION", "VERBOSE_OPTION", "Client", "Consumer", "Message", "Producer", "Pulsar", "connected", "fail"]

DEFAULT_URL = "pulsar://localhost:6650"
OPERATION_SECONDS = 15
CONNECT_SECONDS = 5
_PORTS = {"pulsar": 6650, "pulsar+ssl": 6651, "http": 80, "https": 443}

URL_OPTION = click.option("--url", default=DEFAULT_URL, show_default=True, help="The broker: Magnetar or any Pulsar.")
VERBOSE_OPTION = click.option("-v", "--verbose", is_flag=True, help="Show the client's own log on stderr.")


class Message(Protocol):
    """A received message."""

    def data(self) -> bytes: ...
    def has_null_value(self) -> bool: ...
    def message_id(self) -> object: ...
    def partition_key(self) -> str: ...
    def properties(self) -> Mapping[str, str]: ...
    def publish_timestamp(self) -> int: ...
    def event_timestamp(self) -> int: ...
    def producer_name(self) -> str: ...
    def topic_name(self) -> str: ...
    def redelivery_count(self) -> int: ...


class Producer(Protocol):
    """A producer of one topic."""

    def topic(self) -> str: ...

    def send_async(
        self,
        content: bytes,
        callback: Callable[[object, object], None],
        properties: Mapping[str, str] | None = None,
        partition_key: str | None = None,
    ) -> None: ...


class Consumer(Protocol):
    """A consumer of one subscription."""

    def receive(self) -> Message: ...
    def acknowledge(self, message: Message) -> None: ...
    def close(self) -> None: ...


class Client(Protocol):
    """A connection to a cluster."""

    def create_producer(self, topic: str, *, block_if_queue_full: bool, batching_enabled: bool) -> Producer: ...

    def subscribe(
        self,
        topic: str,
        subscription_name: str,
        *,
        consumer_type: object,
        initial_position: object,
        receiver_queue_size: int,
        batch_index_ack_enabled: bool,
    ) -> Consumer: ...

    def close(self) -> None: ...


class _Enumeration(Protocol):
    __members__: Mapping[str, object]


class Pulsar(Protocol):
    """The module itself."""

    ConsumerType: _Enumeration
    InitialPosition: _Enumeration
    LoggerLevel: _Enumeration
    Result: _Enumeration
    PulsarException: type[Exception]
    Interrupted: type[Exception]

    def Client(self, service_url: str, *, operation_timeout_seconds: int, logger: object) -> Client: ...  # noqa: N802
    def FileLogger(self, log_level: object, log_file: str) -> object: ...  # noqa: N802


def fail(sentence: str) -> SystemExit:
    """Say why nothing comes of it; the result is to be raised."""
    click.echo(f"magnetar: {sentence}", err=True)
    return SystemExit(1)


@contextlib.contextmanager
def connected(url: str, verbose: bool) -> Iterator[tuple[Pulsar, Client]]:
    """The module and a client. What the client raises inside becomes a sentence and exit code 1; Ctrl-C becomes 130."""
    pulsar = _load()
    _try_address(url)
    # The client's logger knows files only; level and place are chosen so that stdout never has a word of it.
    level, place = ("Info", "/dev/stderr") if verbose else ("Error", os.devnull)
    logger = pulsar.FileLogger(pulsar.LoggerLevel.__members__[level], place)
    client = pulsar.Client(url, operation_timeout_seconds=OPERATION_SECONDS, logger=logger)
    try:
        yield pulsar, client
    except (pulsar.Interrupted, KeyboardInterrupt):
        raise SystemExit(130) from None
    except pulsar.PulsarException as error:
        raise fail(f"{url} answers: {str(error).removeprefix('Pulsar error: ')}") from None
    finally:
        with contextlib.suppress(pulsar.PulsarException):
            client.close()


def _load() -> Pulsar:
    try:
        return cast(Pulsar, importlib.import_module("pulsar"))
    except ModuleNotFoundError:
        raise fail("this needs the official client, which is missing: pip install 'magnetar[client]'") from None


def _try_address(url: str) -> None:
    """Refuse at once an address that is none, or where nobody listens. Of several hosts one is enough."""
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _PORTS:
        raise fail(f"{url} is no address of a broker: one looks like {DEFAULT_URL}")
    reasons = []
    for place in rest.split("/")[0].split(","):
        try:
            parts = urlsplit(f"//{place}")
            host, port = parts.hostname or "", parts.port or _PORTS[scheme]
        except ValueError:
            raise fail(f"{url} is no address of a broker: {place} is not a host and a port") from None
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            reasons.append(f"{place}: {error.strerror or error}")
        else:
            return
    raise fail(f"cannot reach {url} ({'; '.join(reasons)}): is a broker running there?")
