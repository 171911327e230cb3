"""What every adapter asks of a commit before it takes it, so that a driver's mistake shows at once and everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from magnetar.ports.log import Append, DropStream, Record

__all__ = ["KEY_BYTES_MAX", "check_commit"]

KEY_BYTES_MAX = 0xFFFF


def check_commit(records: Sequence[Record], ends: dict[int, int]) -> None:
    """Refuse a commit whose appends do not continue their streams; else move ``ends`` on past it.

    ``ends`` holds, for each stream, the offset after the last entry submitted so far. Nothing of it changes when the
    commit is refused.
    """
    moved: dict[int, int] | None = None
    for record in records:
        kind = type(record)
        if kind is Append:
            assert isinstance(record, Append)
            stream = record.stream
            if moved is None:
                moved = {}
            end = moved.get(stream)
            if end is None:
                end = ends.get(stream, 0)
            if record.offset != end:
                raise ValueError(f"stream {stream} ends at offset {end}, but an append to it starts at {record.offset}")
            moved[stream] = end + len(record.entries)
        elif kind is DropStream:
            if moved is None:
                moved = {}
            moved[record.stream] = 0
        else:
            key = getattr(record, "key", b"")
            if len(key) > KEY_BYTES_MAX:
                raise ValueError(f"a state key has {len(key)} bytes; at most {KEY_BYTES_MAX} are possible")
    if moved is not None:
        ends.update(moved)
