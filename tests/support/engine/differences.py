"""What the original does and what we do by default, row by row of a page: a course of events, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.windows.page import DYNO

DOCS = Path(__file__).parents[3] / "docs"
MODES = {"original": True, "default": False}
"""Each with what it asks of ``compat``."""


@dataclass(frozen=True)
class Row:
    """``comes_of`` has what ``course`` returns by mode. ``settings``: of what the course takes."""

    course: Callable[[Any], object]
    comes_of: dict[str, object]
    settings: dict[str, Any]


@dataclass
class Differences:
    """Of one page; ``row`` adds a course to them."""

    page: str
    windows: dict[str, str]
    """Rows that are windows of docs/dyno-windows.md, too, where both modes are played: by row the window."""

    rows: dict[str, Row] = field(default_factory=dict)

    def row(self, name: str, *, original: object, default: object, **settings: Any) -> Callable[[Any], Any]:
        def added(course: Callable[[Any], object]) -> Callable[[Any], object]:
            assert name not in self.rows, name
            self.rows[name] = Row(course, {"original": original, "default": default}, settings)
            return course

        return added

    def cells(self, header: str) -> list[list[str]]:
        """Of each row of the page's table that begins with ``header``."""
        _, found, table = (DOCS / self.page).read_text(encoding="utf-8").partition(header)
        assert found, header
        lines = table.split("\n\n", 1)[0].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def faults(self) -> list[str]:
        """Rows that only the page or only this has, rows with an empty cell, and windows without a difference."""
        table = self.cells("| row | where it shows |")
        names = [row[0] for row in table]
        played = DYNO.rows()
        return [
            *sorted({*names} ^ {*self.rows, *self.windows}),
            *(row[0] for row in table if not all(row) or names.count(row[0]) > 1),
            *(window for window in self.windows.values() if played[window]["original"] == played[window]["default"]),
        ]
