"""What is raised when bytes do not follow the protocol."""

from __future__ import annotations

__all__ = ["FrameError", "WireError"]


class WireError(ValueError):
    """Bytes from a peer, or from storage, that cannot be understood. The text says what is wrong with them."""


class FrameError(WireError):
    """The sizes around a command contradict each other or a limit, so the stream cannot be followed any further."""
