"""A broker of a hundred lines that answers a load, and lies where it is told to.

It exists to show that the load notices: a lost receipt, a message that comes twice or never, an acknowledgement that is
forgotten. It serves one connection at a time per thread and keeps everything in memory.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from bench import wire


@dataclass
class SmallBroker:
    """What was stored and acknowledged, and which lies to tell."""

    drop_receipt: int = -1
    refuse_send: int = -1
    lose_delivery: int = -1
    repeat_delivery: int = -1
    spoil_delivery: int = -1
    forget_acks: bool = False
    silent_after: int = 1 << 40
    entries: list[bytes] = field(default_factory=list)
    acked: set[int] = field(default_factory=set)
    consumers: set[int] = field(default_factory=set)
    receipts: int = 0

    def answer(self, kind: int, fields: wire.Fields, payload: bytes) -> bytes:
        """Return the frames that answer one command."""
        match kind:
            case wire.CONNECT:
                return wire.command(wire.CONNECTED, wire.field(1, "small"), wire.field(2, 21))
            case wire.PARTITIONED_METADATA:
                return wire.command(
                    wire.PARTITIONED_METADATA_RESPONSE, wire.field(1, 0), _request(fields), wire.field(3, 0)
                )
            case wire.LOOKUP:
                return wire.command(wire.LOOKUP_RESPONSE, wire.field(3, 1), wire.field(4, wire.integer(fields, 2)))
            case wire.PRODUCER:
                success = wire.field(1, wire.integer(fields, 3)) + wire.field(2, "small")
                return wire.command(wire.PRODUCER_SUCCESS, success)
            case wire.SUBSCRIBE:
                return wire.command(wire.SUCCESS, wire.field(1, wire.integer(fields, 5)))
            case wire.SEND:
                return self.receive(wire.integer(fields, 1), wire.integer(fields, 2), payload)
            case wire.FLOW:
                return self.deliver(wire.integer(fields, 1))
            case wire.ACK:
                self.acked.add(wire.integer(wire.read_fields(wire.blob(fields, 3)), 2))
                return b""
            case wire.GET_LAST_MESSAGE_ID:
                return wire.command(wire.GET_LAST_MESSAGE_ID_RESPONSE, wire.field(1, message_id(0)), _request(fields))
        return b""

    def receive(self, producer: int, sequence: int, payload: bytes) -> bytes:
        """Store an entry and return its receipt, where it gets one."""
        self.entries.append(payload)
        self.receipts += 1
        number = self.receipts - 1
        body = wire.field(1, producer) + wire.field(2, sequence)
        if number == self.drop_receipt or number >= self.silent_after:
            return b""
        if number == self.refuse_send:
            return wire.command(wire.SEND_ERROR, body, wire.field(3, 3), wire.field(4, "no room"))
        return wire.command(wire.SEND_RECEIPT, body, wire.field(3, message_id(number)))

    def deliver(self, consumer: int) -> bytes:
        """Deliver the entries of this consumer's parity once, and again what was acknowledged in vain."""
        first = consumer not in self.consumers
        self.consumers.add(consumer)
        out = []
        for number, entry in enumerate(self.entries):
            if not first and not (self.forget_acks and number in self.acked):
                continue
            if number == self.lose_delivery or number >= self.silent_after:
                continue
            if number == self.spoil_delivery:
                entry = entry[:-20] + b"?" + entry[-19:]
            body = wire.field(1, consumer) + wire.field(2, message_id(number))
            whole = wire.frame(wire.base_command(wire.MESSAGE, body), entry)
            out += [whole] * (2 if number == self.repeat_delivery else 1)
        return b"".join(out)


def _request(fields: wire.Fields) -> bytes:
    return wire.field(2, wire.integer(fields, 2))


def message_id(entry: int) -> bytes:
    """Return a message id of ledger 7."""
    return wire.field(1, 7) + wire.field(2, entry)


def serve_connection(broker: SmallBroker, sock: socket.socket) -> None:
    """Answer one connection until it closes."""
    rest = b""
    with sock, suppress(ConnectionError):
        while received := sock.recv(1 << 16):
            data = rest + received
            end = 0
            answers = []
            for found in wire.cut(data):
                fields = wire.command_fields(found.kind, data[found.command : found.payload])
                answers.append(broker.answer(found.kind, fields, data[found.payload : found.end]))
                end = found.end
            rest = data[end:]
            sock.sendall(b"".join(answers))


@contextmanager
def serving(broker: SmallBroker) -> Iterator[str]:
    """Serve a broker on a free port of the loopback and yield its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                threads.append(threading.Thread(target=serve_connection, args=(broker, sock), daemon=True))
                threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(5)
        for thread in threads:
            thread.join(5)
