"""Operations that ended in each second of a run, by outcome."""

from collections.abc import Mapping
from pathlib import Path

from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.fault_lanes import figure_over_time
from zonelab.analysis.figures.kinds.time_plots import Windows
from zonelab.analysis.figures.plot_data import TYPES, Completions, Floats, end_s, window_s
from zonelab.analysis.runs.directory import RunDirectory

_FIRST = ("push", "pop", "ack")


def plot_rates(run: RunDirectory, data: Mapping[str, Completions]) -> Path:
    """Draw ``plots/rates.png`` of ``run``: a panel an operation, a line an outcome, with fault bands."""
    shown = [f for f in _FIRST if f in data] or sorted(data)
    length_s = end_s(run, data)
    width_s = window_s(length_s)
    figure, axes = figure_over_time(run, end_s=length_s, rows=max(1, len(shown)), height=1.7)
    for f, axis in zip(shown, axes, strict=False):
        for kind, (middle_s, per_s) in rates(data[f], length_s=length_s, width_s=width_s).items():
            axis.plot(middle_s, per_s, drawstyle="steps-mid", color=style.TYPE_COLOURS[kind], label=kind, linewidth=1.6)
        axis.set_ylim(bottom=0)
        style.label(axis, y="per second", panel=f)
    style.legend_above(figure, *axes)
    counts = ", ".join(f"{len(data[f]):,} {f}" for f in shown)
    notes = [
        f"Operations that ended, per second, over windows of {width_s:g} s, by outcome. Dotted line: the load ends."
    ]
    style.title(figure, "Rates", [run], sample=f"n = {counts or 0}", notes=notes)
    return style.save(figure, run.path / "plots" / "rates.png")


def rates(data: Completions, *, length_s: float, width_s: float) -> Mapping[str, tuple[Floats, Floats]]:
    """Return for each outcome that occurs the middle of every window, and the operations that ended in it per
    second.
    """
    windows = Windows(width_s=width_s, end_s=length_s)
    parts = {kind: data.of_type(kind).time_s for kind in TYPES}
    return {
        kind: (windows.middles_s, windows.rates(time_s, until_s=length_s))
        for kind, time_s in parts.items()
        if len(time_s)
    }
