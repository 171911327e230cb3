"""The pieces of the daily commands: the table of policies, units, hints, tables, messages."""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from magnetar.cli import main
from magnetar.cli.admin.messageids import parse_id
from magnetar.cli.admin.messages import unpack
from magnetar.cli.admin.output import columns, cut, outline
from magnetar.cli.admin.policytable import NAMESPACE_POLICIES, TOPIC_POLICIES
from magnetar.cli.admin.units import BYTES, MEGABYTES, MILLISECONDS, MINUTES, SECONDS
from magnetar.cli.adminclient import Reply, _sentence
from magnetar.cli.hints import hint
from magnetar.core.policies.table import POLICIES
from magnetar.wire.proto import pulsar_pb2 as pb

GROUPS = ("topics", "subscriptions", "namespaces", "tenants", "schemas", "brokers")


def group(name: str) -> click.Group:
    found = main.get_command(click.Context(main), name)
    assert isinstance(found, click.Group)
    return found


@pytest.mark.parametrize("name", GROUPS)
def test_every_verb_explains_itself(name: str) -> None:
    context = click.Context(group(name), info_name=name)
    verbs = group(name).list_commands(context)
    for verb in verbs:
        found = group(name).get_command(context, verb)
        assert found is not None
        text = found.get_help(click.Context(found, info_name=verb, parent=context))
        assert "--admin-url" in text
        assert "--json" in text
        flags = [flag for param in found.params for flag in (*param.opts, *param.secondary_opts)]
        assert len(flags) == len(set(flags)), (verb, flags)
    assert len(verbs) > 3


def test_every_policy_that_the_broker_has_can_be_set_as_it_wants_it() -> None:
    of_topics = {line.path: (line.write, line.query) for line in TOPIC_POLICIES}
    of_namespaces = {line.path: line.write for line in NAMESPACE_POLICIES}
    for line in POLICIES:
        if line.topic_path:
            assert of_topics[line.topic_path] == (line.write, line.query), line.name
        if line.namespace_path:
            assert of_namespaces[line.namespace_path] == (line.namespace_write or line.write), line.name
    assert of_topics["backlogQuota"] == ("POST", "")
    assert of_namespaces["backlogQuota"] == "POST"


def test_the_help_of_a_group_names_its_policies_once() -> None:
    text = CliRunner().invoke(main, ["namespaces", "--help"]).stdout
    assert text.count("\n  retention ") == 1
    assert "set-retention" not in text


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (SECONDS, "90", 90),
        (SECONDS, "10m", 600),
        (SECONDS, "-1", -1),
        (SECONDS, "2w", 1_209_600),
        (MINUTES, "120", 2),
        (MINUTES, "3h", 180),
        (MINUTES, "-1", -1),
        (MILLISECONDS, "1s", 1_000),
        (BYTES, "4096", 4096),
        (BYTES, "64k", 65_536),
        (BYTES, "1G", 1 << 30),
        (BYTES, "-1", -1),
        (MEGABYTES, "2T", 2 << 20),
        (MEGABYTES, "10M", 10),
    ],
)
def test_units(kind: click.ParamType[int], text: str, value: int) -> None:
    assert kind.convert(text, None, None) == value


@pytest.mark.parametrize(("kind", "text"), [(SECONDS, "soon"), (MINUTES, "90s"), (BYTES, "1X"), (MEGABYTES, "512k")])
def test_units_that_are_none(kind: click.ParamType[int], text: str) -> None:
    with pytest.raises(click.BadParameter):
        kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [
        (401, "Authentication required", "MAGNETAR_ADMIN_TOKEN"),
        (404, "Topic persistent://a/b/c not found", "topics list"),
        (404, "Subscription s not found for topic t", "topics subscriptions"),
        (404, "Namespace does not exist", "namespaces list"),
        (412, "Topic has 2 clients connected Including 1 consumers", "--force"),
        (412, "Subscription has active connected consumers", "--force"),
        (409, "Cannot delete non empty namespace", "delete what is in it first"),
        (404, "There is nothing at this path", "another version"),
    ],
)
def test_a_refusal_says_what_to_do_next(status: int, reason: str, said: str) -> None:
    assert said in hint(status, "/", reason, True)


def test_a_page_instead_of_a_reason_means_another_version() -> None:
    assert "another version" in hint(404, "/", "<html>", False)
    assert hint(412, "/", "Invalid value", True) == ""


def test_tables_are_aligned_and_outlines_are_read_from_above() -> None:
    assert columns(("NAME", "N"), [("a", 5), ("long", 12)]) == ["NAME   N", "a      5", "long  12"]
    assert outline({"a": {"b": [1, {"c": "x"}]}, "d": {}, "e": True}) == [
        "a:",
        "  b:",
        "    1",
        "    - c: x",
        "d: none",
        "e: true",
    ]
    assert (cut("abcdef", 4), cut("abc", 4)) == ("…def", "abc")


def test_ids() -> None:
    assert parse_id("12:3", "-m") == {"ledgerId": 12, "entryId": 3}
    assert parse_id("12:3:-1:4", "-m")["batchIndex"] == 4
    for wrong in ("12", "a:b", "1:2:3:4:5"):
        with pytest.raises(click.BadParameter):
            parse_id(wrong, "-m")


def reply(data: bytes, **headers: str) -> Reply:
    found = http.client.HTTPMessage()
    for name, text in headers.items():
        found[f"X-Pulsar-{name.replace('_', '-')}"] = text
    return Reply(200, found, data)


def test_a_message_comes_out_of_its_headers_and_its_body() -> None:
    (message,) = unpack(reply(b"hello", Message_ID="3:7", PROPERTY='{"a":"1"}', partition_key="k", producer_name="p"))
    assert message.fields() == {
        "messageId": "3:7",
        "key": "k",
        "properties": {"a": "1"},
        "publishTime": None,
        "eventTime": None,
        "producerName": "p",
        "content": "hello",
    }
    assert message.lines() == ["Message 3:7", "  key: k", "  producer-name: p", "  property a: 1", "  hello"]
    (empty,) = unpack(reply(b"", Message_ID="3:8", null_value="true"))
    assert empty.fields()["content"] is None
    (binary,) = unpack(reply(b"\xff\x00", Message_ID="3:9"))
    assert binary.fields()["contentHex"] == "ff00"


def test_a_batch_is_unpacked() -> None:
    body = b""
    for number in range(3):
        one = pb.SingleMessageMetadata(payload_size=2, partition_key=f"k{number}")
        one.properties.add(key="n", value=str(number))
        raw = one.SerializeToString()
        body += len(raw).to_bytes(4, "big") + raw + b"m%d" % number
    found = unpack(reply(body, Message_ID="3:7", num_batch_message="3", batch_size="80", Is_Encrypted="false"))
    assert [(one.id, one.key, one.properties, one.content) for one in found] == [
        (f"3:7:{n}", f"k{n}", {"n": str(n)}, b"m%d" % n) for n in range(3)
    ]


def test_a_stack_trace_is_no_reason() -> None:
    text = "\n --- An unexpected error occurred in the server ---\n\nMessage: Cursor not found\n\nStacktrace:\n\na.b"
    assert _sentence(text) == "Cursor not found"
    assert _sentence("two\nlines") == "two lines"


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """Sends every request on once, then answers with what it was told."""

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.startswith("/there"):
            self.send_response(307)
            self.send_header("Location", f"/there{self.path}")
            self.end_headers()
            return
        said = f'{{"reason": "{self.path} {body.decode()} {self.headers["Authorization"]}"}}'.encode()
        self.send_response(409)
        self.end_headers()
        self.wfile.write(said)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Nothing."""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_request_goes_where_the_broker_sends_it_with_its_body_and_token(elsewhere: str) -> None:
    words = ["topics", "create-partitioned-topic", "t", "-p", "4", "--admin-url", elsewhere]
    done = CliRunner().invoke(main, words, env={"MAGNETAR_ADMIN_TOKEN": "abc"})
    assert done.exit_code == 1
    assert "/there/admin/v2/persistent/public/default/t/partitions 4 Bearer abc" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"_MAGNETAR_COMPLETE={shell}_complete" in done.stdout
