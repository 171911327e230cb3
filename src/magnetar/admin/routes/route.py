"""One line of the table of routes, and the words its description is made of."""

from __future__ import annotations

from typing import Any, NamedTuple

from magnetar.admin.call import Handler

__all__ = [
    "BOOL",
    "BYTES",
    "INT",
    "NAMESPACE",
    "NOTHING",
    "STRING",
    "STRINGS",
    "SUB",
    "TEXT",
    "TEXTS",
    "TOPIC",
    "V2",
    "Route",
    "Schema",
    "array",
    "obj",
    "ref",
    "table",
]

Schema = dict[str, Any]
"""A JSON schema."""


class Route(NamedTuple):
    """One line of the table.

    ``answer`` describes the body of an answer with status ``status``; without it success is an empty 204. ``maybe``
    says that there may be nothing to answer with, which is a 204 as well. ``query`` names the parts of the query that
    are looked at, each with its type. ``hidden`` lines are answered but not described: what is not there.
    """

    method: str
    path: str
    handler: Handler
    what: str
    answer: Schema | None = None
    body: Schema | None = None
    query: dict[str, Schema] = {}
    maybe: bool = False
    hidden: bool = False
    status: int = 200


V2 = "/admin/v2"
NAMESPACE = f"{V2}/namespaces/{{t}}/{{n}}"
TOPIC = f"{V2}/persistent/{{t}}/{{n}}/{{topic}}"
SUB = f"{TOPIC}/subscription/{{sub}}"

INT: Schema = {"type": "integer", "format": "int64", "minimum": -(1 << 63), "maximum": (1 << 63) - 1}
BOOL: Schema = {"type": "boolean"}
STRING: Schema = {"type": "string"}
NOTHING: Schema = {}
"""Any JSON."""
TEXT: Schema = {"x-content": "text/plain"}
"""Bare text, which Pulsar labels as JSON."""
BYTES: Schema = {"type": "string", "format": "binary", "x-content": "application/octet-stream"}


def ref(name: str) -> Schema:
    """A schema of ``components``."""
    return {"$ref": f"#/components/schemas/{name}"}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def table(values: Schema) -> Schema:
    """An object with any names."""
    return {"type": "object", "additionalProperties": values}


def obj(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these fields; more of them may come."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


STRINGS = array(STRING)
TEXTS = table(STRING)
