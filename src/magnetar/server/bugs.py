"""An error that nobody expected, in a part of a turn that serves many: it is logged, and the turn goes on.

Whoever the bug is about may be left without an answer. Without this everybody else would be, too: what the log said is
said once, and a turn that breaks off writes nothing and commits nothing.
"""

from __future__ import annotations

import logging
from types import TracebackType

__all__ = ["BUGS"]

_log = logging.getLogger(__name__)


class _Bugs:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        _log.error("a bug in the broker; it goes on without what it was about to do", exc_info=error)
        return True


BUGS = _Bugs()
"""``with BUGS:`` around a part of a turn."""
