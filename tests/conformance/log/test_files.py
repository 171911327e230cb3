"""The log in files under the suite of all logs: on a disk that fails, and on the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from magnetar.testing.log_conformance import LogConformance, LogHarness

from .harnesses import FilesHarness, OsHarness


class TestFileLog(LogConformance):
    @pytest.fixture(params=range(6))
    def harness(self, request: pytest.FixtureRequest) -> LogHarness:
        return FilesHarness(request.param)


class TestFileLogOnTheRealDisk(LogConformance):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> LogHarness:
        return OsHarness(tmp_path / "log")
