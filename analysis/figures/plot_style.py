"""Style of figures: one palette that colour-blind readers can tell apart, markers and lines for print, titles, files.

Colours are those of Okabe and Ito, "Color universal design" (2008). A level has the same colour in every figure.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import get_data_path, rc_context, rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.legend import Legend
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from zonelab.analysis.figures.text_layout import wrapped
from zonelab.analysis.runs.directory import RunDirectory

LEVEL_COLOURS = {
    "DC_ONE": "#0072b2",
    "DC_QUORUM": "#e69f00",
    "DC_SAFE_QUORUM": "#009e73",
    "DC_EACH_SAFE_QUORUM": "#cc79a7",
}
TYPE_COLOURS = {"ok": "#5b6670", "fail": "#d55e00", "info": "#cc79a7"}
"""By outcome; no zone has these, so that a colour has one meaning in a figure with both."""

_ZONES = ("#0072b2", "#009e73", "#8a5a00", "#56b4e9", "#000000")
_CYCLE = (*_ZONES, "#e69f00", "#cc79a7")
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

INK = "#1a1f24"
MUTED = "#5b6670"
GRID = "#dfe4e8"
DPI = 130
WIDTH = 10.5
"""Width of a figure, in inches; a column of a paper has about 3.5."""

FLOOR_MS = 0.01
"""The lowest latency that a logarithmic axis shows: shorter times, 0 included, are drawn there."""

_SPAN_MIN = 2.0
"""The highest latency of a logarithmic axis by its lowest, at least."""

BESIDE_PANELS = 1.05
"""Inches of a panel's place, at most, that are not the panel's."""

_BELOW_PANELS = 0.55
_NARROW = 7.0
_MARGIN = 0.12
_HEADLINE, _ABOUT, _LABELS, _NOTES = 13.0, 9.0, 8.5, 8.0
_LEADING = 1.3 / 72
_SEEDS_NAMED = 6

_METADATA: Mapping[str, Mapping[str, str | None]] = {
    "png": {"Software": "zonelab"},
    "svg": {"Creator": "zonelab", "Date": None},
    "pdf": {"Creator": "zonelab", "Producer": "zonelab", "CreationDate": None},
}
"""By format: no dates, so that equal figures are equal files."""

_FILES: Any = {"svg.hashsalt": "zonelab", "svg.fonttype": "none", "pdf.fonttype": 42}
"""Ids do not depend on chance; text stays text."""

# Which of two files of one font Matplotlib takes depends on what else is installed: now it is the one that it brings.
fontManager.ttflist = []
for _font in sorted(Path(get_data_path(), "fonts", "ttf").glob("DejaVuSans*.ttf")):
    fontManager.addfont(_font)

# A text may be the user's own, in which a dollar is no sign of mathematics.
rcParams["text.parse_math"] = False

_POSITION_DIGITS = 6
"""Digits of places in a figure, as shares of its size: far below a pixel."""

_DPI_OF_CLOUDS = 300
"""Dots per inch of clouds of points within files that otherwise hold lines."""

_STYLE: dict[str, Any] = {"labelsize": 9, "labelcolor": INK, "color": MUTED}


def colour_of_level(level: str, position: int) -> str:
    return LEVEL_COLOURS.get(level, _CYCLE[position % len(_CYCLE)])


def colour_of_zone(position: int) -> str:
    return _ZONES[position % len(_ZONES)]


def line_of(position: int) -> str:
    """Return the dash pattern of the line at ``position``, so that lines differ in print without colour, too."""
    return _LINES[position % len(_LINES)]


def marker_of(position: int) -> str:
    return _MARKERS[position % len(_MARKERS)]


def new_figure(
    *, rows: int = 1, columns: int = 1, height: float = 2.7, width: float = WIDTH, strip: float = 0, **grid: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure without pyplot's global state, and its axes; ``title`` adds to its height later.

    ``height``: of one row, in inches. ``strip``: height in inches of an extra first row; 0: no such row.
    """
    figure = Figure(figsize=(width, height * rows + strip), dpi=DPI, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    heights = [strip] * bool(strip) + [height] * rows
    axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights, **grid).ravel().tolist()
    for axis in axes:
        axis.tick_params(**_STYLE)
        axis.grid(visible=True, color=GRID, linewidth=0.7)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            axis.spines[side].set_color(MUTED)
    return figure, axes


def columns_of(panels: int, *, width: float) -> int:
    """Return how many of ``panels`` stand side by side in a figure so wide: all, or in a narrow one each on its own."""
    return 1 if width < _NARROW else panels


def side_by_side(
    panels: int, *, height: float, width: float, rows: int = 1, labels: float = 0.0
) -> tuple[Figure, list[Axes]]:
    """A figure of ``rows`` times ``panels``; ``labels``: what the labels below each need of inches, beyond a line."""
    columns = columns_of(panels, width=width)
    if columns == 1:
        return new_figure(rows=panels * rows, height=0.75 * height + labels, width=width)
    return new_figure(rows=rows, columns=columns, height=height + labels, width=width, sharey="row")


def label(axis: Axes, *, x: str = "", y: str = "", panel: str = "") -> None:
    room = panel_inches(axis)
    if x:
        axis.set_xlabel(wrapped(x, inches=room, size=9.5), fontsize=9.5, color=INK)
    axis.set_ylabel(wrapped(y, inches=_panel_height(axis), size=9.5), fontsize=9.5, color=INK)
    if panel:
        words = wrapped(panel, inches=room, size=10, weight="bold")
        axis.set_title(words, loc="left", fontsize=10, fontweight="bold", color=INK)


def log_ms(axis: Axes, which: Literal["x", "y"]) -> None:
    """A logarithmic axis with plain numbers, and enough of them when it spans little more than a decade."""
    (axis.set_yscale if which == "y" else axis.set_xscale)("log")
    ticks, (low, high) = (axis.yaxis, axis.get_ylim()) if which == "y" else (axis.xaxis, axis.get_xlim())
    if high < _SPAN_MIN * low:  # of equal values, differences of rounding would fill the axis
        middle, half = (low * high) ** 0.5, _SPAN_MIN**0.5
        low, high = middle / half, middle * half
        (axis.set_ylim if which == "y" else axis.set_xlim)(low, high)
    steps = (1.0, 2.0, 5.0) if high / low < 100 else (1.0,)
    ticks.set_major_locator(LogLocator(base=10, subs=steps, numticks=12))
    ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ticks.set_minor_formatter(NullFormatter())


def _panel_height(axis: Axes) -> float:
    """Return how high a panel is at least, in inches, before ``title`` adds its own room."""
    figure, place = axis.get_figure(root=True), axis.get_subplotspec()
    if figure is None or place is None:
        return WIDTH
    grid = place.get_gridspec()
    heights = np.asarray(grid.get_height_ratios() or [1.0] * grid.nrows, dtype=np.float64)
    return float(figure.get_figheight() * heights[place.rowspan.start] / heights.sum()) - _BELOW_PANELS


def panel_inches(axis: Axes) -> float:
    """Return how wide a panel is at least."""
    figure, place = axis.get_figure(root=True), axis.get_subplotspec()
    columns = 1 if place is None else place.get_gridspec().ncols
    return WIDTH if figure is None else figure.get_figwidth() / columns - BESIDE_PANELS


def legend_above(figure: Figure, *axes: Axes) -> None:
    """One legend for the whole figure, below the title, in as many columns as fit; called before ``title``."""
    shown: dict[str, Artist] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            shown.setdefault(name, handle)
    if not shown:
        return
    room = figure.get_figwidth() - 2 * _MARGIN
    names = [wrapped(name, inches=room - 0.5, size=_LABELS) for name in shown]
    for columns in range(len(shown), 0, -1):
        box = figure.legend(list(shown.values()), names, ncols=columns, loc="upper left", **_LEGEND)
        if columns == 1 or _inches(box)[0] <= room:
            break
        box.remove()
    box.set_in_layout(False)
    for sample in box.legend_handles:
        if sample is not None:
            sample.set_alpha(1)
        if isinstance(sample, PathCollection):
            sample.set_sizes([40])


_LEGEND: dict[str, Any] = {
    "fontsize": _LABELS,
    "frameon": False,
    "labelcolor": INK,
    "borderpad": 0.0,
    "borderaxespad": 0.0,
    "handlelength": 2.6,
    "columnspacing": 1.4,
}


def _inches(box: Legend) -> tuple[float, float]:
    extent = box.get_window_extent()
    return float(extent.width / DPI), float(extent.height / DPI)


def title(
    figure: Figure, headline: str, runs: Sequence[RunDirectory], *, sample: str, notes: Sequence[str] = ()
) -> None:
    """Write what is shown, of which runs, with which program, on how large a sample, and what was left out."""
    info = runs[0].info
    levels = " / ".join(dict.fromkeys(run.info.level for run in runs))
    scenarios = " / ".join(dict.fromkeys(run.info.scenario for run in runs))
    program = f"zonelab {info.zonelab_version}" + (f" ({info.git_commit[:10]})" if info.git_commit else "")
    about = f"{scenarios} · {levels} · {_seeds([run.info.seed for run in runs])} · {program} · {sample}"
    frame(figure, headline, about, notes=notes)


def _seeds(seeds: Sequence[int]) -> str:
    known = list(dict.fromkeys(seeds))
    if len(known) > _SEEDS_NAMED:
        return f"{len(known)} seeds from {min(known)} to {max(known)}"
    return f"seed {', '.join(map(str, known))}"


def frame(figure: Figure, headline: str, about: str, *, notes: Sequence[str] = ()) -> None:
    """Room above the panels for ``headline``, ``about`` and the legend, room below for ``notes``: nothing overlaps."""
    width, panels = figure.get_figwidth(), figure.get_figheight()
    inches = width - 2 * _MARGIN
    above = [
        (wrapped(headline, inches=inches, size=_HEADLINE, weight="bold"), _HEADLINE, "bold", INK),
        (wrapped(about, inches=inches, size=_ABOUT), _ABOUT, "normal", MUTED),
    ]
    boxes = figure.legends
    header = 2 * _MARGIN + sum(_lines_inches(text, size) for text, size, *_ in above)
    header += sum(_inches(box)[1] + _MARGIN / 2 for box in boxes)
    below = "\n".join(wrapped(note, inches=inches, size=_NOTES) for note in notes if note)
    footer = _MARGIN + (_lines_inches(below, _NOTES) + _MARGIN / 2 if below else 0.0)
    height = panels + header + footer
    figure.set_figheight(height)
    layout = figure.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine):
        layout.set(rect=(0, footer / height, 1, panels / height))
    left, y = _MARGIN / width, _MARGIN
    for text, size, weight, colour in above:
        look: dict[str, Any] = {"fontsize": size, "fontweight": weight, "color": colour, "va": "top"}
        figure.text(left, 1 - y / height, text, **look)
        y += _lines_inches(text, size)
    for box in boxes:
        box.set_bbox_to_anchor((left, 1 - (y + _MARGIN / 2) / height))
    if below:
        figure.text(left, _MARGIN / height, below, fontsize=_NOTES, color=MUTED, va="bottom")


def _lines_inches(text: str, size: float) -> float:
    return (text.count("\n") + 1) * size * _LEADING


def _settle(figure: Figure) -> None:
    """Lay the figure out for good.

    What the solver finds differs in the last digits from process to process, and of these the ids in an SVG are made.
    """
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)  # a draw would do this, and then draw every artist
    figure.set_layout_engine(None)
    for axis in figure.axes:
        axis.set_position(tuple(round(value, _POSITION_DIGITS) for value in axis.get_position().bounds))


def save(figure: Figure, path: Path) -> Path:
    """Write ``path`` in the format that its ending names. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffix.removeprefix(".").lower()
    _settle(figure)
    with rc_context(_FILES):
        dpi = DPI if kind == "png" else _DPI_OF_CLOUDS
        figure.savefig(path, dpi=dpi, format=kind, metadata=dict(_METADATA[kind]))
    return path
