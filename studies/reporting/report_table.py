"""Tables whose columns are declared once: for terminals, Markdown, HTML, CSV and JSON."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Generic, Literal, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from zonelab.analysis.number_text import NONE, digits
from zonelab.studies.reporting.console import Cell, print_lines, print_table
from zonelab.studies.reporting.table_layout import BETWEEN, ColumnNeeds, blocks, broken_words

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
    ``name``: the key in JSON; None for a column that is shown only. ``number``: aligned to the right.
    """

    heading: str | None
    value: Callable[[Row], Any]
    text: Callable[[Any], Cell] = field(default=plain, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    number: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class ReportTable(Generic[Row]):
    """``rows`` under ``columns``.

    ``section``: rows that follow each other and have the same one belong together. ``names``: so many columns from
    the first on name a row.
    """

    columns: Sequence[Column[Row]]
    rows: Sequence[Row]
    title: str = ""
    caption: str = ""
    section: Callable[[Row], object] = lambda row: None
    names: int = 1

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

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table as wide as ``options`` has it; columns without room follow below, beside the first again."""
        width, rows = options.max_width, list(self.cells())
        needs = [ColumnNeeds.of(name, [row[place] for row in rows]) for place, name in enumerate(self.headings)]
        if self.title:
            yield _paragraph(self.title, width=width, style="italic")
        for number, widths in enumerate(blocks(needs, names=self.names, width=width)):
            if number:
                yield ""
            needed = sum(widths.values()) + BETWEEN * (len(widths) - 1)
            yield from console.render(self._block(widths, rows), options.update_width(max(width, needed)))
        if self.caption:
            yield _paragraph(self.caption, width=width, style="dim italic")

    def _block(self, widths: Mapping[int, int], rows: Sequence[Sequence[Cell]]) -> Table:
        """Return the columns of ``widths`` side by side, without rows that are empty here."""
        table = Table(show_edge=False, pad_edge=False)
        for place, width in widths.items():
            column = self.shown[place]
            justify: Literal["left", "right"] = "right" if column.number else "left"
            table.add_column(column.heading or "", justify=justify, overflow="fold", width=width)
        section = None
        for row, cells in zip(self.rows, rows, strict=True):
            shown = [broken_words(cells[place], width=width) for place, width in widths.items()]
            if len(widths) < len(self.shown) and not any(map(str, shown[self.names :])):
                continue
            if table.rows and self.section(row) != section:
                table.add_section()
            section = self.section(row)
            table.add_row(*shown)
        return table

    def print(self, *sentences: str) -> None:
        """Print the table, an empty line, and ``sentences``."""
        print_table(self)
        print_lines("", *sentences)

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


def _paragraph(text: str, *, width: int, style: str) -> Text:
    """Return ``text`` in lines of whole words; one with a word that is too wide is left to the terminal."""
    wide = max(map(cell_len, text.split())) > width
    return Text(text, style=style, overflow="ignore" if wide else "fold")
