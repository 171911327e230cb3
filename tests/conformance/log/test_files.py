"""The log in files under the suite of all logs: on a disk that fails, and on the real one."""

from __future__ import annotations

import pytest

from magnetar.testing.log_conformance import LogConformance, LogHarness

from .harnesses import FilesHarness


class TestFileLog(LogConformance):
    @pytest.fixture(params=range(6))
    def harness(self, request: pytest.FixtureRequest) -> LogHarness:
        return FilesHarness(request.param)
