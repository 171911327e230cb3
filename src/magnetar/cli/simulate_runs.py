"""Seeds in order, in one process or in several, with progress."""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass

from magnetar.sim.run import Outcome, run_seed

__all__ = ["Job", "Progress", "jobs_of", "run_jobs"]

TELL_EVERY_S = 2.0
_BATCH = 20
"""Seeds of one job: few enough for progress to be seen, enough for the way to another process not to count."""


@dataclass(frozen=True, slots=True)
class Job:
    """Some seeds of one world."""

    world: str
    seeds: range
    steps: int


@dataclass(slots=True)
class Done:
    """What became of a job."""

    seeds: int = 0
    steps: int = 0
    deliveries: int = 0
    cpu_s: float = 0.0
    failed: tuple[str, int, int] | None = None


class Progress:
    """Counts what was run, and says so every now and then."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.began_s = self.told_s = time.monotonic()
        self.total = Done()

    def add(self, done: Done) -> None:
        total = self.total
        total.seeds += done.seeds
        total.steps += done.steps
        total.deliveries += done.deliveries
        total.cpu_s += done.cpu_s
        if time.monotonic() - self.told_s >= TELL_EVERY_S:
            self.told_s = time.monotonic()
            self.tell(self.line())

    def numbers(self) -> dict[str, int]:
        """What there is to know, by name."""
        total, wall_s = self.total, time.monotonic() - self.began_s
        return {
            "seeds": total.seeds,
            "steps": total.steps,
            "deliveries": total.deliveries,
            "steps_per_minute": round(total.steps / wall_s * 60),
            "steps_per_cpu_minute": round(total.steps / total.cpu_s * 60) if total.cpu_s else 0,
        }

    def line(self) -> str:
        found = self.numbers()
        return (
            f"{found['seeds']} seeds, {found['steps']} steps, {found['deliveries']} deliveries, "
            f"{found['steps_per_minute']} steps a minute, {found['steps_per_cpu_minute']} a minute of CPU"
        )


def jobs_of(worlds: Iterable[str], start: int, count: int, steps: int) -> Iterator[Job]:
    """So many seeds of each world, the worlds in turn; without end when the count is 0."""
    names = list(worlds)
    firsts = range(start, start + count, _BATCH) if count else itertools.count(start, _BATCH)
    for first in firsts:
        end = min(first + _BATCH, start + count) if count else first + _BATCH
        for world in names:
            yield Job(world, range(first, end), steps)


def run_jobs(jobs: Iterator[Job], processes: int, progress: Progress) -> Outcome | None:
    """Run them until one breaks a rule, which is returned, or the user has seen enough."""
    try:
        for done in map(_run, jobs) if processes == 1 else _shared_out(jobs, processes):
            progress.add(done)
            if done.failed is not None:
                return run_seed(*done.failed)
    except KeyboardInterrupt:
        progress.tell("stopped")
    return None


def _shared_out(jobs: Iterator[Job], processes: int) -> Iterator[Done]:
    """Let processes run the jobs. They may be without end, so each process has one to run and one to go on with."""
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), _quietly) as pool:
        try:
            under_way = {pool.submit(_run, job) for job in itertools.islice(jobs, 2 * processes)}
            while under_way:
                finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                under_way |= {pool.submit(_run, job) for job in itertools.islice(jobs, len(finished))}
                for one in finished:
                    yield one.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _quietly() -> None:
    """Ctrl-C is for the process that tells."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(job: Job) -> Done:
    began_s = time.process_time()
    done = Done()
    for seed in job.seeds:
        outcome = run_seed(job.world, seed, job.steps)
        done.seeds += 1
        done.steps += len(outcome.actions)
        done.deliveries += outcome.deliveries
        if outcome.violation is not None:
            done.failed = (job.world, seed, job.steps)
            break
    done.cpu_s = time.process_time() - began_s
    return done
