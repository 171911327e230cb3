"""Disk, processes, the table: what stands around the loads."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from bench.__main__ import ROWS, choose_folder, parser
from bench.arena import Row
from bench.brokers import Broker, kilobyte_lines, read_cpu_s, read_memory
from bench.disk import in_memory, sync_loop
from bench.session import BrokerError
from bench.stats import MISSED
from bench.table import figure, render, write_json

MOUNTS = "/dev/a / ext4 rw 0 0\ntmpfs /fast tmpfs rw 0 0\n/dev/b /fast/disk ext4 rw 0 0\n"


def test_the_bare_loop_writes_syncs_and_cleans_up(tmp_path: Path) -> None:
    run = sync_loop(tmp_path, 3 << 20, 2)
    assert run.bytes_per_s > 0
    assert 0 < run.median_ms <= run.p99_ms
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_memory_is_recognised() -> None:
    assert in_memory(Path("/fast/x"), MOUNTS)
    assert not in_memory(Path("/fast/disk/x"), MOUNTS)
    assert not in_memory(Path("/home"), MOUNTS)
    assert not in_memory(Path("/fastfood"), MOUNTS)


def test_the_folder_asked_for_is_taken(tmp_path: Path) -> None:
    assert choose_folder(tmp_path) == tmp_path


def test_costs_of_a_process_are_read() -> None:
    memory = read_memory(os.getpid())
    assert memory.highest >= memory.resident > 1
    assert read_cpu_s(os.getpid()) > 0
    assert kilobyte_lines("Name:\tx\nVmRSS:\t  2048 kB\nThreads:\t1\n") == {"VmRSS": 2048}


def test_a_broker_that_ends_at_once_is_reported_with_its_last_words(tmp_path: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -c 'raise SystemExit(\"no such port {{port}}\")'"
    broker = Broker("ours", command, folder=tmp_path)
    with pytest.raises(BrokerError, match=r"code 1: no such port \d+"):
        broker.start()
    broker.stop()
    broker.wipe()
    assert list(tmp_path.iterdir()) == []


def test_figures_are_short() -> None:
    assert [figure(value, "rate") for value in (None, 12.0, 192_300.0, 1.9e6)] == [
        "-",
        "12 /s",
        "192.3 k/s",
        "1.90 M/s",
    ]
    assert (figure(63.4, "MB"), figure(0.1234, "s")) == ("63 MB", "0.123 s")


def test_the_table_names_what_was_missed_and_keeps_its_columns(tmp_path: Path) -> None:
    rows = [
        Row("a", "first", "rate", ours=1e6, rival=5e5, ratio=2.0, target="ratio >= 1", verdict="met", spread=0.1),
        Row("b", "second", "MB", target="< 70 MB", verdict=MISSED, notes=["ours: no answer"]),
    ]
    text = render(rows, with_pulsar=False)
    lines = text.splitlines()
    assert len({len(line) for line in lines[:4]}) == 1
    assert "1 missed: second" in text
    assert "- second: ours: no answer" in lines
    assert "Apache Pulsar" in render(rows, with_pulsar=True)
    assert "No target missed." in render(rows[:1], with_pulsar=False)
    write_json(tmp_path / "out.json", rows, {"cores": 2})
    assert [row["key"] for row in json.loads((tmp_path / "out.json").read_text())["rows"]] == ["a", "b"]


def test_rows_can_be_chosen_and_a_wrong_name_is_refused() -> None:
    assert parser().parse_args(["--only", "publish", "--only", "start"]).only == ["publish", "start"]
    assert {"publish", "start", "admin_stats", "admin_load"} <= set(ROWS)
    with pytest.raises(SystemExit):
        parser().parse_args(["--only", "nonsense"])
