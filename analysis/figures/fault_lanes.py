"""The faults of a run over its time: a strip of labelled bars above the panels, and a band in each panel.

The strip has as many lanes as keep its labels apart, whatever the number of faults and the length of their names.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from zonelab.analysis.figures.plot_style import BESIDE_PANELS, INK, MUTED, WIDTH, new_figure
from zonelab.analysis.figures.text_layout import POINTS_PER_INCH, width_points
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.units import NS_PER_S

LANES_MAX = 14
LANE_INCHES = 0.19

_FONT_POINTS = 8.0
_GAP_POINTS = 8.0
_BAR = 0.22
"""Height of a bar, as a share of its lane."""


@dataclass(frozen=True, slots=True)
class FaultLabel:
    """A fault in the strip: its lane, counted from the top, and where its bar and its label are, in seconds."""

    text: str
    colour: str
    lane: int
    begin_s: float
    until_s: float
    label_s: float


def figure_over_time(
    run: RunDirectory,
    *,
    end_s: float,
    rows: int,
    height: float,
    width: float = WIDTH,
    faults: Sequence[FaultBand] | None = None,
) -> tuple[Figure, list[Axes]]:
    """A figure of ``rows`` panels over run time, with the faults and the end of the load; and its panels.

    ``faults``: those to be shown, if not those of ``run``.
    """
    shown = run.faults() if faults is None else faults
    placed = lanes(shown, end_s=end_s, width_inches=width - BESIDE_PANELS)
    strip = LANE_INCHES * _lane_count(placed)
    figure, axes = new_figure(rows=rows, height=height, width=width, strip=strip, sharex=True)
    axes[0].set_xlim(0, end_s)
    if placed:
        _draw_strip(axes.pop(0), placed)
    load_end_s = run.info.phases["load"][1] / NS_PER_S if "load" in run.info.phases else end_s
    for axis in axes:
        _draw_bands(axis, placed)
        if load_end_s < end_s:
            axis.axvline(load_end_s, color=MUTED, linewidth=0.9, linestyle=(0, (2, 3)))
    axes[-1].set_xlabel("run time (s)", fontsize=9.5, color=INK)
    return figure, axes


def lanes(faults: Sequence[FaultBand], *, end_s: float, width_inches: float) -> list[FaultLabel]:
    """Each fault in the first lane where neither its bar nor its label touches another's; in the order of begin."""
    s_per_point = end_s / (POINTS_PER_INCH * width_inches)
    free_s: list[float] = []
    placed = []
    for fault in faults:
        begin_s = min(fault.begin_ns / NS_PER_S, end_s)
        until_s = min(end_s if fault.end_ns is None else fault.end_ns / NS_PER_S, end_s)
        text = fault.fault.split(":", 1)[-1]
        long_s = width_points(text, size=_FONT_POINTS) * s_per_point
        label_s = max(0.0, min(begin_s, end_s - long_s))
        lane = next((lane for lane, free in enumerate(free_s) if free <= label_s), len(free_s))
        free_s += [0.0] * (lane + 1 - len(free_s))
        free_s[lane] = max(until_s, label_s + long_s) + _GAP_POINTS * s_per_point
        placed.append(FaultLabel(text, fault.colour, lane, begin_s, until_s, label_s))
    return placed


def _draw_strip(axis: Axes, placed: Sequence[FaultLabel]) -> None:
    """The labelled bars of the lanes that there is room for; how many faults had none is said below them."""
    shown = [one for one in placed if one.lane < LANES_MAX]
    for one in shown:
        top = -one.lane - 1 + _BAR
        axis.fill_between((one.begin_s, one.until_s), -one.lane - 1, top, color=one.colour, alpha=0.75, linewidth=0)
        axis.text(one.label_s, top, one.text, fontsize=_FONT_POINTS, color=INK, va="bottom")
    axis.set_ylim(-_lane_count(placed), 0)
    axis.set_axis_off()
    left_out = len(placed) - len(shown)
    heading = "faults" if not left_out else f"faults ({left_out} of {len(placed)} have no room here)"
    axis.set_title(heading, loc="left", fontsize=10, fontweight="bold", color=INK)


def _lane_count(placed: Sequence[FaultLabel]) -> int:
    return min(LANES_MAX, 1 + max((one.lane for one in placed), default=-1))


def _draw_bands(axis: Axes, placed: Sequence[FaultLabel]) -> None:
    for one in placed:
        axis.axvspan(one.begin_s, one.until_s, color=one.colour, alpha=0.13, linewidth=0, zorder=0)
        for edge_s in (one.begin_s, one.until_s):
            axis.axvline(edge_s, color=one.colour, alpha=0.55, linewidth=0.8, zorder=0)
