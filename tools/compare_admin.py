"""Sends the same requests to two brokers and writes down what they answer otherwise.

    python -m tools.compare_admin http://localhost:8080 http://pulsar:8080 --write docs/reference/admin-compare.md

The first is ours, the second a real Apache Pulsar; both are left as they were found, apart from a tenant ``cmp`` that
is made and taken away. What is sent stands in tools/admin_compare/requests.txt, with an explanation below each request
that is answered otherwise. The exit code is 1 when a difference has no explanation, or an explanation no difference.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tools.admin_compare.script import REQUESTS, Answer, Line, Run, read
from tools.admin_compare.shape import RULES, Difference, differences

HEAD = """\
# The admin interface beside Pulsar's

<!-- Made by tools/compare_admin.py from a run against both brokers; the explanations stand in its list of requests. -->

The same {requests} requests were sent to this broker and to Apache Pulsar {version} (standalone, with its default
settings), and their answers compared: status, reason, headers of messages, and the names and types of all fields.
**{same}** were answered alike. The others:

"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ours", help="address of our broker's HTTP side")
    parser.add_argument("theirs", help="address of a Pulsar's")
    parser.add_argument("--write", type=Path, help="the page to write")
    parser.add_argument("--all", action="store_true", help="show also what rules explain")
    asked = parser.parse_args(arguments)
    lines = read(REQUESTS.read_text(encoding="utf-8"))
    here, there = Run(asked.ours), Run(asked.theirs)
    ours, theirs = _carried_out(here, lines), _carried_out(there, lines)
    found: list[tuple[Line, Difference]] = []
    for line, a, b in zip(lines, theirs, ours, strict=True):
        difference = differences(a, b) if a is not None and b is not None else None
        if difference is not None:
            found.append((line, difference))
    unexplained = [(line, each) for line, each in found if not (each.rule or line.because)]
    useless = [line for line in lines if line.because and not any(line is one and not each.rule for one, each in found)]
    for line, each in found if asked.all else unexplained:
        print(f"{line.number}: {line}\n    there: {each.theirs}\n    here:  {each.ours} {each.rule}")
    for line in useless:
        print(f"{line.number}: {line}\n    is explained, but answered alike")
    requests = sum(answer is not None for answer in ours)
    print(
        f"{requests} requests, {requests - len(found)} answered alike, {len(unexplained)} unexplained", file=sys.stderr
    )
    if asked.write is not None:
        version = there.ask("GET", "brokers/version").body.decode()
        asked.write.write_text(page(version, requests, found), encoding="utf-8")
    return 1 if unexplained or useless else 0


def _carried_out(run: Run, lines: list[Line]) -> list[Answer | None]:
    run.start()
    try:
        return [run.do(line) for line in lines]
    finally:
        run.stop()


def page(version: str, requests: int, found: list[tuple[Line, Difference]]) -> str:
    """What was found, as a page."""
    text = HEAD.format(requests=requests, version=version, same=requests - len(found))
    rules = Counter(each.rule for _, each in found if each.rule)
    text += "| how many | what differs, and why |\n| --- | --- |\n"
    text += "".join(f"| {rules[rule]} | {RULES[rule]} |\n" for rule in RULES if rules[rule])
    single = [(line, each) for line, each in found if not each.rule]
    text += f"| {len(single)} | One by one, below. |\n"
    section = ""
    for line, each in single:
        if line.section != section:
            section = line.section
            text += f"\n## {section}\n\n| request | Pulsar | here | why |\n| --- | --- | --- | --- |\n"
        cells = (_cell(str(line)), _cell(each.theirs), _cell(each.ours), line.because or "not explained yet")
        text += f"| {' | '.join(cells)} |\n"
    return text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
