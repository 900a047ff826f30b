"""Figures read back as objects: the values that are drawn, and what is wrong with how they are told."""

import base64
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from zonelab.analysis.figures import plot_style
from zonelab.analysis.figures.kinds.curves import INTERVAL

_ONE_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


def left_blank(_: Figure, path: Path) -> Path:
    """In the place of ``plot_style.save`` where no test looks at the picture: to lay it out is most of the work."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_ONE_PIXEL)
    return path


def kept_figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """The figures that would be saved from now on, by file name; their files are left blank."""
    drawn: dict[str, Figure] = {}

    def keep(figure: Figure, path: Path) -> Path:
        drawn[path.name] = figure
        return left_blank(figure, path)

    monkeypatch.setattr(plot_style, "save", keep)
    return drawn


def panel(figure: Figure, name: str) -> Axes:
    return next(axis for axis in figure.axes if axis.get_title(loc="left").startswith(name))


def line(axis: Axes, label: str) -> tuple[np.ndarray, np.ndarray]:
    """The places and values of one line."""
    found = next(one for one in axis.lines if one.get_label() == label)
    return np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)


def interval(axis: Axes, label: str) -> list[tuple[float, float, float]]:
    """What the band or the whiskers of a line span at each place: place, low, high; of a band not at its very end."""
    found = []
    for shown in (one for one in axis.collections if one.get_label() == f"{INTERVAL}{label}"):
        if isinstance(shown, LineCollection):
            found += [(*low, high[1]) for low, high in shown.get_segments()]
        for path in () if isinstance(shown, LineCollection) else shown.get_paths():
            places = np.unique(path.vertices[:, 0])
            found += [(x, *_crossed(path.vertices, x + 1e-9 * (after - x))) for x, after in pairwise(places)]
    return sorted(found)


def _crossed(vertices: np.ndarray, x: float) -> tuple[float, float]:
    """Between what heights an upright line at ``x`` lies within the polygon."""
    heights = []
    for (x0, y0), (x1, y1) in pairwise(np.vstack([vertices, vertices[:1]]).tolist()):
        if min(x0, x1) <= x <= max(x0, x1) and x0 != x1:
            heights.append(y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return min(heights), max(heights)


def hidden_intervals(axis: Axes, expected: dict[str, tuple[np.ndarray, np.ndarray]]) -> list[str]:
    """The lines of which some known interval, by label its lower and upper ends, is not drawn as it is."""
    found = []
    for label, (low, high) in expected.items():
        known = ~np.isnan(low)
        wanted = np.transpose([line(axis, label)[0][known], low[known], high[known]])[:-1]
        drawn = np.array(interval(axis, label)).reshape(-1, 3)
        if not all(np.isclose(drawn, one, rtol=1e-6, atol=1e-9).all(axis=1).any() for one in wanted):
            found.append(label)
    return found


def outside_intervals(figure: Figure) -> list[str]:
    """The lines of a figure that have a value outside its own drawn interval."""
    found = []
    for axis in figure.axes:
        for label in dict.fromkeys(str(one.get_label()) for one in axis.lines):
            places, values = line(axis, label)
            for place, low, high in interval(axis, label):
                beside = values[np.isclose(places, place, rtol=1e-9, atol=1e-12)]
                if not all(low - 1e-6 * abs(low) <= one <= high + 1e-6 * abs(high) for one in beside):
                    found.append(f"{label} at {place:g}: {beside} not in {low:g} to {high:g}")
    return found


def wrong_sizes(axis: Axes, sizes: list[int]) -> bool:
    """Whether the title of the panel tells other sample sizes than these."""
    return not axis.get_title(loc="left").endswith(f"n = {' / '.join(f'{size:,}' for size in sizes)}")


def overlaps(figure: Figure) -> list[str]:
    """Pairs of texts that cover each other, and texts that are not whole within the figure."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    covered = [f"{one!r} on {two!r}" for (one, box), (two, other) in combinations(boxes, 2) if _overlap(box, other)]
    page = figure.bbox
    outside = [
        f"{name!r} outside"
        for name, box in boxes
        if box.x0 < page.x0 - 1 or box.x1 > page.x1 + 1 or box.y0 < page.y0 - 1 or box.y1 > page.y1 + 1
    ]
    return covered + outside


def emptiest(figure: Figure) -> tuple[float, float]:
    """Return width and height, in inches, of the largest empty strip of a drawn page, from edge to edge."""
    boxes = [one.get_window_extent() for one in (*texts(figure), *figure.axes, *figure.legends)]
    across = _largest_gap([(box.x0, box.x1) for box in boxes], figure.bbox.x1)
    along = _largest_gap([(box.y0, box.y1) for box in boxes], figure.bbox.y1)
    return across / figure.dpi, along / figure.dpi


def _largest_gap(spans: list[tuple[float, float]], end: float) -> float:
    reached, largest = 0.0, 0.0
    for low, high in sorted([*spans, (end, end)]):
        largest, reached = max(largest, low - reached), max(reached, high)
    return largest


def texts(figure: Figure) -> list[Text]:
    """Everything written in the figure."""
    found = [*figure.texts, *(text for box in figure.legends for text in box.get_texts())]
    for axis in figure.axes:
        found += [*axis.texts, axis.title, axis._left_title]
        if axis.axison:
            found += [axis.xaxis.label, axis.yaxis.label, *_tick_labels(axis)]
    return [text for text in found if text.get_visible() and text.get_text().strip()]


def _tick_labels(axis: Axes) -> list[Text]:
    shown = []
    for each in (axis.xaxis, axis.yaxis):
        low, high = sorted(each.get_view_interval())
        shown += [tick.label1 for tick in each.get_major_ticks() if low <= tick.get_loc() <= high]
    return shown


def _overlap(one, two) -> bool:
    return min(one.x1, two.x1) - max(one.x0, two.x0) > 1 and min(one.y1, two.y1) - max(one.y0, two.y0) > 1
