"""The log port over append-only segment files. ``docs/reference/log-format.md`` has the bytes."""

from __future__ import annotations

from magnetar.log.files.errors import DirectoryInUse, FormatUnknown
from magnetar.log.files.store import FileLog

__all__ = ["DirectoryInUse", "FileLog", "FormatUnknown"]
