"""Distributions as figures, a line a setting: quantiles of latency, lateness of deliveries, staleness of reads."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from zonelab.analysis.checkers.consistency.registers import by_key
from zonelab.analysis.checkers.consistency.staleness import reads_with_newer, staleness_ms
from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.kinds.curves import OF_RUNS, Curve, Floats, bounds, draw, median_of_runs, sizes
from zonelab.analysis.figures.kinds.lines import PlotLine, PlotLines, confirmed_of, nothing_in
from zonelab.analysis.figures.plot_data import completions, operations_shown
from zonelab.analysis.runs.accesses import accesses
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.statistics import distribution_margin, quantile_interval
from zonelab.analysis.summary.run_summary import load_verdict
from zonelab.analysis.workloads import WorkloadKind

LINEAR_MS = 10.0
"""Up to here the axis of lateness and staleness is linear, since both may be 0."""

PLACES = 48
PLACES_OF_CDF = 1_000
_LOWEST = 0.01  # the first quantile that is drawn

Sample = tuple[Floats, NDArray[np.int64]]
"""Distinct values in order, and how often each occurs."""


def plot_quantiles(lines: PlotLines, path: Path, *, width: float) -> Path:
    """Latency of ok completions by quantile, each line with its interval. Raises ``RunError``."""
    data = {run.path: completions(run) for run in lines.runs}
    shown = operations_shown(data.values())
    figure, axes = style.side_by_side(max(1, len(shown)), height=3.6, width=width)
    total = 0
    for f, axis in zip(shown, axes, strict=False):
        curves = [
            quantile_curve(line, [np.sort(part.service_ms.astype(np.float64)) for part in parts])
            for line in lines.lines
            if (parts := confirmed_of(line, data, f))
        ]
        total += sum(curve.n for curve in curves)
        for position, curve in enumerate(curves):
            draw(axis, curve, position)
        style.log_ms(axis, "y")
        _quantile_axis(axis, max((float(curve.x[-1]) for curve in curves), default=1.0))
        style.label(axis, x="quantile of latency", y="latency (ms)", panel=f"{f}, {sizes(curves)}")
    if not total:
        raise nothing_in(lines, "completed operations")
    notes = [
        "ok completions, from invocation to completion. The band of one run: distribution-free 95 % interval of each "
        "quantile (order statistics), as if its operations were independent; slow moments make it too narrow. It ends "
        "where too few values lie beyond.",
        OF_RUNS if any(len(line.runs) > 1 for line in lines.lines) else "",
        *lines.notes,
    ]
    style.legend_above(figure, *axes)
    style.title(figure, "Latency by quantile", lines.runs, sample=f"n = {total:,} operations", notes=notes)
    return style.save(figure, path)


def quantile_curve(line: PlotLine, samples: Sequence[Floats]) -> Curve:
    """Quantiles (ms) over -log10 of the share above, as far as values go; a sample a run, in order."""
    x = np.linspace(-np.log10(1 - _LOWEST), np.log10(max(10, *(len(one) for one in samples))), PLACES)
    share = 1 - 10**-x
    rows = [_quantiles(values, share) for values in samples]
    count = sum(len(one) for one in samples)
    if len(line.runs) > 1:
        return median_of_runs(line.label, x, rows, n=count)
    low, high = bounds([quantile_interval(samples[0], one) for one in share.tolist()])
    return Curve(name=line.label, x=x, y=rows[0], low=np.maximum(low, style.FLOOR_MS), high=high, n=count)


def _quantiles(values: Floats, share: Floats) -> Floats:
    found = np.maximum(np.quantile(values, share), style.FLOOR_MS)
    return np.where(1 - share >= 1 / len(values) - 1e-12, found, np.nan)


def _quantile_axis(axis: Axes, longest: float) -> None:
    nines = [1 - 10.0**-power for power in range(1, int(longest) + 1)]
    shares = [0.5, *nines]
    axis.xaxis.set_major_locator(FixedLocator([-float(np.log10(1 - share)) for share in shares]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"p{100 * (1 - 10**-value):.6g}".replace(".", "")))


def plot_lateness(lines: PlotLines, path: Path, *, width: float = style.WIDTH, may_be_empty: bool = False) -> Path:
    """Distribution of the time from due to first delivery. Raises ``RunError``."""
    return _plot_distribution(
        lines,
        path,
        width=width,
        read=_lateness,
        headline="Lateness",
        what="messages",
        x="lateness of the first delivery (ms, linear up to 10; below 0 is early)",
        note="Messages that were delivered; those that never came are among the losses.",
        may_be_empty=may_be_empty,
    )


def plot_staleness(lines: PlotLines, path: Path, *, width: float) -> Path:
    """Distribution of how stale the reads of registers were. Raises ``RunError``."""
    return _plot_distribution(
        lines,
        path,
        width=width,
        read=_staleness,
        headline="Staleness of reads",
        what="reads",
        x="staleness of a read (ms, linear up to 10; 0: it missed nothing)",
        note="Answered reads. Staleness counts from the first confirmed write that the read certainly missed: a lower "
        "bound.",
    )


def _plot_distribution(
    lines: PlotLines,
    path: Path,
    *,
    width: float,
    read: Callable[[RunDirectory, str | None], Sample],
    headline: str,
    what: str,
    x: str,
    note: str,
    may_be_empty: bool = False,
) -> Path:
    found = {}
    for position, line in enumerate(lines.lines):
        samples = [sample for run in line.runs if (sample := read(run, line.zone))[1].sum()]
        if samples:
            found[position] = distribution_curve(line, samples)
    if not found and not may_be_empty:
        raise nothing_in(lines, what)
    curves = list(found.values())
    figure, (axis,) = style.new_figure(height=3.6 if width > 4 else 2.6, width=min(width, 8.0))
    for position, curve in found.items():
        draw(axis, curve, position, step=True, marker=None)
    lowest = min((float(np.nanmin(np.where(np.isnan(curve.low), curve.y, curve.low))) for curve in curves), default=0)
    axis.set_xscale("symlog", linthresh=LINEAR_MS)
    axis.set_xlim(left=min([-1.0, *(float(curve.x[0]) for curve in curves)]))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_ylim(0 if lowest < 0.5 else max(0.0, 1 - 1.5 * (1 - lowest)), 1.02 if lowest < 0.5 else 1.0)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.4g} %"))
    axis.axvline(0, color=style.MUTED, linewidth=0.9)
    style.label(
        axis, x=x, y=f"share of {what} at or below", panel=sizes(curves) if curves else f"n = 0: no {what} to draw"
    )
    style.legend_above(figure, axis)
    notes = [
        f"{note} The band of one run: 95 % of Dvoretzky, Kiefer and Wolfowitz, distribution-free, as if {what} were "
        "independent.",
        OF_RUNS if any(len(line.runs) > 1 for line in lines.lines) else "",
        *lines.notes,
    ]
    total = sum(curve.n for curve in curves)
    style.title(figure, headline, lines.runs, sample=f"n = {total:,} {what}", notes=notes)
    return style.save(figure, path)


def distribution_curve(line: PlotLine, samples: Sequence[Sample]) -> Curve:
    """The share at or below each value, with its band."""
    places = np.unique(np.concatenate([values for values, _ in samples]))
    if len(places) > PLACES_OF_CDF:
        places = places[np.unique(np.linspace(0, len(places) - 1, PLACES_OF_CDF).round().astype(np.int64))]
    rows = [_share(sample, places) for sample in samples]
    count = int(sum(counts.sum() for _, counts in samples))
    if len(line.runs) > 1:
        return median_of_runs(line.label, places, rows, n=count)
    margin = distribution_margin(count)
    low, high = np.clip(rows[0] - margin, 0, 1), np.clip(rows[0] + margin, 0, 1)
    return Curve(name=line.label, x=places, y=rows[0], low=low, high=high, n=count)


def _share(sample: Sample, places: Floats) -> Floats:
    values, counts = sample
    below = np.concatenate([[0], np.cumsum(counts)])[np.searchsorted(values, places, side="right")]
    share: Floats = below / counts.sum()
    return share


def _lateness(run: RunDirectory, zone: str | None) -> Sample:
    load_verdict(run)  # the checker writes the distribution
    table = run.lateness()
    zones = table["zone"].to_numpy(zero_copy_only=False)
    chosen = zones == zone if zone is not None else np.full(len(zones), fill_value=True)
    values, places = np.unique(table["lateness_ms"].to_numpy()[chosen], return_inverse=True)
    return values.astype(np.float64), _counted(places, table["deliveries"].to_numpy()[chosen])


def _counted(places: NDArray[np.int64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(places, weights).astype(np.int64)


def _staleness(run: RunDirectory, zone: str | None) -> Sample:
    kind = "queue" if run.info.workload is None else run.info.workload.kind
    if kind != WorkloadKind.REGISTER:
        raise RunError(f"{run.path}: its clients used a {kind}: staleness in time is of registers only")
    found = [
        staleness_ms(read, newer)
        for of_key in by_key(accesses(run)).values()
        for read, newer in reads_with_newer(of_key)
        if zone in (None, read.zone)
    ]
    values, counts = np.unique(np.array(found, dtype=np.float64), return_counts=True)
    return values, counts.astype(np.int64)
