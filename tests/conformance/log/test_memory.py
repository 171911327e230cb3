"""The memory log under the suite of all logs."""

from __future__ import annotations

import pytest

from magnetar.testing.log_conformance import LogConformance, LogHarness

from .harnesses import MemoryHarness


class TestMemoryLog(LogConformance):
    @pytest.fixture
    def harness(self) -> LogHarness:
        return MemoryHarness()
