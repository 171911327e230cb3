"""``magnetar explain``: why a subscription or a key does not move, in one screen of plain sentences."""

from __future__ import annotations

import base64
import json
import shlex
from urllib.parse import urlencode

import click

from magnetar.cli.adminclient import ADMIN_URL_OPTION, DEFAULT_URL, ask, subscription_path
from magnetar.cli.explain_screen import explanation, history_lines

__all__ = ["command"]


@click.command("explain")
@click.argument("topic")
@click.argument("subscription")
@click.option("-k", "--key", metavar="KEY", help="A key (or ordering key) whose messages are looked at as well.")
@click.option("--key-b64", metavar="BASE64", help="The same, for a key that is no text.")
@click.option("--history", is_flag=True, help="Show who came and went lately, and how long drains took.")
@click.option("--json", "as_json", is_flag=True, help="Print what the broker answered.")
@ADMIN_URL_OPTION
def command(
    topic: str, subscription: str, key: str | None, key_b64: str | None, history: bool, as_json: bool, admin_url: str
) -> None:
    """Say why SUBSCRIPTION on TOPIC does or does not deliver, who holds what, and what would free it."""
    if key is not None and key_b64 is not None:
        raise click.UsageError("give --key or --key-b64, not both")
    if key is not None:
        key_b64 = base64.b64encode(key.encode("utf-8", "surrogateescape")).decode()
    path = subscription_path(topic, subscription)
    query = f"?{urlencode({'keyB64': key_b64})}" if key_b64 is not None else ""
    answer = ask(admin_url, "GET", f"{path}/explain{query}")
    events = ask(admin_url, "GET", f"{path}/history")["events"] if history else None
    if as_json:
        click.echo(json.dumps(answer if events is None else answer | {"history": events}, ensure_ascii=False))
        return
    there = [] if admin_url == DEFAULT_URL else ["--admin-url", admin_url]

    def release(consumer: str) -> str:
        return shlex.join(["magnetar", "disconnect", topic, subscription, consumer, *there])

    lines = explanation(answer, release)
    if events is not None:
        lines += history_lines(events, answer["timestamp"])
    click.echo("\n".join(lines))
