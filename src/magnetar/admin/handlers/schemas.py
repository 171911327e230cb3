"""Schemas of topics: read, upload, check, delete. A partition's are those of its partitioned topic."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from aiohttp import web

from magnetar.admin.answers import Fields, Refusal, json_answer, no_content
from magnetar.admin.bridge import Done
from magnetar.admin.call import Call
from magnetar.core.names import TopicName
from magnetar.core.schemas.definition import Definition
from magnetar.core.schemas.history import Stored
from magnetar.core.schemas.info import SchemaInfo, join_pair, known_kind, split_pair
from magnetar.errors import InvalidSchema

__all__ = ["check", "delete", "every", "latest", "metadata", "of_version", "upload", "version_of"]


class Payload(msgspec.Struct):
    """The body that describes a schema."""

    type: str
    schema: str
    properties: dict[str, str] | None = None


_PAYLOAD: msgspec.json.Decoder[Payload | None] = msgspec.json.Decoder(Payload | None)


async def _given(call: Call) -> SchemaInfo:
    """The schema in the body. That of a key-value schema is an object with a definition at "key" and at "value"."""
    body = await call.body(_PAYLOAD, None)
    if body is None:
        raise Refusal(400, 'the body should be {"type": ..., "schema": ..., "properties": {}}')
    kind = "NONE" if body.type == "BYTES" else body.type
    if not known_kind(kind):
        raise Refusal(422, f"'{body.type[:80]}' is not a type of schema")
    data = _pair_data(body.schema) if kind == "KEY_VALUE" else body.schema.encode()
    return SchemaInfo(kind, data, body.properties or {})


def _pair_data(text: str) -> bytes:
    try:
        pair = json.loads(text)
        halves = [pair[side] for side in ("key", "value")]
        key, value = (half if isinstance(half, str) else json.dumps(half, separators=(",", ":")) for half in halves)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refusal(422, 'the schema of a KEY_VALUE is {"key": definition, "value": definition}') from None
    return join_pair(key.encode("utf-8", "replace"), value.encode("utf-8", "replace"))


def _text(info: SchemaInfo) -> str:
    """The definition as the admin interface shows it."""
    if info.kind != "KEY_VALUE":
        return info.data.decode("utf-8", "replace")
    halves: list[Any] = []
    for half in split_pair(info):
        text = half.data.decode("utf-8", "replace")
        try:
            halves.append(json.loads(text) if text else "")
        except ValueError:
            halves.append(text)
    return json.dumps({"key": halves[0], "value": halves[1]}, separators=(",", ":"))


def _shown(stored: Stored) -> Fields:
    info = stored.definition.info
    return {
        "version": stored.version,
        "type": info.kind,
        "timestamp": stored.created_ms,
        "data": _text(info),
        "properties": info.properties,
    }


def _answer(stored: Stored | None) -> web.Response:
    if stored is None:
        raise Refusal(404, "Schema not found")
    return json_answer(_shown(stored))


async def latest(call: Call) -> web.Response:
    return _answer(call.core.schemas.of(call.name()).latest)


async def of_version(call: Call) -> web.Response:
    try:
        version = int(call.part("version"))
    except ValueError:
        raise Refusal(400, f"a version is a number, not '{call.part('version')[:80]}'") from None
    return _answer(call.core.schemas.of(call.name()).at(version))


async def every(call: Call) -> web.Response:
    return json_answer({"getSchemaResponses": [_shown(stored) for stored in call.core.schemas.of(call.name()).live]})


async def metadata(call: Call) -> web.Response:
    """Which versions there are. Pulsar says in which ledgers they lie; here they lie in none."""
    history = call.core.schemas.of(call.name())
    if not history.next:
        return no_content()
    index = [_place(stored.version) for stored in history.live]
    return json_answer({"info": _place(history.next - 1), "index": index})


def _place(version: int) -> Fields:
    return {"ledgerId": -1, "entryId": -1, "version": version}


def _strategy(call: Call, name: TopicName) -> str:
    return call.core.policies.of(name).schema_strategy


async def upload(call: Call) -> web.Response:
    """Register a schema. An operator may, whatever the topic says about automatic updates."""
    name = call.name()
    info = await _given(call)
    found: list[int] = []

    def start(done: Done) -> None:
        def registered(version: int, error: Exception | None) -> None:
            found.append(version)
            done(error)

        call.core.schemas.register(name, info, _strategy(call, name), True, registered)

    await call.bridge.change(start)
    return json_answer({"version": {"version": found[0]}})


async def delete(call: Call) -> web.Response:
    """Delete all schemas, which takes a version of its own; with ``force`` the count of versions as well."""
    name, force = call.name(), call.flag("force")
    found: list[int] = []

    def start(done: Done) -> None:
        def deleted(version: int, error: Exception | None) -> None:
            found.append(version)
            done(error)

        call.core.schemas.delete(name, force, deleted)

    await call.bridge.change(start)
    return json_answer({"version": found[0]})


async def check(call: Call) -> web.Response:
    """Whether the schema could be registered."""
    name = call.name()
    info = await _given(call)
    strategy = _strategy(call, name)
    reason = call.core.schemas.why_incompatible(name, info, strategy)
    return json_answer({"schemaCompatibilityStrategy": strategy, "compatibility": not reason}, 202)


async def version_of(call: Call) -> web.Response:
    """The version under which the schema is registered, -1 when it is not."""
    name = call.name()
    info = await _given(call)
    try:
        digest = Definition(info).digest
    except InvalidSchema:
        return json_answer({"version": -1})
    return json_answer({"version": call.core.schemas.of(name).find(digest)})
