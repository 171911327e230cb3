"""Routes of the schemas of topics."""

from __future__ import annotations

from magnetar.admin.handlers import schemas
from magnetar.admin.routes.route import BOOL, INT, V2, Route, array, obj, ref

__all__ = ["SCHEMAS"]

_BASE = f"{V2}/schemas/{{t}}/{{n}}/{{topic}}"
_SCHEMA = ref("Schema")
_NEW = ref("NewSchema")

SCHEMAS = (
    Route("GET", f"{_BASE}/schema", schemas.latest, "the latest schema", _SCHEMA),
    Route("POST", f"{_BASE}/schema", schemas.upload, "register a schema",
          obj({"version": obj({"version": INT})}), _NEW),
    Route("DELETE", f"{_BASE}/schema", schemas.delete, "delete all schemas", obj({"version": INT}),
          query={"force": BOOL}),
    Route("GET", f"{_BASE}/schema/{{version}}", schemas.of_version, "the schema of a version", _SCHEMA),
    Route("GET", f"{_BASE}/schemas", schemas.every, "all schemas", obj({"getSchemaResponses": array(_SCHEMA)})),
    Route("GET", f"{_BASE}/metadata", schemas.metadata, "the versions of the schema",
          obj({"info": {"type": "object"}, "index": array({"type": "object"})}), maybe=True),
    Route("POST", f"{_BASE}/compatibility", schemas.check, "whether a schema could be the next one",
          ref("Compatibility"), _NEW, status=202),
    Route("POST", f"{_BASE}/version", schemas.version_of, "the version of a schema", obj({"version": INT}), _NEW),
)  # fmt: skip
