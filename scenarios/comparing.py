"""Two runs side by side on a terminal: every figure of both, their difference, and how sure it is."""

from dataclasses import astuple

from rich.table import Table

from analysis.comparison.compare import METHOD, Comparison
from scenarios.terminal.comparison_table import comparison_headings, comparison_rows


def comparison_table(comparison: Comparison, *, within: float) -> Table:
    table = Table(show_edge=False, pad_edge=False, caption=METHOD, caption_justify="left")
    for position, heading in enumerate(comparison_headings(within=within)):
        table.add_column(heading, justify="left" if position == 0 else "right")
    section = None
    for row in comparison_rows(comparison, within=within):
        if section is not None and row.section != section:
            table.add_section()
        section, *cells = astuple(row)
        table.add_row(*cells)
    return table
