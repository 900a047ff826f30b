"""Staleness of the reads of registers in each part of a run: how many of them, and how far."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from zonelab.analysis.checkers.consistency.registers import by_key
from zonelab.analysis.checkers.consistency.staleness import reads_with_newer, staleness_ms
from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.fault_lanes import figure_over_time
from zonelab.analysis.figures.kinds.time_plots import Windows
from zonelab.analysis.figures.plot_data import Floats, completions, end_s
from zonelab.analysis.runs.accesses import accesses
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.units import NS_PER_S


class Reads(NamedTuple):
    """The answered reads of one zone: when each began, and how stale it was; 0 if it missed nothing."""

    begin_s: Floats
    stale_ms: Floats


def plot_staleness_over_time(run: RunDirectory) -> Path:
    """Draw ``plots/staleness.png`` of a run of registers: a line a zone, with fault bands. Raises ``RunError``."""
    windows = Windows.over(end_s(run, completions(run)))
    figure, (share, far) = figure_over_time(run, end_s=windows.end_s, rows=2, height=2.0)
    reads = reads_by_zone(run)
    for position, (zone, found) in enumerate(reads.items()):
        colour, marker = style.colour_of_zone(position), style.marker_of(position)
        share.plot(windows.middles_s, 100 * shares(found, windows), color=colour, label=zone, linewidth=1.6)
        far.plot(windows.middles_s, farthest_ms(found, windows), marker, color=colour, label=zone, markersize=5)
    share.set_ylim(bottom=0)
    style.label(share, y="stale reads (%)", panel="of the reads that began in each window")
    style.log_ms(far, "y")
    style.label(far, y="staleness (ms)", panel="the stalest read of each window")
    style.legend_above(figure, share)
    notes = [
        f"Answered reads over windows of {windows.width_s:g} s, by zone. Staleness counts from the first confirmed "
        "write that the read certainly missed: a lower bound. No point: no read of the window was stale. Dotted line: "
        "the load ends."
    ]
    count = sum(len(found.begin_s) for found in reads.values())
    style.title(figure, "Staleness over time", [run], sample=f"n = {count:,} reads", notes=notes)
    return style.save(figure, run.path / "plots" / "staleness.png")


def reads_by_zone(run: RunDirectory) -> dict[str, Reads]:
    """Return the reads of each zone. Raises ``RunError``."""
    found: dict[str, list[tuple[float, float]]] = {}
    for of_key in by_key(accesses(run)).values():
        for read, newer in reads_with_newer(of_key):
            found.setdefault(read.zone, []).append((read.begin_ns / NS_PER_S, staleness_ms(read, newer)))
    return {zone: Reads(*np.array(rows, dtype=np.float64).T) for zone, rows in sorted(found.items())}


def shares(reads: Reads, windows: Windows) -> Floats:
    """Return the share of stale reads among those that began in each window; NaN where there was none."""
    return windows.means(reads.begin_s, (reads.stale_ms > 0).astype(np.float64))


def farthest_ms(reads: Reads, windows: Windows) -> Floats:
    """The largest staleness of each window; NaN where no read was stale."""
    found = windows.split(reads.begin_s, reads.stale_ms)
    return np.array([part.max() if len(part) and part.max() > 0 else np.nan for part in found])
