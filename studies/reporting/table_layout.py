"""Layout of a table on a terminal: no word and no number is broken, and what has no room goes below."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rich.cells import cell_len
from rich.text import Text

from zonelab.studies.reporting.console import Cell

BETWEEN = 3
"""Cells of a terminal between two columns."""

_COMFORTABLE = 14
"""Narrower than this, a column of sentences or of intervals is hard to read: no cell is made so to save room."""

_LONG = 20
"""A word of more cells, such as a path, may be broken after a sign that parts it, lest it widen its whole column."""

_ENDS_OF_PARTS = re.compile(r"(?<=[/=_:-])(?=[^\W\d])")
"""Places at which a long word may be broken; never within a number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnNeeds:
    """Widths of one column: ``least``, below which a word would be broken, and ``whole``, at which no line is."""

    least: int
    whole: int

    @classmethod
    def of(cls, heading: str, cells: Sequence[Cell]) -> "ColumnNeeds":
        """Return the widths of the column of ``cells``."""
        lines = [line for cell in cells for line in str(cell).splitlines()]
        words = (word for line in (heading, *lines) for word in re.findall(r"^\s*\S+|\S+", line))
        parts = (part for word in words for part in (_ENDS_OF_PARTS.split(word) if cell_len(word) > _LONG else [word]))
        line, longest = max(map(cell_len, lines), default=0), max(map(cell_len, parts), default=0)
        return cls(least=max(longest, min(line, _COMFORTABLE)), whole=max(line, cell_len(heading)))


def blocks(columns: Sequence[ColumnNeeds], *, names: int, width: int) -> Iterator[dict[int, int]]:
    """Yield the widths of the columns that stand side by side, by place.

    The first ``names`` columns name the rows: each block begins with them, and where there is one it is whole if that
    leaves room for others.
    """
    first = columns[0].whole if names == 1 and columns[0].whole <= width // 3 else columns[0].least
    needs = [ColumnNeeds(least=first, whole=columns[0].whole), *columns[1:]]
    rest = [*range(names, len(needs))]
    room = width + BETWEEN - sum(needs[place].least + BETWEEN for place in range(names))
    while True:
        used = accumulate(needs[place].least + BETWEEN for place in rest)
        beside = rest[: max(1, sum(one <= room for one in used))]
        yield _shared([*range(names), *beside], needs, width=width)
        rest = rest[len(beside) :]
        if not rest:
            return


def _shared(places: Sequence[int], columns: Sequence[ColumnNeeds], *, width: int) -> dict[int, int]:
    """Return widths that fit into ``width``: the widest columns are made narrower first."""
    room = width - BETWEEN * (len(places) - 1)
    for level in range(max(columns[place].whole for place in places), -1, -1):
        widths = {place: max(columns[place].least, min(columns[place].whole, level)) for place in places}
        if sum(widths.values()) <= room:
            break
    return widths


def broken_words(cell: Cell, *, width: int) -> Cell:
    """Return ``cell`` with line ends within words of more than ``width``, each after a sign that parts them."""
    ends = [end for word in re.finditer(r"\S+", str(cell)) for end in _ends(word[0], width=width, at=word.start())]
    if not ends:
        return cell
    return Text("\n").join((cell if isinstance(cell, Text) else Text(cell)).divide(ends))


def _ends(word: str, *, width: int, at: int) -> Iterator[int]:
    begin = 0
    places = [found.start() for found in _ENDS_OF_PARTS.finditer(word)] if cell_len(word) > width else []
    for place, following in pairwise([*places, len(word)]):
        if cell_len(word[begin:following]) > width:
            begin = place
            yield at + place
