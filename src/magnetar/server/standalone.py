"""The broker as one process: metadata, log, core, sockets, put together and taken down in the right order."""

from __future__ import annotations

import asyncio
import logging

from magnetar.core.broker import Broker
from magnetar.core.catalog import NAMESPACES, TENANTS, encode_row
from magnetar.core.unfinished import left_over
from magnetar.ports.log import LogStore
from magnetar.ports.metadata import MetadataStore
from magnetar.server.clock import Clock
from magnetar.server.connection import Connection
from magnetar.server.core_options import core_options
from magnetar.server.dynamic import Dynamic
from magnetar.server.pump import Pump
from magnetar.server.settings import Settings

__all__ = ["Standalone"]

_PAGE = 5_000
_BUILT_IN_TENANTS = ("public", "pulsar")
_BUILT_IN_NAMESPACES = ("public/default", "pulsar/system")

_log = logging.getLogger(__name__)


class Standalone:
    """``start`` returns when clients are answered; ``stop`` when everything is durable and closed."""

    def __init__(self, settings: Settings, log: LogStore, metadata: MetadataStore) -> None:
        self.options = core_options(settings)
        self.log = log
        self.metadata = metadata
        self.clock = Clock()
        self.core = Broker(self.options, self.clock.now_ms())
        self.dynamic = Dynamic(settings, self.core)
        self.notes: list[str] = []
        self._pump: Pump | None = None
        self._server: asyncio.Server | None = None

    @property
    def pump(self) -> Pump:
        assert self._pump is not None, "the broker is not started"
        return self._pump

    async def start(self, host: str, port: int) -> int:
        """Recover, then listen; the port that was bound."""
        await self.metadata.open()
        await self._load_catalog()
        self.dynamic.apply()
        recovered = self.log.recover()
        self.notes = recovered.notes
        for note in recovered.notes:
            _log.warning("%s", note)
        self.core.now_ms = self.clock.now_ms()
        self.core.restore(recovered)
        self._pump = Pump(self.core, self.log, self.metadata, self.clock)
        self._pump.start()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, host, port, backlog=1024)
        return int(self._server.sockets[0].getsockname()[1])

    def _connection(self) -> Connection:
        return Connection(self.pump)

    async def _load_catalog(self) -> None:
        after: str | None = None
        while True:
            page = await self.metadata.scan("/", after, _PAGE)
            for row in page:
                self.core.catalog.apply(row.path, row.value)
            if len(page) < _PAGE:
                break
            after = page[-1].path
        for path in left_over(self.core.catalog):
            await self.metadata.delete(path)
            self.core.catalog.apply(path, None)
        for tenant in _BUILT_IN_TENANTS:
            value = encode_row({"adminRoles": [], "allowedClusters": [self.options.cluster]})
            await self._make_sure(tenant in self.core.catalog.tenants, TENANTS + tenant, value)
        for namespace in _BUILT_IN_NAMESPACES:
            value = encode_row({"replication_clusters": [self.options.cluster]})
            await self._make_sure(namespace in self.core.catalog.namespaces, NAMESPACES + namespace, value)

    async def _make_sure(self, there: bool, path: str, value: bytes) -> None:
        if not there:
            await self.metadata.put(path, value)
            self.core.catalog.apply(path, value)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        if self._pump is not None:
            await self._pump.stop()
        await self.metadata.close()
