"""Figures as text: what a reader is told by one, in the order of the page, with its numbers; not how it looks.

``TOLD`` has the texts of figures and pages of small runs, whose numbers can be worked out by hand from the runs beside
the tests. What changes on purpose is read as a reader would, then its section is replaced.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

TOLD = Path(__file__).with_name("told.txt")
_POINTS = 8


def expected(name: str) -> str:
    """The section of ``TOLD`` called ``name``."""
    sections = dict(part.split("\n", 1) for part in TOLD.read_text(encoding="utf-8").split("== ")[1:])
    return sections[name].strip()


def told(figure: Figure) -> str:
    """Words, axes, and what is drawn where in their units."""
    lines = [f"text: {_text(one)}" for one in figure.texts]
    lines += [f"legend: {' | '.join(text.get_text() for text in box.get_texts())}" for box in figure.legends]
    for axis in figure.axes:
        lines += _axis(axis)
    return "\n".join(line.rstrip() for line in lines)


def _axis(axis: Axes) -> Iterator[str]:
    yield f"panel {_text(axis._left_title)}" + ("" if axis.axison else ", no axes")
    for name in "xy":
        each = getattr(axis, f"{name}axis")
        low, high = each.get_view_interval()
        places = [place for place in each.get_majorticklocs() if min(low, high) <= place <= max(low, high)]
        ticks = " ".join(each.get_major_formatter().format_ticks(places))
        yield f"  {name} {_text(each.label)} {each.get_scale()} {_numbers((low, high))}; ticks {ticks}"
    yield from (f"  line {_line(line)}" for line in axis.lines)
    yield from (f"  {_collection(one)}" for one in axis.collections)
    for patch in axis.patches:
        box = patch.get_path().transformed(patch.get_patch_transform()).get_extents()
        yield f"  box {_numbers((box.x0, box.x1, box.y0, box.y1))}"
    yield from (f"  text at {_numbers(one.get_position())}: {_text(one)}" for one in axis.texts)


def _line(line: Line2D) -> str:
    points = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
    return f"{line.get_label()}: {_points(points)}"


def _collection(one: Collection) -> str:
    if isinstance(one, PathCollection):
        return f"points {one.get_label()}: {_points(one.get_offsets().tolist())}"
    kind = "whiskers" if isinstance(one, LineCollection) else "band"
    corners = np.concatenate([path.vertices for path in one.get_paths()]).tolist()
    return f"{kind} {one.get_label()}: {_points(corners)}"


def _points(points: Sequence[Sequence[float]]) -> str:
    if len(points) <= _POINTS:
        return " ".join(f"({_numbers(point)})" for point in points)
    known = [point for point in points if not np.isnan(point).any()]
    sums = np.sum(known, axis=0) if known else [0, 0]
    ends = f"({_numbers(points[0])}) to ({_numbers(points[-1])})"
    return f"{len(points)} points from {ends}, {len(known)} known, sum ({_numbers(sums)})"


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:.4g}" for value in np.asarray(values, dtype=float) + 0.0)


def _text(text: Text) -> str:
    return repr(text.get_text().replace("\n", " / "))
