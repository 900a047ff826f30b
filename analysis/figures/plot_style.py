"""How figures look: one palette that colour-blind readers can tell apart, fault bands, titles.

Colours are those of Okabe and Ito, "Color universal design" (2008). A level has the same colour in every figure.
"""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from analysis.runs.directory import RunDirectory

LEVEL_COLOURS = {
    "DC_ONE": "#0072b2",
    "DC_QUORUM": "#e69f00",
    "DC_SAFE_QUORUM": "#009e73",
    "DC_EACH_SAFE_QUORUM": "#cc79a7",
}
TYPE_COLOURS = {"ok": "#56b4e9", "fail": "#d55e00", "info": "#cc79a7"}
_CYCLE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_LINES = ("-", "--", "-.", ":")

INK = "#1a1f24"
MUTED = "#5b6670"
GRID = "#dfe4e8"
DPI = 130

_STYLE: dict[str, Any] = {"labelsize": 9, "labelcolor": INK, "color": MUTED}


def colour_of_level(level: str, position: int) -> str:
    return LEVEL_COLOURS.get(level, _CYCLE[position % len(_CYCLE)])


def colour_of_zone(position: int) -> str:
    return _CYCLE[position % len(_CYCLE)]


def line_of(position: int) -> str:
    """A second mark beside colour, so that lines differ in print too."""
    return _LINES[position % len(_LINES)]


def new_figure(
    *, rows: int = 1, columns: int = 1, height: float = 2.7, width: float = 10.5, strip: float = 0, **grid: Any
) -> tuple[Figure, list[Axes]]:
    """A figure without pyplot's global state, room for the title left at the top; ``height`` of a row in inches.

    With ``strip``, its height in inches, there is one more row, the first.
    """
    figure = Figure(figsize=(width, height * rows + strip + 0.9), dpi=DPI, facecolor="white", layout="constrained")
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


def label(axis: Axes, *, x: str = "", y: str = "", panel: str = "") -> None:
    if x:
        axis.set_xlabel(x, fontsize=9.5, color=INK)
    axis.set_ylabel(y, fontsize=9.5, color=INK)
    if panel:
        axis.set_title(panel, loc="left", fontsize=10, fontweight="bold", color=INK)


def legend(axis: Axes, **place: Any) -> None:
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=8.5, frameon=True, framealpha=0.92, edgecolor=GRID, labelcolor=INK, **place)


def legend_above(figure: Figure, *axes: Axes) -> None:
    """One legend for the whole figure, in the corner opposite the title, where it covers no data."""
    shown: dict[str, Artist] = {}
    for axis in axes:
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True):
            shown.setdefault(name, handle)
    if not shown:
        return
    place: dict[str, Any] = {
        "loc": "upper right",
        "bbox_to_anchor": (0.995, 1 - 0.06 / figure.get_figheight()),
        "ncols": len(shown),
    }
    box = figure.legend(list(shown.values()), list(shown), fontsize=8.5, frameon=False, labelcolor=INK, **place)
    box.set_in_layout(False)
    for sample in box.legend_handles:
        if sample is not None:
            sample.set_alpha(1)
        if isinstance(sample, PathCollection):
            sample.set_sizes([40])


def title(
    figure: Figure, headline: str, runs: Sequence[RunDirectory], *, sample: str, notes: Sequence[str] = ()
) -> None:
    """What is shown, of which runs, with which program, on how large a sample; and what was left out."""
    figure.suptitle(f"{headline}\n", x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)
    info = runs[0].info
    levels = " / ".join(dict.fromkeys(run.info.level for run in runs))
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(run.info.seed for run in runs))
    program = f"zonelab {info.zonelab_version}" + (f" ({info.git_commit[:10]})" if info.git_commit else "")
    about = f"{info.scenario} · {levels} · seed {seeds} · {program} · {sample}"
    figure.text(0.012, 1 - 0.5 / figure.get_figheight(), about, fontsize=9, color=MUTED, va="bottom")
    if notes:
        wrapped = "\n".join(textwrap.fill(note, 170) for note in notes)
        figure.supxlabel(wrapped, x=0.012, ha="left", fontsize=8, color=MUTED)


def save(figure: Figure, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI, metadata={"Software": "zonelab"})
    return path
