"""The words and numbers of a table that a terminal of a given width does not show whole."""

import io
import re
from dataclasses import replace

from rich.console import Console

from zonelab.studies.reporting.report_table import ReportTable

LONG = 20
"""Cells of a word, from which on it may be broken after a sign such as a slash; never within a number."""
PARTS = re.compile(r"(?<=[/=_:-])(?=[^\W\d])")


def lines_of_terminal(table: ReportTable, *, width: int) -> list[str]:
    """Return what a terminal of ``width`` shows of ``table``."""
    out = io.StringIO()
    Console(file=out, width=width, markup=False, emoji=False, legacy_windows=False).print(table, crop=False)
    return out.getvalue().splitlines()


def broken_words(table: ReportTable, *, width: int) -> list[str]:
    """Return the words that are not whole, and the lines that are too wide although no word is.

    A title may be one long path, which stays whole to be copied.
    """
    lines = lines_of_terminal(replace(table, title=""), width=width)
    shown = {word for line in lines for cell in re.split("[│┃]", line) for word in cell.split()}
    wanted = {word for row in [table.headings, *table.cells()] for cell in row for word in str(cell).split()}
    parts = {word: PARTS.split(word) if len(word) > LONG else [word] for word in wanted}
    broken = [
        word
        for word, pieces in parts.items()
        if word not in shown and (pieces == [word] or not all(any(one in seen for seen in shown) for one in pieces))
    ]
    if max((len(piece) for pieces in parts.values() for piece in pieces), default=0) <= width // 3 - 3:
        broken += [line for line in lines if len(line) > width]
    return broken
