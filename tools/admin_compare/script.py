"""The list of requests: what stands in ``requests.txt``, read and carried out against one broker.

A line is a request (method, path, JSON body if any), an action of the official client (``!``), a heading (``==``), or
the explanation (``~``) of the difference that the request above it shows. Names in braces are filled in as the run
goes: the cluster, the address of the broker, and ids of messages that were published.
"""

from __future__ import annotations

import http.client
import importlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["REQUESTS", "Answer", "Line", "Run", "read"]

# The client has no types, and nothing else of the tools needs it.
pulsar: Any = importlib.import_module("pulsar")

REQUESTS = Path(__file__).with_name("requests.txt")
_LINE = re.compile(r"(GET|PUT|POST|DELETE|PATCH) (\S+)(?: (@\S+))?(?: (.*))?$")
_NAME = re.compile(r"{(cluster|broker|ledger|entry)}")
_WAIT_S = 30


@dataclass
class Line:
    """A request, or an action: then ``method`` is ``!`` and ``path`` says which."""

    number: int
    section: str
    method: str
    path: str
    body: str = ""
    content_type: str = "application/json"
    because: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path}" + (f" `{self.body}`" if self.body else "")


@dataclass
class Answer:
    """What came back."""

    status: int
    content_type: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON; as text where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return self.body.decode("utf-8", "replace")

    @property
    def reason(self) -> str | None:
        found = self.json
        return str(found["reason"]) if isinstance(found, dict) and "reason" in found else None


def read(lines: str) -> list[Line]:
    """The lines that do something, each with its explanation."""
    found: list[Line] = []
    section = ""
    said: dict[str, str] = {}
    for number, line in enumerate(lines.splitlines(), 1):
        if line.startswith("== "):
            section = line[3:]
        elif line.startswith("! "):
            found.append(Line(number, section, "!", line[2:]))
        elif line.startswith("@"):
            name, _, text = line.partition(": ")
            said[name] = text
        elif line.startswith("~ "):
            found[-1].because = said.get(line[2:], line[2:])
        elif line and not line.startswith("#"):
            parts = _LINE.match(line)
            if parts is None:
                raise ValueError(f"line {number} is no request: {line}")
            method, path, kind, body = parts.groups()
            found.append(Line(number, section, method, path, body or "", kind[1:] if kind else "application/json"))
    return found


@dataclass
class Run:
    """One pass over the list, against the broker with this address of its HTTP side."""

    url: str
    names: dict[str, str] = field(default_factory=dict)
    client: Any = None

    def start(self) -> None:
        """Learn the names that the list leaves open, and take away what an earlier run has left."""
        leader = self.ask("GET", "brokers/leaderBroker").json
        self.names = {
            "cluster": self.ask("GET", "clusters").json[0],
            "broker": leader.get("brokerId") or leader["serviceUrl"].partition("://")[2],
        }
        for domain in ("persistent", "non-persistent"):
            for namespace in self.ask("GET", "namespaces/cmp").json:
                if isinstance(self.ask("GET", "namespaces/cmp").json, list):
                    self._sweep(domain, namespace)
        if isinstance(namespaces := self.ask("GET", "namespaces/cmp").json, list):
            for namespace in namespaces:
                self.ask("DELETE", f"namespaces/{namespace}")
        self.ask("DELETE", "tenants/cmp")
        self.ask("DELETE", "tenants/cmp-3")
        self.ask("DELETE", "clusters/cmp-c")

    def _sweep(self, domain: str, namespace: str) -> None:
        for kind in ("partitions", ""):
            there = self.ask("GET", f"{domain}/{namespace}/partitioned" if kind else f"{domain}/{namespace}").json
            for name in there if isinstance(there, list) else []:
                local = "".join(
                    chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}"
                    for byte in name.partition("://")[2].split("/", 2)[2].encode()
                )
                self.ask("DELETE", f"{domain}/{namespace}/{local}{'/' + kind if kind else ''}?force=true")

    def stop(self) -> None:
        if self.client is not None:
            self.client.close()
            self.client = None

    def do(self, line: Line) -> Answer | None:
        """Carry out one line; an action has no answer."""
        if line.method != "!":
            return self.ask(line.method, self._filled(line.path), self._filled(line.body), line.content_type)
        what, *words = line.path.split()
        getattr(self, f"_{what}")(*words)
        return None

    def _filled(self, text: str) -> str:
        return _NAME.sub(lambda found: self.names.get(found.group(1), "0"), text)

    def ask(self, method: str, path: str, body: str = "", content_type: str = "application/json") -> Answer:
        """One request on a connection of its own, its path exactly as it is given."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_WAIT_S)
        try:
            connection.putrequest(method, path if path.startswith("/") else f"/admin/v2/{path}")
            data = body.encode()
            if data or method in ("PUT", "POST"):
                connection.putheader("Content-Type", content_type)
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data)
            came = connection.getresponse()
            headers = {name.lower(): value for name, value in came.getheaders()}
            return Answer(came.status, came.headers.get_content_type(), headers, came.read())
        finally:
            connection.close()

    # -- what the client does --------------------------------------------------------------------------------------

    def _connected(self) -> Any:
        if self.client is None:
            cluster = self.ask("GET", f"clusters/{self.names['cluster']}").json
            url = self.ask("GET", "/lookup/v2/topic/persistent/public/default/cmp").json.get("brokerUrl")
            self.client = pulsar.Client(
                url or cluster["brokerServiceUrl"], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
            )
        return self.client

    def _publish(self, topic: str, count: str) -> None:
        """Messages with everything on them that can be seen from outside; the names are those of the last one."""
        producer = self._connected().create_producer(topic, producer_name="cmp", batching_enabled=False)
        for number in range(int(count)):
            found = producer.send(
                b"message %d" % number, properties={"n": str(number)}, partition_key=f"k{number}", event_timestamp=1_000
            )
        self.names |= {"ledger": str(found.ledger_id()), "entry": str(found.entry_id())}
        producer.close()

    def _consume(self, topic: str, subscription: str) -> None:
        self._connected().subscribe(topic, subscription, pulsar.ConsumerType.Shared, consumer_name="cmp")

    def _close(self) -> None:
        self.stop()
