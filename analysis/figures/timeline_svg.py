"""Draws the timeline of a report as SVG, which needs no script, and gives the data that the page's script zooms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zonelab.analysis.figures.plot_data import TYPES
from zonelab.analysis.figures.timeline import Mark, ProcessRow, Timeline
from zonelab.analysis.number_text import counted

WIDTH = 1_000.0
ROW_HEIGHT = 20
_NARROWEST = 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """A fault, in units of the picture and in seconds; ``row``: where its bar is, its band is in all of them."""

    name: str
    colour: str
    row: int
    x: float
    width: float
    begin_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class TimelineRow:
    name: str
    title: str
    paths: tuple[tuple[str, str], ...] = ()
    """Outcome, and the path of its marks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tick:
    text: str
    percent: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    rows: tuple[TimelineRow, ...]
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    load_end: float | None
    height: int
    data: dict[str, Any]


def picture(shown: Timeline) -> Picture:
    """Rows of faults first, then a row a process."""
    rows = [TimelineRow(name=fault.name, title=f"{len(fault.spans)} × {fault.name}") for fault in shown.faults]
    first = len(rows)
    rows += [_process_row(row, first + place, shown.end_s) for place, row in enumerate(shown.processes)]
    return Picture(
        rows=tuple(rows),
        bars=tuple(_bars(shown)),
        ticks=tuple(Tick(text=f"{at:g}", percent=100 * at / shown.end_s) for at in shown.ticks_s),
        load_end=None if shown.load_end_s is None else WIDTH * shown.load_end_s / shown.end_s,
        height=ROW_HEIGHT * max(1, len(rows)),
        data={
            "end": shown.end_s,
            "first": first,
            "rows": [[_numbers(mark) for mark in row.marks] for row in shown.processes],
        },
    )


def _process_row(row: ProcessRow, place: int, end_s: float) -> TimelineRow:
    y = ROW_HEIGHT * place + ROW_HEIGHT // 2
    paths = ((kind, _path([mark for mark in row.marks if mark.type == kind], y, end_s)) for kind in TYPES)
    title = f"{row.name}, zone {row.zone}: {counted(row.operations, 'operation')}"
    return TimelineRow(name=row.name, title=title, paths=tuple((kind, path) for kind, path in paths if path))


def _path(marks: Sequence[Mark], y: int, end_s: float) -> str:
    scale = WIDTH / end_s
    return "".join(f"M{mark.begin_s * scale:.1f} {y}h{max(_NARROWEST, mark.took_s * scale):.1f}" for mark in marks)


def _bars(shown: Timeline) -> list[Bar]:
    scale = WIDTH / shown.end_s
    return [
        Bar(
            name=fault.name,
            colour=fault.colour,
            row=row,
            x=round(begin_s * scale, 1),
            width=round(max(_NARROWEST, (end_s - begin_s) * scale), 1),
            begin_s=begin_s,
            end_s=end_s,
        )
        for row, fault in enumerate(shown.faults)
        for begin_s, end_s in fault.spans
    ]


def _numbers(mark: Mark) -> list[Any]:
    """Return the mark as the script reads it: operation, outcome, begin and length in seconds, others, and what it was
    about.
    """
    return [mark.f, mark.type, round(mark.begin_s, 6), round(mark.took_s, 6), mark.others, mark.text]
