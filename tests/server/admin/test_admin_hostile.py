"""Hostile values in every part of every path: the fault is the caller's, with a reason, and nothing else happens."""

from __future__ import annotations

import contextlib
import http.client
import re
from urllib.parse import unquote

import pytest

from magnetar.admin.app import BODY_BYTES_MAX
from magnetar.admin.routes import ROUTES, Route
from tests.server.admin.conftest import Answer, Served, path

HOSTILE = (
    "..",
    ".",
    "%2e%2e",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "a%2Fb",
    "%2F",
    "%5C..%5C",
    "%",
    "%zz",
    "%25",
    "%2500",
    "%00",
    "%0D%0AX-Evil:%201",
    "%FF%FE",
    "%C3%28",
    "%ED%A0%80",
    "%20",
    "%E2%80%AE",
    "%F0%9F%92%A9",
    "%F3%A0%80%81",
    "{t}",
    "*",
    "~",
    "'%22;--",
    "%3Cscript%3E",
    "-1",
    "0",
    "99999999999999999999999999",
    "NaN",
    "1e9",
    "null",
    "x" * 2000,
    "-partition-",
    "x-partition-0",
    "x-partition-99999999999",
    "__compaction",
    "pulsar.repl.x",
)
GOOD = {
    "t": "public",
    "n": "hostile",
    "topic": "there",
    "sub": "s",
    "domain": "persistent",
    "cluster": "standalone",
    "bundle": "0x00000000_0x40000000",
}
PART = re.compile(r"{(\w+)(?::[^}]*)?}")


@pytest.fixture(scope="module")
def prepared(served: Served) -> Served:
    """A namespace with a topic and a subscription, for whoever names two parts rightly and the third wrongly."""
    assert served.put("namespaces/public/hostile").status == 204
    assert served.put("persistent/public/hostile/there").status == 204
    assert served.put("persistent/public/hostile/there/subscription/s").status == 204
    return served


def targets(route: Route) -> list[str]:
    """The path with every part of it hostile in turn, with all of them so, and with none of them there."""
    names = PART.findall(route.path)
    found: list[str] = []
    for name in names:
        for value in ("", *HOSTILE):
            fill = GOOD | {name: value}
            found.append(PART.sub(lambda part, fill=fill: fill.get(part.group(1), "1"), route.path))
    # A request line may have 8190 bytes, which is the parser's business.
    found += [PART.sub(lambda part, value=value: value, route.path) for value in HOSTILE if len(value) < 100]
    return found


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_part_of_every_path(prepared: Served, route: Route) -> None:
    served = prepared
    before = state(served)
    method = "POST" if route.method == "*" else route.method
    wanted = [(target, body) for target in targets(route) for body in ((None, b"{}") if route.body else (None,))
              if method != "DELETE" or unquote(target) not in _KEPT]  # fmt: skip
    with contextlib.closing(Line(served)) as line:
        for target, body in wanted:
            answer = line.ask(method, target, body)
            assert answer.status < 500 or "health" in target, (target, answer.status, answer.text)
            if answer.status >= 400:
                assert list(answer.json) == ["reason"], (target, answer.text)
                assert answer.json["reason"], target
            assert "x-evil" not in {name.lower() for name in answer.headers}, target
    after = state(served)
    assert after["tenants"] <= before["tenants"] | {unquote(each) for each in HOSTILE}
    for namespace in after["namespaces"] - before["namespaces"]:
        assert namespace.count("/") == 1
        assert re.fullmatch(r"[-=:.\w]+/[-=:.\w]+", namespace, re.ASCII), namespace
    for topic in after["topics"] - before["topics"]:
        assert topic.startswith(("persistent://", "non-persistent://")), topic
        assert topic.partition("://")[2].rpartition("/")[0], topic
    assert {"public", "pulsar"} <= after["tenants"]
    assert {"public/default", "public/hostile", "pulsar/system"} & before["namespaces"] <= after["namespaces"]
    assert served.get("brokers/health").text == "ok"


_KEPT = {
    "/admin/v2/tenants/public",
    "/admin/v2/namespaces/public/hostile",
}
"""What other routes of the walk need."""


class Line:
    """One connection for many requests."""

    def __init__(self, served: Served) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", served.http_port, timeout=30)

    def ask(self, method: str, target: str, body: bytes | None) -> Answer:
        self.connection.putrequest(method, target, skip_accept_encoding=True)
        self.connection.putheader("Content-Length", str(len(body or b"")))
        self.connection.endheaders(body)
        return Answer(self.connection.getresponse())

    def close(self) -> None:
        self.connection.close()


def state(served: Served) -> dict[str, set[str]]:
    catalog = served.core.catalog
    return served.call(
        lambda: {
            "tenants": set(catalog.tenants),
            "namespaces": set(catalog.namespaces),
            "topics": {*catalog.topics, *catalog.partitioned},
        }
    )


@pytest.mark.parametrize("route", [each for each in ROUTES if each.body is not None], ids=lambda each: each.path)
def test_no_body_is_read_without_end(prepared: Served, route: Route) -> None:
    target = PART.sub(lambda part: GOOD.get(part.group(1), "1"), route.path)
    answer = prepared.ask(route.method, target, b"1" * (BODY_BYTES_MAX + 1))
    assert answer.refusal[0] in (400, 404, 405, 406, 409, 412, 413), (target, answer.text)


@pytest.mark.parametrize("name", ["a%2Fb", "%2e%2e", "%20x", "%F0%9F%92%A9", "a%25b", "%0D%0Ax"])
def test_any_name_is_one_segment(served: Served, topic: str, name: str) -> None:
    """Subscriptions, roles and keys of properties may be called anything; each is found again under its own name."""
    at = path(topic)
    assert served.put(at).status == 204
    assert served.put(f"{at}/subscription/{name}", "earliest").status == 204
    assert served.get(f"{at}/subscriptions").json == [unquote(name)]
    assert served.put(f"{at}/subscription/{name}/properties", {unquote(name): "1"}).status == 204
    assert served.get(f"{at}/subscription/{name}/properties").json == {unquote(name): "1"}
    assert served.post(f"{at}/permissions/{name}", ["produce"]).status == 204
    assert served.get(f"{at}/permissions").json == {unquote(name): ["produce"]}
    assert served.delete(f"{at}/permissions/{name}").status == 204
    assert served.put(f"namespaces/public/default/property/{name}/{name}").status == 204
    assert served.get(f"namespaces/public/default/property/{name}").text == unquote(name)
    assert served.delete(f"namespaces/public/default/property/{name}").text == unquote(name)
    assert served.delete(f"{at}/subscription/{name}").status == 204


@pytest.mark.parametrize("target", ["persistent/public/default/%FF/stats", "tenants/%zz", "clusters/%"])
def test_what_cannot_be_decoded_is_no_name(served: Served, target: str) -> None:
    assert served.get(target).refusal == (400, "The path is not UTF-8 in percent-encoding")
