"""How long Hypothesis searches. Time is never a reason to fail: the machine may be busy with something else."""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

_NO_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("quick", _NO_CLOCK)
settings.register_profile("nightly", _NO_CLOCK, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# What a shell runs in its background ignores Ctrl-C and hands that down; what Ctrl-C does to our commands is tested.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
