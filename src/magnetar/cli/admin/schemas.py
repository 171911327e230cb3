"""``magnetar schemas``: what pulsar-admin does with schemas, but for reading them out of a JAR."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import click

from magnetar.cli.admin.command import TOPIC, V2, Broker, Topic, verbs
from magnetar.cli.admin.output import say

__all__ = ["command"]

_FILE = click.option(
    "-f",
    "--filename",
    "file",
    required=True,
    type=click.File("rb"),
    metavar="FILE",
    help="JSON with type, schema and properties; - is stdin.",
)


@click.group("schemas")
def command() -> None:
    """Schemas of topics: get, upload, delete, try."""


verb = verbs(command)


def _path(topic: Topic) -> str:
    return f"{V2}/schemas/{topic.rest}"


def _schema(file: BinaryIO) -> dict[str, Any]:
    """What is to be stored: a file as pulsar-admin takes it. A definition that is JSON itself is made text."""
    try:
        found = json.load(file)
    except ValueError as error:
        raise click.BadParameter(f"it is not JSON: {error}", param_hint="-f") from None
    if not isinstance(found, dict) or "type" not in found:
        raise click.BadParameter(
            'it has to be like {"type": "AVRO", "schema": "...", "properties": {}}', param_hint="-f"
        )
    schema = found.get("schema", "")
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return {"type": found["type"], "schema": text, "properties": found.get("properties") or {}}


@verb("get")
@TOPIC
@click.option("-v", "--version", type=int, metavar="N", help="This version instead of the latest.")
@click.option("-a", "--all-version", "every", is_flag=True, help="All versions.")
def _get(broker: Broker, topic: Topic, version: int | None, every: bool) -> None:
    """Show the schema of TOPIC."""
    if every:
        broker.show(broker.get(f"{_path(topic)}/schemas"))
    else:
        broker.show(broker.get(f"{_path(topic)}/schema" + ("" if version is None else f"/{version}")))


@verb("upload")
@TOPIC
@_FILE
def _upload(broker: Broker, topic: Topic, file: BinaryIO) -> None:
    """Give TOPIC a new version of its schema."""
    broker.show(broker.post(f"{_path(topic)}/schema", _schema(file)))


@verb("delete")
@TOPIC
@click.option("-f", "--force", is_flag=True, help="All versions, for good.")
def _delete(broker: Broker, topic: Topic, force: bool) -> None:
    """Delete the schema of TOPIC."""
    broker.delete(f"{_path(topic)}/schema", {"force": force or None})
    say(f"the schema of {topic} is deleted")


@verb("compatibility")
@TOPIC
@_FILE
def _compatibility(broker: Broker, topic: Topic, file: BinaryIO) -> None:
    """Say whether TOPIC would take a schema, without storing it."""
    broker.show(broker.post(f"{_path(topic)}/compatibility", _schema(file)))


@verb("metadata")
@TOPIC
def _metadata(broker: Broker, topic: Topic) -> None:
    """Show how the versions of the schema of TOPIC are stored."""
    broker.show(broker.get(f"{_path(topic)}/metadata"))
