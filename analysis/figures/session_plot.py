"""The figure of a manual session: how each zone did over time, under the faults of that time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.fault_lanes import figure_over_time
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.manual_session import by_zone
from zonelab.analysis.units import NS_PER_S

_PANELS = (
    ("operations_per_s", "commands/s", "Commands of clients"),
    ("errors_per_s", "errors/s", "Answered with an error"),
    ("divergent_per_s", "votes/s", "Zones answered differently"),
    ("p99_ms", "ms", "Latency at the coordinator, 99th percentile"),
)


def plot_session(run: Path) -> list[Path]:
    """Draw the figure of one session into its ``plots`` folder. Raises ``RunError``."""
    directory = RunDirectory.open(run)
    zones = by_zone(directory)
    count = sum(len(columns["time_ns"]) for columns in zones.values())
    end_s = _end_s(directory, zones)
    figure, axes = figure_over_time(directory, end_s=end_s, rows=len(_PANELS), height=2.0)
    for axis, (column, unit, panel) in zip(axes, _PANELS, strict=True):
        _lines(axis, zones, column)
        style.label(axis, y=unit, panel=panel)
        axis.set_ylim(bottom=0)
    style.legend_above(figure, axes[0])
    notes = ["A gap means that the coordinator did not answer, or, for latency, that there were no commands."]
    style.title(figure, "A session", [directory], sample=f"n = {count:,} samples", notes=notes)
    return [style.save(figure, directory.path / "plots" / "session.png")]


def _lines(axis: Axes, zones: Mapping[str, Mapping[str, Any]], column: str) -> None:
    for position, (zone, columns) in enumerate(zones.items()):
        axis.plot(
            columns["time_ns"] / NS_PER_S,
            columns[column],
            color=style.colour_of_zone(position),
            linestyle=style.line_of(position),
            linewidth=1.3,
            marker="." if column == "p99_ms" else None,
            markersize=3,
            label=f"zone {zone}",
            zorder=3,
        )


def _end_s(run: RunDirectory, zones: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the end of a session: if its supervisor was killed, the time of the last sample or fault."""
    known = [end_ns for _, end_ns in run.info.phases.values()]
    known += [fault.end_ns or fault.begin_ns for fault in run.faults()]
    known += [int(columns["time_ns"][-1]) for columns in zones.values()]
    return max(1.0, max(known, default=0) / NS_PER_S)
