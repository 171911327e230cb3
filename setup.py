"""Compiles the hottest modules with mypyc where that is possible; everything else about the package is in pyproject.

The same files run uncompiled, only slower. They are compiled when mypy and a C compiler are there and the environment
does not say ``MAGNETAR_COMPILE=0``; when anything about that fails, one sentence says so and the package is plain
Python. Builds by pip in isolation have no mypy and therefore take the plain way; ``make compiled`` builds in place.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MODULES = (
    "src/magnetar/wire/acks.py",
    "src/magnetar/wire/delivery.py",
    "src/magnetar/wire/entry.py",
    "src/magnetar/wire/frames.py",
    "src/magnetar/wire/hashing.py",
    "src/magnetar/wire/hot.py",
    "src/magnetar/wire/metadata.py",
    "src/magnetar/wire/replies.py",
    "src/magnetar/wire/stickykey.py",
    "src/magnetar/wire/varint.py",
    "src/magnetar/core/ackset.py",
    "src/magnetar/core/batchmask.py",
    "src/magnetar/core/broker.py",
    "src/magnetar/core/commit.py",
    "src/magnetar/core/consumer.py",
    "src/magnetar/core/dedup.py",
    "src/magnetar/core/entryinfo.py",
    "src/magnetar/core/failover.py",
    "src/magnetar/core/ledgers.py",
    "src/magnetar/core/limits.py",
    "src/magnetar/core/measure.py",
    "src/magnetar/core/nonpersistent/dispatch.py",
    "src/magnetar/core/nonpersistent/subscription.py",
    "src/magnetar/core/nonpersistent/topic.py",
    "src/magnetar/core/options.py",
    "src/magnetar/core/producer.py",
    "src/magnetar/core/replay.py",
    "src/magnetar/core/retired.py",
    "src/magnetar/core/sendcheck.py",
    "src/magnetar/core/sending.py",
    "src/magnetar/core/session.py",
    "src/magnetar/core/source.py",
    "src/magnetar/core/stamping.py",
    "src/magnetar/core/subscription.py",
    "src/magnetar/core/tail.py",
    "src/magnetar/core/throttle.py",
    "src/magnetar/core/throttled.py",
    "src/magnetar/core/timers.py",
    "src/magnetar/core/topic.py",
    "src/magnetar/core/dispatch/base.py",
    "src/magnetar/core/dispatch/classic.py",
    "src/magnetar/core/dispatch/compacted.py",
    "src/magnetar/core/dispatch/delayed.py",
    "src/magnetar/core/dispatch/delaying.py",
    "src/magnetar/core/dispatch/draining.py",
    "src/magnetar/core/dispatch/duekeys.py",
    "src/magnetar/core/dispatch/gate.py",
    "src/magnetar/core/dispatch/keyed.py",
    "src/magnetar/core/dispatch/keyshared.py",
    "src/magnetar/core/dispatch/lease.py",
    "src/magnetar/core/dispatch/oneofmany.py",
    "src/magnetar/core/dispatch/pending.py",
    "src/magnetar/core/dispatch/relief.py",
    "src/magnetar/core/dispatch/rebalancer.py",
    "src/magnetar/core/dispatch/reselect.py",
    "src/magnetar/core/dispatch/shared.py",
    "src/magnetar/core/dispatch/single.py",
    "src/magnetar/core/dispatch/skim.py",
    "src/magnetar/core/dispatch/waiting.py",
    "src/magnetar/core/explain/keyed.py",
    "src/magnetar/core/selector/load.py",
    "src/magnetar/core/selector/names.py",
    "src/magnetar/core/selector/rateaware.py",
    "src/magnetar/core/selector/rebalance.py",
    "src/magnetar/core/selector/ring.py",
    "src/magnetar/core/selector/split.py",
    "src/magnetar/core/selector/sticky.py",
    "src/magnetar/log/files/records.py",
)
"""Fully typed, without I/O, and where the time goes. Those that do not exist are left out."""


class OptionalBuild(build_ext):
    """Builds the extensions all or none, and as many of their C files at a time as there are cores."""

    def build_extensions(self) -> None:
        one_after_another = self.compiler.compile

        def at_once(sources: list[str], **options: object) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                made = list(pool.map(lambda source: one_after_another([source], **options), sources))
            return [name for names in made for name in names]

        self.compiler.compile = at_once
        super().build_extensions()

    def run(self) -> None:
        try:
            super().run()
        except Exception:  # noqa: BLE001  (compilers fail in many ways, and none of them may stop an install)
            say("the C compiler failed: Magnetar is installed as plain Python, which is slower")
            for extension in self.extensions:
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            self.extensions = []


def say(sentence: str) -> None:
    print(f"magnetar: {sentence}", file=sys.stderr)


def extensions() -> list[Extension]:
    present = [module for module in MODULES if Path(module).exists()]
    if os.environ.get("MAGNETAR_COMPILE") == "0" or not present:
        return []
    try:
        from mypyc.build import mypycify
    except ImportError:
        return []
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if sys.platform != "win32" and shutil.which(os.environ.get("CC", compiler).split()[0]) is None:
        say("there is no C compiler: Magnetar is installed as plain Python, which is slower")
        return []
    try:
        built: list[Extension] = mypycify(
            present, opt_level="3", debug_level="0", group_name="magnetar", multi_file=True
        )
    except SystemExit:
        # mypy has printed what it does not like and wants to end the process.
        say("mypyc refuses a module, see above: Magnetar is installed as plain Python, which is slower")
        return []
    return built


if __name__ == "__main__":
    setup(ext_modules=extensions(), cmdclass={"build_ext": OptionalBuild})
