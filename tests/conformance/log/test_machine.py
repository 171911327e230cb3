"""Both adapters against the model."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from magnetar.testing.log_machine import log_machine

from .harnesses import FilesHarness, MemoryHarness

_RUN = settings(
    max_examples=int(os.environ.get("MAGNETAR_LOG_EXAMPLES", "40")),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

TestMemoryLog = log_machine(MemoryHarness).TestCase
TestMemoryLog.settings = _RUN
TestFileLog = log_machine(FilesHarness).TestCase
TestFileLog.settings = _RUN
