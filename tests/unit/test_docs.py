"""What the documents say is still so: links, settings, metrics, commands, programs."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from magnetar.admin.metric_clients import Levels
from magnetar.admin.metrics import render
from magnetar.admin.rates import Sampler
from magnetar.cli import main
from magnetar.core.broker import Broker
from magnetar.core.explain.codes import FREED_BY
from magnetar.core.options import Options
from magnetar.ports.log import LogStats
from magnetar.server.settings import keys
from tools.gen_settings_doc import written

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GUIDES = sorted((DOCS / "guides").glob("*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

by_name = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_SETTING = re.compile(r"^\| `([a-z]\w+)` \| (`[^`]*`|) \|", re.MULTILINE)
_METRIC = re.compile(r"`((?:pulsar|magnetar_(?:log|subscription|tail|topic))_[a-z_0-9S]+)`")
_COMMAND = re.compile(r"^\$ (?:.*\| )?magnetar (.*)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that headings become."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@by_name
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(_FENCE.sub("", page.read_text())):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "README.md").read_text()
    listed = {(DOCS / link).resolve() for link in _LINK.findall(index)}
    assert set(DOCS.rglob("*.md")) - {DOCS / "README.md"} <= listed


def test_decisions_are_numbered_one_after_another() -> None:
    pages = sorted((DOCS / "adr").glob("*.md"))
    for number, page in enumerate(pages, 1):
        assert page.name.startswith(f"{number:04}-"), page.name
        assert page.read_text().startswith(f"# {number}. "), page.name


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_settings_have_the_defaults_that_guides_say(page: Path) -> None:
    known = keys()
    for name, default in _SETTING.findall(page.read_text()):
        assert name in known, name
        assert default == written(known[name].default), name


def test_the_guide_to_key_shared_has_all_of_its_settings() -> None:
    named = {name for name, _ in _SETTING.findall((DOCS / "guides" / "key-shared.md").read_text())}
    of_it = {name for name in keys() if "keyshared" in name.lower()} - {"subscriptionKeySharedEnable"}
    assert of_it <= named


def metrics() -> set[str]:
    """The names on the metrics page, with every level of detail and without any."""
    core = Broker(Options(), 0)
    levels = (Levels(consumers=True, producers=True), Levels(topics=False))
    pages = [b"".join(render(core, Sampler(core, 60), LogStats(), each)).decode() for each in levels]
    return {name for page in pages for name in re.findall(r"^# TYPE (\S+) gauge$", page, re.MULTILINE)}


@by_name
def test_metrics_exist(page: Path) -> None:
    assert set(_METRIC.findall(page.read_text())) <= metrics()


def test_the_page_of_metrics_has_all_of_them() -> None:
    assert metrics() == set(_METRIC.findall((DOCS / "reference" / "metrics.md").read_text()))


@by_name
def test_commands_exist_with_their_options(page: Path) -> None:
    context = main.make_context("magnetar", [], resilient_parsing=True)
    for line in _COMMAND.findall(page.read_text()):
        command: click.Command | None = main
        for word in re.sub(r"'[^']*'|\"[^\"]*\"", "", line).split("|")[0].split():
            if word.startswith("-"):
                assert command is not None
                assert any(word in each.opts for each in command.get_params(context)), f"{word} in: magnetar {line}"
            elif isinstance(command, click.Group):
                command = command.get_command(context, word)
                assert command is not None, f"{word} in: magnetar {line}"


def test_the_guide_to_the_command_has_every_subcommand() -> None:
    text = (DOCS / "guides" / "cli.md").read_text()
    for name in main.list_commands(click.Context(main)):
        assert f"## {name}\n" in text, name


def test_the_guide_to_explain_has_every_verdict() -> None:
    text = (DOCS / "guides" / "explain.md").read_text()
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)) == set(FREED_BY)


@pytest.mark.parametrize(
    ("page", "program"), [("docs/guides/key-shared.md", "keyed.py"), ("docs/guides/testing.md", "test_orders.py")]
)
def test_a_program_stands_in_the_text_as_it_is(page: str, program: str) -> None:
    text = (ROOT / "examples" / program).read_text()
    assert f"```python\n{text}```" in (ROOT / page).read_text()


def test_the_readme_shows_the_first_program() -> None:
    text = (ROOT / "examples" / "hello.py").read_text()
    assert f"```python\n{text[text.index('import pulsar') :]}```" in (ROOT / "README.md").read_text()
