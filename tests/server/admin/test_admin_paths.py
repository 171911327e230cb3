"""Whatever is asked, the broker answers with something that is not its own fault, and lives."""

from __future__ import annotations

import re
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magnetar.admin.app import BODY_BYTES_MAX
from magnetar.admin.routes import ROUTES, Route
from tests.server.admin.conftest import Served, path

HEAD = st.sampled_from(
    ("/", "/admin/v2/", "/admin/v2/persistent/public/default/", "/admin/v2/namespaces/", "/lookup/v2/topic/persistent/")
)
PIECE = st.one_of(
    st.sampled_from(
        ("..", ".", "%2e%2e", "%2F", "%00", "%FF", "%", "%zz", "stats", "partitions", "subscription", "public", "",
         "default", "x-partition-0", "x-partition-99999999999", "%ED%A0%80", "{t}", "~", "a" * 300, "-1")
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="?#/"), max_size=12),
    st.binary(max_size=6).map(lambda data: "".join(f"%{byte:02X}" for byte in data)),
)  # fmt: skip
PATHS = st.tuples(HEAD, st.lists(PIECE, max_size=6)).map(lambda both: both[0] + "/".join(both[1]))
METHODS = st.sampled_from(("GET", "PUT", "POST", "DELETE", "HEAD", "PATCH"))
BODIES = st.one_of(st.none(), st.integers(-5, 50), st.text(max_size=10), st.binary(max_size=30), st.lists(st.none()))


@settings(max_examples=400)
@given(method=METHODS, target=PATHS, body=BODIES)
def test_no_request_is_the_brokers_fault(served: Served, method: str, target: str, body: object) -> None:
    assert served.ask(method, target, body).status < 500, (method, target, body)
    assert served.get("brokers/health").text == "ok"


NAMES = sorted({name for route in ROUTES for name in re.findall(r"{(\w+)", route.path)})
FILL = st.fixed_dictionaries(dict.fromkeys(NAMES, PIECE))


@settings(max_examples=300)
@given(route=st.sampled_from(ROUTES), fill=FILL, real=st.booleans(), body=BODIES)
def test_no_route_fails(served: Served, route: Route, fill: dict[str, str], real: bool, body: object) -> None:
    method, pattern = route.method, route.path
    # The namespace itself stays: other tests need it.
    if real and not (method == "DELETE" and pattern.endswith(("{t}", "{n}", "{cluster}"))):
        fill |= {"t": "public", "n": "default"}
    fill |= {"domain": "persistent"}
    target = re.sub(r"{(\w+)(:[^}]*)?}", lambda part: fill[part.group(1)], pattern)
    answer = served.ask("GET" if method == "*" else method, target, body)
    assert answer.status < 500, (method, target, body, answer.text)
    if answer.status >= 400:
        assert "reason" in answer.text


def test_bytes_that_are_no_text(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.http_port)) as raw:
        raw.sendall(
            b"PUT /admin/v2/persistent/public/default/\xff\xfe HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        )
        assert raw.recv(100).split()[1] in (b"400", b"412")


def test_unknown_paths_and_methods_have_a_reason(served: Served) -> None:
    assert served.get("nonsense").refusal[0] == 404
    assert served.ask("GET", "/").refusal[0] == 404
    assert served.ask("PATCH", "/admin/v2/tenants/public").refusal[0] == 405


@pytest.mark.parametrize("body", [b"{" * 100_000, b"[" * BODY_BYTES_MAX, b"\xff", b'{"partitions": 1e400}'])
def test_bodies_that_make_no_sense(served: Served, topic: str, body: bytes) -> None:
    assert served.put(f"{path(topic)}/partitions", body).refusal[0] == 400


def test_a_body_without_end_is_not_read(served: Served, topic: str) -> None:
    assert served.put(f"{path(topic)}/partitions", b"1" * (BODY_BYTES_MAX + 1)).refusal[0] == 413


def test_the_table_says_what_each_route_is_for() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    assert all(route.what for route in ROUTES)
