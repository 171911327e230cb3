"""Writes docs/reference/openapi.json and admin-rest.md from the table of routes. Run it after changing that table."""

from __future__ import annotations

import json
from pathlib import Path

from magnetar.admin.openapi import document
from magnetar.admin.routes import AREAS
from magnetar.admin.routes.route import Route

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
OPENAPI = REFERENCE / "openapi.json"
PAGE = REFERENCE / "admin-rest.md"

HEAD = """\
# The admin interface

<!-- Made by tools/gen_admin_docs.py from the table in src/magnetar/admin/routes: change that, then run `make docs`. -->

It listens on port 8080 and has the paths, names and status codes of Apache Pulsar's admin REST API, so that
`pulsar-admin` and the admin clients for Java, Go, Python and others work with it. [openapi.json](openapi.json)
describes the same routes for programs, with the bodies that go in and out.
[How the answers compare with Pulsar's](admin-compare.md) was found by sending the same requests to both.

- A refusal is a JSON object with a `reason`, and its status is Pulsar's. A path that leads nowhere is a 404, a method
  that a path does not take a 405, a number that is none a 404, a body that is not what was expected a 400, a body above
  1 MiB a 413.
- Success without anything to say is a 204. So is the answer to a question for something that is not set.
- Changes are durable when they are answered.
- Any part of a path may be percent-encoded, and has to be where it holds a slash. Fields of a body that are not known
  are passed over.
- A message over HTTP has its payload as the body, unpacked from compression, and its metadata in headers that begin
  with `X-Pulsar-`. A batch comes as a whole.
- What is done to a partitioned topic is done to all its partitions, where Pulsar does so too.

"""

ABSENT: dict[str, str] = {
    "functions, sources, sinks, worker": "nothing runs in the broker; 409, as from a broker without a function worker",
    "transactions": "not in this version",
    "replication to other clusters, shadow topics, failure domains, isolation policies, migration": "one broker is the "
    "whole cluster; entries of other clusters are kept and returned",
    "offloading": "there is one store",
    "resource quotas, resource groups, load reports": "nothing is balanced over brokers",
    "bookies, bookie affinity, allocator statistics, MBeans": "there are none",
    "entry filters": "they would be Java classes",
    "`brokers/shutdown`": "stop the process",
    "`brokers/internal-configuration`": "it tells where ZooKeeper and BookKeeper are",
    "`getMessageIdByIndex`": "it needs broker entry metadata, which Pulsar has switched off as well",
    "paths of version 1, `/lookup/v2/destination`": "removed from Pulsar as well",
    "producing over HTTP (`/topics/...`), WebSocket": "use a client",
}


def page() -> str:
    """The list of routes as a page."""
    text = HEAD
    for area, routes in AREAS.items():
        shown = [route for route in routes if not route.hidden]
        if shown:
            text += f"## {area}\n\n| method | path | what it does |\n| --- | --- | --- |\n"
            text += "".join(f"| {route.method} | `{_path(route)}` | {route.what} |\n" for route in shown) + "\n"
    text += "## What is not there\n\n| what | why |\n| --- | --- |\n"
    return text + "".join(f"| {what} | {why} |\n" for what, why in ABSENT.items())


def _path(route: Route) -> str:
    query = "&".join(route.query)
    return f"{route.path}?{query}" if query else route.path


def openapi() -> str:
    """The OpenAPI document as text."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    OPENAPI.write_text(openapi(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
