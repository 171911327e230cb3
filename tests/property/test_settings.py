"""Settings and their file format against values and files that Hypothesis makes up."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from magnetar.server.properties import parse_properties
from magnetar.server.settings import Key, Settings, Value, keys
from magnetar.server.settings_load import SettingsError, load_settings, parse_value

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def escape(text: str, *, name: bool) -> str:
    """As Java's ``Properties.store`` writes it, with all of its care."""
    special = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    out = ""
    for n, char in enumerate(text):
        if char in special:
            out += special[char]
        elif char in "=:#!" or (char == " " and (name or n == 0)):
            out += "\\" + char
        elif char.isascii() and char.isprintable():
            out += char
        else:
            out += "".join(f"\\u{unit:04x}" for unit in memoryview(char.encode("utf-16-le")).cast("H"))
    return out


@given(st.lists(st.tuples(_texts.filter(bool), _texts)), st.sampled_from(["=", ":", " ", " = ", "\t:\f"]))
def test_what_was_written_is_read(entries: list[tuple[str, str]], separator: str) -> None:
    lines = [escape(name, name=True) + separator + escape(value, name=False) for name, value in entries]
    found = list(parse_properties("\n".join(lines)))
    assert found == [(number, name, value) for number, (name, value) in enumerate(entries, start=1)]


@given(st.text("a=: \\\n\r\t#!u0"))
def test_any_text_can_be_read(text: str) -> None:
    numbers = [number for number, _, _ in parse_properties(text)]
    assert numbers == sorted(set(numbers))


def written(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else "" if value is None else str(value)


@st.composite
def _key_with_value(draw: st.DrawFn) -> tuple[Key, Value]:
    key = draw(st.sampled_from(list(keys().values())))
    least, most = key.at_least, key.at_most
    if key.kind is bool:
        return key, draw(st.booleans())
    if key.kind is int and least is not None:
        number = st.integers(int(least), 10**17 if most is None else int(most))
        return key, draw(st.none() | number if key.optional else number)
    if key.kind is float:
        return key, draw(st.floats(least, most, allow_nan=False, allow_infinity=False))
    choice = st.sampled_from(key.one_of) if key.one_of else st.from_regex(r"[a-z/]{1,5}", fullmatch=True)
    return key, tuple(draw(st.lists(choice, min_size=1))) if key.kind is tuple else draw(choice)


@given(_key_with_value())
def test_a_value_that_is_allowed_is_taken_as_it_was_written(pair: tuple[Key, Value]) -> None:
    key, value = pair
    assert parse_value(key, f" {written(value)} ") == value
    if not key.refused:
        loaded = load_settings(environment={key.name: written(value)})
        assert getattr(loaded.settings, key.name) == value
        assert len(loaded.warnings) == (1 if key.later and value != key.default else 0)


@given(st.sampled_from(list(keys().values())), _texts)
def test_any_other_value_is_refused_by_name(key: Key, text: str) -> None:
    try:
        value = parse_value(key, text)
    except SettingsError as error:
        said = str(error)
    else:
        assert value is None or isinstance(value, key.kind)
        return
    assert said.startswith(f"{key.name} cannot be {text.strip()!r}: ")
    assert said.endswith("is expected")


@given(st.dictionaries(_texts, _texts))
def test_an_environment_of_others_changes_nothing(environment: dict[str, str]) -> None:
    others = {name: text for name, text in environment.items() if name not in keys()}
    assert load_settings(environment=others).settings == Settings()
