"""Was every message received, and was every send answered? Judged from the tapes of `bench.scan`, off the clock."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise

from bench import wire
from bench.frames import FIRST_SEQUENCE, key_number
from bench.scan import TAPE_BYTES


def receipt_errors(tape: bytes, expected: bytes) -> list[str]:
    """Compare the receipts with what was sent; nothing to report when they are the same in the same order."""
    if tape == expected:
        return []
    got = [tape[at : at + TAPE_BYTES] for at in range(0, len(tape), TAPE_BYTES)]
    want = [expected[at : at + TAPE_BYTES] for at in range(0, len(expected), TAPE_BYTES)]
    missing, unknown = set(want) - set(got), set(got) - set(want)
    errors = []
    if missing:
        first = min(_sequence(item) for item in missing)
        errors.append(f"{len(missing)} sends without a receipt, the first is number {first}")
    if unknown:
        errors.append(f"{len(unknown)} receipts for what was never sent")
    if len(got) != len(set(got)):
        errors.append(f"{len(got) - len(set(got))} receipts came twice")
    disordered = sum(_out_of_order([item for item in got if item[0] == producer]) for producer in {i[0] for i in got})
    if disordered:
        errors.append(f"{disordered} receipts out of order")
    return errors


def _sequence(item: bytes) -> int:
    return wire.read_varint(item, 1)[0] - FIRST_SEQUENCE


def _out_of_order(items: list[bytes]) -> int:
    numbers = [_sequence(item) for item in items]
    return sum(after <= before for before, after in pairwise(numbers))


@dataclass(frozen=True, slots=True)
class Received:
    """What a set of consumers received, seen from the indexes inside the messages."""

    entries: int
    missing: int
    twice: int
    unknown: int
    disordered: int
    shared_keys: int

    def errors(self) -> list[str]:
        """Say what is wrong, one sentence a kind; out of order counts only where the caller asked for keys."""
        counts = {
            "missing": self.missing,
            "delivered twice": self.twice,
            "never published": self.unknown,
            "out of order within their key": self.disordered,
            "keys held by more than one consumer": self.shared_keys,
        }
        return [f"{count} {what}" for what, count in counts.items() if count]


def indexes(tape: bytes, batch: int) -> list[int]:
    """Return the entry numbers on a tape: the index of an entry's last message, divided by the batch."""
    packed = bytearray(len(tape) // TAPE_BYTES * 4)
    for column in range(4):
        packed[column::4] = tape[1 + column :: TAPE_BYTES]
    numbers = array("I", bytes(packed))
    numbers.byteswap()
    return numbers.tolist() if batch == 1 else [number // batch for number in numbers]


def check_deliveries(tapes: list[bytes], expected: int, batch: int, keys: int = 0, hold: int = 0) -> Received:
    """Judge the tapes of all consumers of one load of `expected` entries; `keys` asks for the order within keys."""
    seen = bytearray(expected)
    unknown = twice = disordered = 0
    owner: dict[int, int] = {}
    shared: set[int] = set()
    total = 0
    for consumer, tape in enumerate(tapes):
        last: dict[int, int] = {}
        for number in indexes(tape, batch):
            total += 1
            if number >= expected:
                unknown += 1
                continue
            twice += seen[number]
            seen[number] = 1
            if keys:
                key = key_number(number, keys, hold)
                disordered += last.get(key, -1) >= number
                last[key] = number
                if owner.setdefault(key, consumer) != consumer:
                    shared.add(key)
    return Received(total, seen.count(0), twice, unknown, disordered, len(shared))
