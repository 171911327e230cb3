"""The pump: turns of the core, and everything between it and the world.

A turn runs once per pass of the event loop in which anything happened: the core dispatches, frames are written, the
open commit goes to the log if none is under way, reads and metadata writes are started, the next timer is set. What
comes back from the log's thread enters through ``_log_events`` and makes a turn of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from magnetar.core.broker import BROKER_STREAM, Broker
from magnetar.core.catalog import MetaWrite
from magnetar.core.session import Session
from magnetar.errors import MagnetarError, MetadataFailed
from magnetar.ports.log import Committed, Failed, LogStore, ReadDone
from magnetar.ports.metadata import MetadataStore
from magnetar.server.bugs import BUGS
from magnetar.server.clock import Clock, poll
from magnetar.server.connection import Connection
from magnetar.server.works import start_works

__all__ = ["Pump"]

RECEIVE_BYTES = 256 * 1024
CHECKPOINT_SLICE = 200
"""Topics whose state is collected per turn of the loop while a checkpoint is made."""

_log = logging.getLogger(__name__)


class Pump:
    """Owns the core's turns. Everything here runs in the event loop's thread."""

    def __init__(self, core: Broker, log: LogStore, metadata: MetadataStore, clock: Clock) -> None:
        self.core = core
        self.log = log
        self.metadata = metadata
        self.clock = clock
        self.view = memoryview(bytearray(RECEIVE_BYTES))
        self.stopped: list[Connection] = []
        self.stopping = False
        self.closed = False
        self.connections: dict[int, Connection] = {}
        self.loop = asyncio.get_running_loop()
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = -1
        self.tasks: set[asyncio.Task[None]] = set()
        self._checkpoint: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Take over from recovery: from now on the log reports here."""
        self.log.start(self._wake)
        self.schedule()

    def _wake(self) -> None:
        """Called from the log's threads."""
        with contextlib.suppress(RuntimeError):  # the loop may be closed already while the last commit completes
            self.loop.call_soon_threadsafe(self._log_events)

    # -- connections -------------------------------------------------------------------------------------------------

    def opened(self, connection: Connection, address: str) -> Session:
        self.now()
        session = self.core.connect(address)
        self.connections[session.number] = connection
        return session

    def lost(self, session: Session) -> None:
        self.now()
        self.connections.pop(session.number, None)
        self.core.disconnected(session)
        self.schedule()

    # -- turns -------------------------------------------------------------------------------------------------------

    def now(self) -> None:
        """Tell the core what time it is."""
        self.core.now_ms = self.core.meter.tick(self.clock.now_us())

    def schedule(self) -> None:
        """Make a turn at the end of this pass of the loop."""
        if not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self._turn)

    def run(self, call: Callable[[], None]) -> None:
        """Do something with the core from outside (the admin interface), followed by a turn."""
        self.now()
        call()
        self.schedule()

    def _turn(self) -> None:
        self._scheduled = False
        if self.closed:
            return
        core = self.core
        with BUGS:
            core.end_turn()
        with BUGS:
            commit = core.take_commit()
            if commit is not None:
                self.log.submit(commit.records)
        self._flush()
        if core.read_requests:
            requests = core.read_requests
            core.read_requests = []
            for ticket, stream, offset, entries, size in requests:
                self.log.read(ticket, stream, offset, entries, size)
        if core.meta_writes:
            writes = core.meta_writes
            core.meta_writes = []
            for write in writes:
                task = self.loop.create_task(self._store(write))
                self.tasks.add(task)
                task.add_done_callback(self.tasks.discard)
        if core.works and not self.stopping:
            start_works(self)
        if self.stopped:
            stopped = self.stopped
            self.stopped = []
            # Whoever reads again may have to stop again at once.
            self.stopped += [connection for connection in stopped if not connection.may_read()]
        if core.woken or core.dirty or (not core.commit.empty() and core.may_commit()):
            self.schedule()
        self._set_timer()
        if self._checkpoint is None and self.log.checkpoint_due():
            self._checkpoint = self.loop.create_task(self.checkpoint())

    def _flush(self) -> None:
        core = self.core
        while core.unflushed:
            sessions = core.unflushed
            core.unflushed = []
            for session in sessions:
                connection = self.connections.get(session.number)
                if connection is not None:
                    connection.flush()
            with BUGS:
                core.end_turn()
        if core.closing:
            closing = core.closing
            core.closing = []
            for session in closing:
                connection = self.connections.get(session.number)
                _log.info("closing connection %s: %s", session.address, session.closing)
                if connection is not None:
                    connection.hang_up()

    def _set_timer(self) -> None:
        due = self.core.timers.next_due()
        if due == self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_due = due
        if due >= 0:
            delay = max(due - self.clock.now_ms(), 0) / 1000
            self._timer = self.loop.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._timer_due = -1
        self.now()
        with BUGS:
            self.core.tick()
        self._turn()

    # -- the log -----------------------------------------------------------------------------------------------------

    def _log_events(self) -> None:
        """The log has something to say."""
        if self.closed:
            return
        self.now()
        core = self.core
        for event in self.log.poll():
            with BUGS:
                if isinstance(event, Committed):
                    core.committed()
                elif isinstance(event, ReadDone):
                    core.read_done(event)
                elif isinstance(event, Failed):
                    _log.error("a commit failed: %s", event.error)
                    core.failed(event.error)
        self._turn()

    async def checkpoint(self) -> None:
        """Write down all state, in slices, so that recovery need not read further back than this."""
        try:
            token = self.log.begin_checkpoint()
            state: list[tuple[int, bytes, bytes]] = list(self.core.states())
            names = list(self.core.topics)
            for start in range(0, len(names), CHECKPOINT_SLICE):
                for name in names[start : start + CHECKPOINT_SLICE]:
                    topic = self.core.topics.get(name)
                    if topic is not None and topic.stream != BROKER_STREAM:
                        state.extend(topic.states())
                await asyncio.sleep(0)
            self.log.finish_checkpoint(token, state)
        except OSError as error:
            _log.error("a checkpoint could not be written: %s; the next start will take longer", error)
        finally:
            self._checkpoint = None

    # -- metadata ----------------------------------------------------------------------------------------------------

    async def _store(self, write: MetaWrite) -> None:
        error: Exception | None = None
        try:
            if write.value is None:
                await self.metadata.delete(write.path)
            else:
                await self.metadata.put(write.path, write.value, -1 if write.create else None)
        except MagnetarError as refused:
            error = refused
        except OSError as failed:
            error = MetadataFailed(f"the metadata store failed: {failed}")
        self.now()
        with BUGS:
            self.core.meta_done(write, error)
        self.schedule()

    # -- stop --------------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Take nothing more in, let what is under way be durable and answered, hang up, checkpoint, close the log."""
        self.stopping = True
        for connection in self.connections.values():
            connection.stop_reading()
        if self._checkpoint is not None:
            await self._checkpoint
        await poll(1_000, self._settled)
        self._flush()
        for connection in list(self.connections.values()):
            connection.hang_up()
        await poll(200, lambda: not self.connections)
        await self.checkpoint()
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        self.log.close()

    def _settled(self) -> bool:
        """Whether nothing is under way; what waits for a log that cannot be written waits in vain."""
        core = self.core
        return core.in_flight is None and (bool(core.log_error) or not (core.commit.records or self.tasks))
