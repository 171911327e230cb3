"""Writes docs/reference/settings.md from the table of settings. Run it after changing that table."""

from __future__ import annotations

from pathlib import Path

from magnetar.server.settings import Key, Value, keys

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"

HEAD = """\
# Settings

<!-- Made by tools/gen_settings_doc.py from the table in src/magnetar/server/settings.py: change that, then run it. -->

The names are those of Apache Pulsar's `broker.conf`, and they mean the same. A value comes from the strongest of these:

1. `-o key=value` on the command line, as often as you like;
2. the environment variable `PULSAR_PREFIX_<key>`;
3. the environment variable that is called exactly as the key;
4. the file given with `--config`: `key=value` lines in the format of `broker.conf`;
5. the default.

An empty value means the default, or "none" where the table says so. Lists are written with commas. A key that nobody
knows is named with the nearest right one: a warning in a file or in the environment, an error on the command line.

The last column says how far a key goes in this version. *later*: it is understood, so that one file serves both
brokers, but has no effect yet, and changing it gives a warning. *refused*: the broker does not start when it is
changed, because it would run without what was asked for.

| key | default | values | what it does | |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(row(key) for key in sorted(keys().values(), key=lambda key: key.name.lower()))


def row(key: Key) -> str:
    effect = "refused" if key.refused else "later" if key.later else ""
    return f"| `{key.name}` | {written(key.default)} | {values(key)} | {key.text} | {effect} |\n"


def written(value: Value) -> str:
    """A value as one would write it in a file."""
    if value is None or value in ((), ""):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{','.join(value) if isinstance(value, tuple) else value}`"


def values(key: Key) -> str:
    names = {bool: "true or false", int: "whole number", float: "number", str: "text", tuple: "list"}
    said = "; ".join(f"`{choice}`" for choice in key.one_of) if key.one_of else names[key.kind]
    if key.kind is tuple and key.one_of:
        said = "list of " + said
    if key.at_most is not None:
        said += f" from {key.at_least:g} to {key.at_most:g}"
    elif key.at_least is not None:
        said += f", {key.at_least:g} or more"
    return said + (", or none" if key.optional else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
