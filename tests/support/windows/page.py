"""The page of the windows: reading its tables, and writing into them what is seen now.

``python -m support.windows.page`` in ``tests/`` plays every course and writes the page anew. What it changes is to be
read before it is committed.
"""

import re
from pathlib import Path

from support.windows import COURSES, ON_A_RING, Stage
from support.windows.hardened import HARDENED_COURSES
from support.windows.hardened_stage import HardenedStage
from support.windows.rings import ring

PAGE = Path(__file__).parents[3] / "docs" / "dyno-windows.md"
MODES = {"original": True, "default": False}
"""Each with what it asks of ``compat``."""
SAME = "the same"


def cells(line: str) -> list[str] | None:
    """The cells of a row about a window: name, what happens, predicted, original, default, hardened."""
    found = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if not line.startswith("|") or not re.fullmatch(r"`\w+`", found[0]):
        return None
    assert len(found) == 6, line
    return [found[0].strip("`"), *found[1:]]


def rows(text: str) -> dict[str, dict[str, str]]:
    """Window → mode → what it shows."""
    table = [row for line in text.splitlines() if (row := cells(line))]
    return {
        name: {"original": original, "default": original if default == SAME else default, "hardened": hardened}
        for name, _, _, original, default, hardened in table
    }


def seen(window: str, mode: str) -> str:
    if mode == "hardened":
        return HardenedStage().play(HARDENED_COURSES[window])
    return Stage(compat=MODES[mode], cluster=ring() if window in ON_A_RING else None).play(COURSES[window])


def with_what_is_seen(line: str) -> str:
    row = cells(line)
    if row is None:
        return line
    name, what, predicted, _, _, hardened = row
    original, default = seen(name, "original"), seen(name, "default")
    if name in HARDENED_COURSES:
        hardened = seen(name, "hardened")
    shown = [f"`{name}`", what, predicted, original, SAME if default == original else default, hardened]
    return f"| {' | '.join(shown)} |\n"


if __name__ == "__main__":
    lines = PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
    PAGE.write_text("".join(map(with_what_is_seen, lines)), encoding="utf-8")
