"""One request on its way through a handler: what its path, query and body say, checked."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import unquote, unquote_to_bytes

import msgspec
from aiohttp import web

from magnetar.admin.answers import Refusal
from magnetar.admin.bridge import Bridge
from magnetar.admin.rates import Sampler
from magnetar.admin.scrapes import Scrapes
from magnetar.core.broker import Broker
from magnetar.core.names import NON_PERSISTENT, PERSISTENT, TopicName
from magnetar.core.subscription import Subscription
from magnetar.core.topic import Topic
from magnetar.errors import TopicNotFound
from magnetar.server.dynamic import Dynamic
from magnetar.server.settings import Settings

__all__ = ["Admin", "Call", "Handler"]

T = TypeVar("T")

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


@dataclass(slots=True, frozen=True)
class Admin:
    """What all handlers share."""

    bridge: Bridge
    rates: Sampler
    settings: Settings
    dynamic: Dynamic
    scrapes: Scrapes = field(default_factory=Scrapes)


class Call:
    """A request with the shared parts of the broker at hand."""

    def __init__(self, request: web.Request, admin: Admin) -> None:
        self.request: web.Request = request
        self.bridge: Bridge = admin.bridge
        self.core: Broker = admin.bridge.core
        self.rates: Sampler = admin.rates
        self.settings: Settings = admin.settings
        self.dynamic: Dynamic = admin.dynamic
        self.scrapes: Scrapes = admin.scrapes

    def part(self, name: str) -> str:
        """A variable part of the path, decoded. Bytes that are no text name nothing."""
        value = self.request.match_info[name]
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Refusal(412, "the path is not UTF-8") from None
        return value

    def namespace(self, missing: str = "Namespace does not exist") -> str:
        """``tenant/namespace`` of the path; 404 when there is no such namespace."""
        name = f"{self.part('t')}/{self.part('n')}"
        if name not in self.core.catalog.namespaces:
            raise Refusal(404, missing)
        return name

    def domain(self) -> str:
        """The kind of topics that the path is about."""
        other = self.request.path.startswith(f"/admin/v2/{NON_PERSISTENT}/")
        return self.request.match_info.get("domain", NON_PERSISTENT if other else PERSISTENT)

    def name(self) -> TopicName:
        """The topic that the path names, whether it exists or not; 404 when its namespace does not."""
        name = TopicName(f"{self.domain()}://{self.part('t')}/{self.part('n')}/{self.part('topic')}")
        if name.namespace not in self.core.catalog.namespaces:
            raise Refusal(404, "Namespace not found")
        return name

    async def topic(self) -> Topic:
        """The topic of the path, which has to exist. A partition that nobody has used yet is opened."""
        return await self.open(self.name())

    async def open(self, name: TopicName, create: bool = False) -> Topic:
        """The topic of this name, which has to exist (or may be created by use) and not to be a partitioned one."""
        if self.core.catalog.partitions(name):
            raise Refusal(404, f"Topic {name} not found: it is partitioned, so ask for {name}-partition-0 and so on")
        try:
            topic = await self.bridge.open(name, create)
        except TopicNotFound:
            raise Refusal(404, f"Topic {name} not found") from None
        if topic.deleted:
            raise Refusal(404, f"Topic {name} not found")
        return topic

    async def subscription(self) -> Subscription:
        """The subscription of the path, on a topic that is not partitioned."""
        found = self.found_sub(await self.topic())
        if found is None:
            raise self.unknown_subscription()
        return found

    def sub(self) -> str:
        """The name of the subscription in the path.

        The official Java client encodes it twice and Pulsar decodes it twice, so what still looks encoded is.
        """
        text = self.part("sub")
        if _ESCAPE.search(text):
            with contextlib.suppress(UnicodeDecodeError):
                return unquote_to_bytes(text).decode()
        return text

    def found_sub(self, topic: Topic) -> Subscription | None:
        """The subscription of the path on this topic: under the name as it stands there, or decoded once more."""
        text = self.part("sub")
        for name in (text, self.sub(), unquote(text.replace("+", " "))):
            if name in topic.subscriptions:
                return topic.subscriptions[name]
        return None

    async def subscriptions(self) -> list[Subscription]:
        """The subscription of the path on the topic, or on every partition of it that has been used and has it."""
        name = self.name()
        partitions = self.core.catalog.partitions(name)
        topics = self.partitions(name) if partitions else [await self.open(name)]
        found = [sub for sub in map(self.found_sub, topics) if sub is not None]
        if not found:
            raise self.unknown_subscription()
        return found

    def unknown_subscription(self) -> Refusal:
        return Refusal(404, f"Subscription {self.sub()} not found for topic {self.name()}")

    def partitions(self, name: TopicName) -> list[Topic]:
        """The partitions of a topic that have been used."""
        count = self.core.catalog.partitions(name)
        topics = [self.core.topics.get(str(name.with_partition(index))) for index in range(count)]
        return [topic for topic in topics if topic is not None]

    def flag(self, name: str, default: bool = False) -> bool:
        """A boolean of the query."""
        value = self.request.query.get(name)
        return default if value is None else value.lower() == "true"

    def number(self, name: str) -> int:
        """A whole number of 64 bits in the path. With anything else in its place there is nothing at this path."""
        return _whole(self.part(name), 404, f"{name} has to be a whole number")

    def query_number(self, name: str, default: int) -> int:
        """A whole number of the query."""
        text = self.request.query.get(name)
        return default if text is None else _whole(text, 404, f"{name} has to be a whole number")

    def now_ms(self) -> int:
        """The broker's clock; the core's own time stands still between its turns."""
        return self.bridge.pump.clock.now_ms()

    async def body(self, decoder: msgspec.json.Decoder[T], absent: T) -> T:
        """The JSON body as what ``decoder`` reads; ``absent`` when there is none."""
        data = await self.request.read()
        return self._decoded(decoder, data) if data.strip() else absent

    async def given(self, decoder: msgspec.json.Decoder[T]) -> T:
        """The JSON body, without which the request makes no sense."""
        data = await self.request.read()
        if not data.strip():
            raise Refusal(400, "The request entity cannot be empty.")
        return self._decoded(decoder, data)

    def _decoded(self, decoder: msgspec.json.Decoder[T], data: bytes) -> T:
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refusal(400, f"the body is not what was expected: {error}") from None


def _whole(text: str, status: int, reason: str) -> int:
    digits = text[1:] if text.startswith("-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and abs(int(text)) < 1 << 63):
        raise Refusal(status, f"{reason}, not '{text}'")
    return int(text)


Handler = Callable[[Call], Awaitable[web.StreamResponse]]
