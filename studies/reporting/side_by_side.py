"""Tables that have a column for each run or setting, and a row for each figure of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from zonelab.studies.reporting.console import Cell
from zonelab.studies.reporting.report_table import Column, ReportTable

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class FigureRow(Generic[Thing]):
    """A row: its ``label`` with the unit, and the ``value`` of each thing; rows of one ``section`` belong together."""

    label: Cell
    value: Callable[[Thing], Any]
    section: str = ""


def side_by_side(
    figures: Sequence[FigureRow[Thing]], things: Sequence[Thing], *, heading: Callable[[Thing], str], title: str
) -> ReportTable[FigureRow[Thing]]:
    """Return ``figures`` as rows, with a column for each of ``things`` under its ``heading``."""
    columns = [Column(heading(one), partial(_value, one), number=True) for one in things]
    labels = Column[FigureRow[Thing]]("", lambda figure: figure.label)
    return ReportTable(columns=[labels, *columns], rows=figures, title=title, section=lambda figure: figure.section)


def _value(thing: Thing, figure: FigureRow[Thing]) -> Any:
    return figure.value(thing)
