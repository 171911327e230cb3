"""The sentences the log in files says when something of the disk goes wrong."""

from __future__ import annotations

import errno

from magnetar.errors import LogFailed

__all__ = ["DirectoryInUse", "FormatUnknown", "failure"]


class DirectoryInUse(LogFailed):
    """Another process holds the data directory."""


class FormatUnknown(LogFailed):
    """The directory was written by a version of Magnetar that this one does not know."""


def failure(error: Exception, directory: str, doing: str) -> LogFailed:
    """What a producer and an operator read when ``doing`` failed in ``directory``."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LogFailed(
            f"no space left on the disk that holds {directory}: free some space; publishing resumes by itself"
        )
    reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    return LogFailed(
        f"{doing} in {directory} failed: {reason}. Nothing of it was acknowledged; the next publish tries a new file. "
        f"If this happens again, check the disk (its kernel messages and SMART state) and the rights of the directory"
    )
