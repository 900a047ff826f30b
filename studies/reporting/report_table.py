"""Tables whose columns are declared once: for terminals, Markdown, HTML, CSV and JSON."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Generic, Literal, TypeVar

from rich.table import Table

from zonelab.analysis.number_text import NONE, digits
from zonelab.studies.reporting.console import Cell, console, print_lines

Row = TypeVar("Row")


def plain(value: Any) -> Cell:
    """Return how a value is shown unless its column says otherwise: numbers with separators, lists with commas."""
    match value:
        case None:
            return NONE
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return digits(value)
        case Mapping():
            return ", ".join(f"{name} {plain(one)}" for name, one in value.items()) or "none"
        case list() | tuple():
            return ", ".join(str(plain(one)) for one in value) or "none"
    return value if isinstance(value, Cell) else str(value)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a ``ReportTable``.

    ``heading``: with its unit; None for a column of the JSON only. ``value``: of a row. ``text``: how a value is shown.
    ``name``: the key in JSON; None for a column that is shown only. ``number``: aligned to the right. ``most``: the
    greatest width on a terminal.
    """

    heading: str | None
    value: Callable[[Row], Any]
    text: Callable[[Any], Cell] = field(default=plain, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    number: bool = field(default=False, kw_only=True)
    most: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class ReportTable(Generic[Row]):
    """``rows`` under ``columns``. ``section``: rows that follow each other and have the same one belong together."""

    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    title: str = ""
    caption: str = ""
    section: Callable[[Row], object] = lambda row: None

    @property
    def shown(self) -> list[Column[Row]]:
        """The columns that have a heading."""
        return [column for column in self.columns if column.heading is not None]

    @property
    def headings(self) -> list[str]:
        return [column.heading for column in self.columns if column.heading is not None]

    def cells(self) -> Iterator[list[Cell]]:
        """Yield the shown cells of each row."""
        for row in self.rows:
            yield [column.text(column.value(row)) for column in self.shown]

    def terminal(self, *, width: int | None = None) -> Table:
        """Return the table for a terminal; with its ``width``, the first column is whole where that leaves room."""
        table = Table(
            title=self.title or None,
            caption=self.caption or None,
            title_justify="left",
            caption_justify="left",
            show_edge=False,
            pad_edge=False,
        )
        cells = list(self.cells())
        longest = max((len(line) for row in cells for line in str(row[0]).splitlines()), default=0)
        for place, column in enumerate(self.shown):
            whole = width is not None and place == 0 and longest <= width // 3
            justify: Literal["left", "right"] = "right" if column.number else "left"
            table.add_column(
                column.heading or "", justify=justify, overflow="fold", no_wrap=whole, max_width=column.most
            )
        for place, (row, texts) in enumerate(zip(self.rows, cells, strict=True)):
            if place and self.section(row) != self.section(self.rows[place - 1]):
                table.add_section()
            table.add_row(*texts)
        return table

    def print(self, *sentences: str) -> None:
        """Print the table, an empty line, and ``sentences``."""
        out = console()
        out.print(self.terminal(width=out.width), "")
        print_lines(*sentences)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows: the value of every column that has a name."""
        return [{column.name: column.value(row) for column in self.columns if column.name} for row in self.rows]

    def to_markdown(self) -> str:
        """Return a pipe table. Cells may have links and code; a bar of theirs ends no cell."""
        rows: list[Sequence[Cell]] = [self.headings, *self.cells()]
        lines = [" | ".join(map(_in_markdown, row)) for row in rows]
        rule = "|" + "|".join("---:" if column.number else "---" for column in self.shown) + "|"
        head, *body = (f"| {line} |" for line in lines)
        return "\n".join([head, rule, *body])

    def to_html(self) -> str:
        """Return a ``table`` element; every cell is escaped."""
        tags = [' class="n"' if column.number else "" for column in self.shown]
        head = "".join(f"<th{tag}>{escape(cell)}</th>" for tag, cell in zip(tags, self.headings, strict=True))
        body = (
            "".join(f"<td{tag}>{_in_html(cell)}</td>" for tag, cell in zip(tags, row, strict=True))
            for row in self.cells()
        )
        rows = "\n".join(f"<tr>{row}</tr>" for row in body)
        caption = f"<caption>{escape(self.title)}</caption>\n" if self.title else ""
        return f"<table>\n{caption}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"

    def to_csv(self) -> str:
        """Return the shown cells as RFC 4180 has it."""
        out = io.StringIO()
        csv.writer(out).writerows([self.headings, *(map(str, row) for row in self.cells())])
        return out.getvalue()


def _in_markdown(cell: Cell) -> str:
    return str(cell).replace("|", r"\|").replace("\n", "<br>")


def _in_html(cell: Cell) -> str:
    return escape(str(cell)).replace("\n", "<br>")
