"""Write all pictures: ``python -m tools.pictures``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tools.pictures import ahead, drain, restart, slots

__all__ = ["FOLDER", "PICTURES"]

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
PICTURES: dict[str, Callable[[], str]] = {
    "key-shared-drain.svg": drain.draw,
    "key-shared-restart.svg": restart.draw,
    "key-shared-slots.svg": slots.draw,
    "key-shared-ahead.svg": ahead.draw,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
