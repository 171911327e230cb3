"""How long the broker keeps a client waiting while it hands out the metrics of very many topics.

One connection asks for a sign of life again and again, first while nothing else goes on, then while another process
reads the metrics page. The longest answer is what one stretch of that page costs everybody else at worst. On a busy
machine that is mostly the machine; so the CPU time of the largest stretch is measured as well, in a process by itself.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
import time
from statistics import median

from bench import wire
from bench.arena import Arena, Row, say
from bench.session import BrokerError, Session
from bench.stats import Goal, percentile, verdict
from bench.topics import open_topics

TOPICS = 10_000
TIMEOUT_S = 60.0
PAUSE_S = 0.0005
"""Between two signs of life, so that asking for them does not take a core."""
QUIET_S = 2.0
STALL_MS = 5.0
_READ_BYTES = 1 << 20


def longest_stall(arena: Arena) -> Row:
    """Scrape a broker of ours with ten thousand topics while a client asks for signs of life."""
    say(f"/metrics of {TOPICS:,} topics with one subscription each ...")
    row = Row("metrics", f"longest wait during /metrics of {TOPICS:,} topics", "ms")
    scrapes = 2 if arena.quick else 5
    try:
        with arena.started([arena.ours]) as (contender,):
            if contender.failure:
                raise BrokerError(contender.failure)
            with Session(arena.ours.address, TIMEOUT_S) as session:
                open_topics(session, "many", TOPICS, TIMEOUT_S)
                read_page(arena.ours.http)
                quiet = _waits(session, None)
                loaded = [_scraped(session, arena.ours.http) for _ in range(scrapes)]
    except (BrokerError, OSError) as error:
        row.notes.append(f"ours: {error}")
        return row
    row.ours = median(max(waits) for waits, _ in loaded)
    every = [wait for waits, _ in loaded for wait in waits]
    row.notes.append(
        f"p99 {percentile(every, 0.99):.2f} ms, {scrapes} scrapes, each longest "
        + ", ".join(f"{max(waits):.2f}" for waits, _ in loaded)
    )
    row.notes.append(f"without a scrape: longest {max(quiet):.2f} ms, p99 {percentile(quiet, 0.99):.2f} ms")
    row.notes += [loaded[-1][1]]
    part = _largest_part()
    row.notes.append(f"the largest part of the page takes {part:.2f} ms of CPU time")
    goals = [Goal("", row.ours, below=STALL_MS), Goal("", part, below=STALL_MS)]
    row.target, row.verdict = f"< {STALL_MS:g} ms, or part", verdict(goals)
    return row


def _largest_part() -> float:
    """Milliseconds of CPU time that the longest stretch of the page takes, in a process without anything else."""
    command = [sys.executable, "-m", "bench.scrape", "parts"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=TIMEOUT_S)
    if done.returncode:
        raise BrokerError("the parts of the page could not be measured")
    return float(done.stdout)


def measure_parts() -> float:
    """The same in this process, over topics that nobody uses."""
    from magnetar.admin.metrics import render
    from magnetar.admin.rates import Sampler
    from magnetar.core.broker import Broker
    from magnetar.core.names import TopicName
    from magnetar.core.options import Options
    from magnetar.core.subscription import Subscription
    from magnetar.core.topic import Topic
    from magnetar.ports.log import LogStats

    core = Broker(Options(), 0)
    for number in range(TOPICS):
        topic = Topic(core, TopicName(f"many-{number}"), number + 1)
        topic.subscriptions["bench"] = Subscription(topic, "bench", True, 0)
        core.topics[str(topic.name)] = topic
    parts, longest = render(core, Sampler(core, 60), LogStats()), 0.0
    while True:
        started = time.thread_time()
        part = next(parts, None)
        longest = max(longest, time.thread_time() - started)
        if part is None:
            return longest * 1e3


def _scraped(session: Session, address: str) -> tuple[list[float], str]:
    """The waits while a process reads the page, and what it says of it."""
    command = [sys.executable, "-m", "bench.scrape", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        waits = _waits(session, process)
        said = process.stdout.read() if process.stdout is not None else ""
    if process.returncode:
        raise BrokerError("the metrics page could not be read")
    return waits, said.strip()


def _waits(session: Session, until: subprocess.Popen[str] | None) -> list[float]:
    """Milliseconds of each answer, until the process has ended or for a while."""
    ping, waits = wire.command(wire.PING), []
    end = time.monotonic() + (TIMEOUT_S if until else QUIET_S)
    while time.monotonic() < end and (until is None or until.poll() is None):
        started = time.perf_counter()
        session.ask(ping, wire.PONG)
        waits.append((time.perf_counter() - started) * 1e3)
        time.sleep(PAUSE_S)
    return waits


def read_page(address: str) -> tuple[int, float]:
    """Read the metrics page; its bytes and the seconds it took."""
    started, size = time.monotonic(), 0
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    try:
        connection.request("GET", "/metrics/")
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise BrokerError(f"/metrics answers {response.status}")
        while part := response.read(_READ_BYTES):
            size += len(part)
    finally:
        connection.close()
    return size, time.monotonic() - started


if __name__ == "__main__":
    if sys.argv[1] == "parts":
        sys.stdout.write(f"{measure_parts()}\n")
    else:
        page_bytes, seconds = read_page(sys.argv[1])
        sys.stdout.write(f"the page has {page_bytes / 1e6:.1f} MB and took {seconds:.2f} s\n")
