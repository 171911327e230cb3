"""``magnetar produce``: texts, files or lines of stdin become messages.

At most ``PENDING_MAX`` messages wait for their receipt. The waiting is done here, on a queue that the client's thread
fills, and not inside the client, where Ctrl-C would not be heard.
"""

from __future__ import annotations

import json
import queue
import sys
import time
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import click

from magnetar.cli.pulsarclient import URL_OPTION, VERBOSE_OPTION, Producer, Pulsar, connected, fail

__all__ = ["command"]

PENDING_MAX = 1000
_READ_BYTES = 1 << 16
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\0": "\0"}


@click.command("produce")
@click.argument("topic")
@click.option("-m", "--messages", "texts", multiple=True, metavar="TEXT", help="A message. May be repeated.")
@click.option("-f", "--files", multiple=True, type=click.File("rb"), help="A file whose content is a message.")
@click.option("-n", "--num-produce", "count", default=1, show_default=True, type=click.IntRange(1), help="How often.")
@click.option("-r", "--rate", default=0.0, type=click.FloatRange(0), help="Messages per second.  [default: no limit]")
@click.option("-k", "--key", help="Key of every message.")
@click.option("-p", "--properties", multiple=True, metavar="NAME=VALUE", help="A property of every message.")
@click.option("-s", "--separator", help=r"Cut texts, files and stdin into messages here; \n, \t and \0 are understood.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with the id of each message.")
@URL_OPTION
@VERBOSE_OPTION
def command(
    topic: str,
    texts: tuple[str, ...],
    files: tuple[BinaryIO, ...],
    count: int,
    rate: float,
    key: str | None,
    properties: tuple[str, ...],
    separator: str | None,
    as_json: bool,
    url: str,
    verbose: bool,
) -> None:
    """Send messages to TOPIC.

    Without -m and -f every line of stdin is a message. The command ends when the broker has confirmed all of them.
    """
    named = _parse_properties(properties)
    cut = _ESCAPES.get(separator, separator).encode() if separator else None
    if texts or files:
        whole = [text.encode() for text in texts] + [file.read() for file in files]
        contents = _repeat([part for one in whole for part in (one.split(cut) if cut else [one])], count)
    elif count > 1:
        raise click.UsageError("-n repeats what -m and -f give; stdin is read once")
    else:
        contents = _pieces(sys.stdin.buffer, cut or b"\n")
    with connected(url, verbose) as (pulsar, client):
        producer = client.create_producer(topic, block_if_queue_full=True, batching_enabled=True)
        sender = _Sender(pulsar, producer, as_json)
        for content in _paced(contents, rate):
            sender.send(content, key, named)
        sender.finish()
    click.echo(f"{sender.confirmed} messages sent to {topic}", err=True)


class _Sender:
    """Sends, and keeps account of receipts."""

    def __init__(self, pulsar: Pulsar, producer: Producer, as_json: bool) -> None:
        self.confirmed = 0
        self._ok = pulsar.Result.__members__["Ok"]
        self._producer = producer
        self._as_json = as_json
        self._pending = 0
        self._receipts: queue.SimpleQueue[tuple[object, object]] = queue.SimpleQueue()

    def send(self, content: bytes, key: str | None, properties: Mapping[str, str]) -> None:
        while self._pending >= PENDING_MAX or not self._receipts.empty():
            self._receipt()
        self._pending += 1
        self._producer.send_async(content, self._confirm, properties=properties, partition_key=key)

    def finish(self) -> None:
        while self._pending:
            self._receipt()

    def _confirm(self, result: object, message_id: object) -> None:
        """Called by the client's thread."""
        self._receipts.put((result, message_id))

    def _receipt(self) -> None:
        result, message_id = self._receipts.get()
        self._pending -= 1
        if result != self._ok:
            reason = str(result).removeprefix("Result.")
            raise fail(f"a message could not be sent: {reason}; {self.confirmed} before it were")
        self.confirmed += 1
        if self._as_json:
            click.echo(json.dumps({"messageId": str(message_id)}))


def _parse_properties(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{one!r} is not NAME=VALUE", param_hint="-p")
        found[name] = value
    return found


def _repeat(contents: list[bytes], count: int) -> Iterator[bytes]:
    for _ in range(count):
        yield from contents


def _pieces(source: BinaryIO, cut: bytes) -> Iterator[bytes]:
    """What stands between cuts, as soon as it is there; nothing after a last cut is no piece."""
    rest = b""
    read = getattr(source, "read1", source.read)
    while chunk := read(_READ_BYTES):
        *pieces, rest = (rest + chunk).split(cut)
        yield from pieces
    if rest:
        yield rest


def _paced(contents: Iterator[bytes], rate: float) -> Iterator[bytes]:
    """The contents, not faster than ``rate`` a second; 0 is no limit."""
    start = time.monotonic()
    for number, content in enumerate(contents):
        if rate:
            time.sleep(max(0.0, start + number / rate - time.monotonic()))
        yield content
