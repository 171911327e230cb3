"""Message ids as people write them."""

from __future__ import annotations

import click

__all__ = ["parse_id", "position"]


def parse_id(text: str, option: str) -> dict[str, int]:
    """``LEDGER:ENTRY``, with the index of a partition or a message in a batch behind it where one wants to."""
    words = text.split(":")
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 4:
        raise click.BadParameter(f"'{text}' is not a message id such as 12:0", param_hint=option)
    names = ("ledgerId", "entryId", "partitionIndex", "batchIndex")
    return dict(zip(names, numbers, strict=False))


def position(text: str, option: str, excluded: bool) -> dict[str, object]:
    """The same as a place for a cursor."""
    found = parse_id(text, option)
    return {
        "ledgerId": found["ledgerId"],
        "entryId": found["entryId"],
        "partitionIndex": found.get("partitionIndex", -1),
        "batchIndex": found.get("batchIndex", -1),
        "isExcluded": excluded,
    }
