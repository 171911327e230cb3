"""Frames: two sizes around a command, and where one ends in a stream of bytes.

``[total size u32][command size u32][command]`` and, for SEND and MESSAGE only, the payload section up to
the total size. Sizes are big-endian; the total does not count itself.
"""

from __future__ import annotations

from magnetar.wire.errors import FrameError

__all__ = ["FrameError", "frame", "next_frame", "payload_frame"]


def frame(command: bytes) -> bytes:
    """Put the sizes before a command that has no payload."""
    size = len(command)
    return (size + 4).to_bytes(4, "big") + size.to_bytes(4, "big") + command


def payload_frame(command: bytes, payload: bytes) -> bytes:
    """Put the sizes before a command, and the payload section behind it."""
    size = len(command)
    return b"".join([(size + 4 + len(payload)).to_bytes(4, "big"), size.to_bytes(4, "big"), command, payload])


def next_frame(buf: bytes, i: int, end: int, max_frame: int) -> tuple[int, int, int]:
    """Find the frame at ``i``: where its command starts, where the command ends, and where the frame ends.

    The last is -1 while the frame is not complete in ``buf[i:end]``. Sizes that cannot be right are refused as soon as
    their own bytes are there, before anything waits for the rest; ``max_frame`` is the most that the total may say.
    """
    if i < 0 or end > len(buf):
        raise FrameError(f"the part {i}:{end} does not lie inside {len(buf)} bytes")
    if end - i < 4:
        return 0, 0, -1
    total = buf[i] << 24 | buf[i + 1] << 16 | buf[i + 2] << 8 | buf[i + 3]
    if total > max_frame:
        raise FrameError(f"a frame of {total} bytes, more than the {max_frame} that are allowed")
    if total < 4:
        raise FrameError(f"a frame of {total} bytes, too small for a command size")
    if end - i < 8:
        return 0, 0, -1
    size = buf[i + 4] << 24 | buf[i + 5] << 16 | buf[i + 6] << 8 | buf[i + 7]
    if size > total - 4:
        raise FrameError(f"a command of {size} bytes in a frame of {total}")
    if size < 2:
        raise FrameError(f"a command of {size} bytes, too small for a type")
    if end - i < 4 + total:
        return 0, 0, -1
    return i + 8, i + 8 + size, i + 4 + total
