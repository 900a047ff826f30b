"""Figures over run time for runs beside each other: latency, rate and depth, a line a setting or zone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from matplotlib.axes import Axes

from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.fault_lanes import figure_over_time
from zonelab.analysis.figures.kinds.curves import OF_RUNS, Curve, Floats, bounds, draw, median_of_runs, sizes
from zonelab.analysis.figures.kinds.lines import PlotLine, PlotLines, confirmed_of, nothing_in, part_of
from zonelab.analysis.figures.plot_data import Completions, completions, end_s, operations_shown, window_s
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.statistics import quantile_interval
from zonelab.analysis.units import NS_PER_S

Data = Mapping[Path, Mapping[str, Completions]]
Panel = Callable[[Axes, str], Sequence[Curve]]

_QUANTILES = ((0.5, "p50", "-"), (0.99, "p99", "--"))
_OUTCOMES = (("ok", ("ok",), "-"), ("not ok", ("fail", "info"), "--"))
_DEPTHS = ("waiting", "leased")
_SAMPLES = (
    2  # of depth in a window at least, so that a gap is a zone that did not answer and not a window between samples
)
_SAME_FAULT = 0.02  # of the length of a run: faults that begin or end further apart are not the same


@dataclass(frozen=True, kw_only=True, slots=True)
class Windows:
    """Run time cut into windows of one width, but for the last, which ends with the longest run."""

    width_s: float
    end_s: float

    @classmethod
    def over(cls, length_s: float, *, least_s: float = 0.0) -> Self:
        """Return windows of ``length_s`` seconds of run time, each at least ``least_s`` wide."""
        return cls(width_s=window_s(length_s, least_s=least_s), end_s=length_s)

    @property
    def edges_s(self) -> Floats:
        inner = np.arange(int(np.ceil(self.end_s / self.width_s - 1e-9))) * self.width_s
        return np.append(inner, self.end_s)

    @property
    def middles_s(self) -> Floats:
        edges = self.edges_s
        return (edges[:-1] + edges[1:]) / 2

    def places(self, time_s: Floats) -> Floats:
        """In which window each time lies."""
        return np.clip(np.searchsorted(self.edges_s, time_s, side="right") - 1, 0, len(self.edges_s) - 2)

    def split(self, time_s: Floats, values: Floats) -> list[Floats]:
        """The values of each window."""
        places = self.places(time_s)
        order = np.argsort(places, kind="stable")
        return np.split(values[order], np.searchsorted(places[order], np.arange(1, len(self.edges_s) - 1)))

    def rates(self, time_s: Floats, *, until_s: float) -> Floats:
        """Events a second in each window; NaN in windows that begin when the run has ended, at ``until_s``."""
        edges = self.edges_s
        found: Floats = np.histogram(time_s, edges)[0] / np.diff(edges)
        return np.where(edges[:-1] < until_s, found, np.nan)

    def means(self, time_s: Floats, values: Floats) -> Floats:
        """The mean of each window; NaN where there is no value."""
        return np.array([np.mean(part) if len(part) else np.nan for part in self.split(time_s, values)])


def quantile_curve(line: PlotLine, samples: Sequence[Completions], probability: float, windows: Windows) -> Curve:
    """The quantile of service latency (ms) in each window, with its interval."""
    parts = [windows.split(one.time_s, one.service_ms.astype(np.float64)) for one in samples]
    rows = [
        np.array([max(style.FLOOR_MS, np.quantile(part, probability)) if len(part) else np.nan for part in of_run])
        for of_run in parts
    ]
    count = sum(len(one) for one in samples)
    if len(line.runs) > 1 or not parts:
        return median_of_runs(line.label, windows.middles_s, rows, n=count)
    low, high = bounds([quantile_interval(part, probability) for part in parts[0]])
    return Curve(
        name=line.label, x=windows.middles_s, y=rows[0], low=np.maximum(low, style.FLOOR_MS), high=high, n=count
    )


def rate_curve(line: PlotLine, events: Sequence[tuple[Floats, float]], windows: Windows) -> Curve:
    """Events a second in each window; ``events``: of each run their times and its end, in seconds."""
    rows = [windows.rates(time_s, until_s=until_s) for time_s, until_s in events]
    return median_of_runs(line.label, windows.middles_s, rows, n=sum(len(time_s) for time_s, _ in events))


def plot_latency_lines(lines: PlotLines, path: Path, *, width: float) -> Path:
    """Median and 99th percentile of ok completions in windows of run time. Raises ``RunError``."""
    data = _data(lines)
    windows = _windows(lines.runs, data)

    def panel(axis: Axes, f: str) -> Sequence[Curve]:
        curves = []
        for position, line in enumerate(lines.lines):
            samples = confirmed_of(line, data, f)
            for probability, name, dashes in _QUANTILES:
                curves.append(quantile_curve(line, samples, probability, windows))
                draw(axis, curves[-1], position, linestyle=dashes, label=f"{curves[-1].label} {name}")
        style.log_ms(axis, "y")
        return curves[::2]

    note = (
        f"ok completions over windows of {windows.width_s:g} s; latency from invocation to completion. The band of one "
        "run: distribution-free 95 % interval of the window's quantile, where it has enough values."
    )
    figure = _Figure(lines=lines, windows=windows, width=width, headline="Latency over time", note=note)
    return figure.drawn(operations_shown(data.values()), panel, path, y="latency (ms)", what="completed operations")


def plot_rate(lines: PlotLines, path: Path, *, width: float) -> Path:
    """Completions a second in windows of run time, ok and not. Raises ``RunError``."""
    data = _data(lines)
    windows = _windows(lines.runs, data)

    def panel(axis: Axes, f: str) -> Sequence[Curve]:
        curves = []
        for position, line in enumerate(lines.lines):
            for name, types, dashes in _OUTCOMES:
                events = [(_times_s(line, run, f, types, data), _end_s(run, lines.runs, data)) for run in line.runs]
                curves.append(rate_curve(line, events, windows))
                draw(axis, curves[-1], position, linestyle=dashes, label=f"{curves[-1].label} {name}")
        axis.set_ylim(bottom=0)
        return [replace(ok, n=ok.n + others.n) for ok, others in zip(curves[::2], curves[1::2], strict=True)]

    note = (
        f"Completions over windows of {windows.width_s:g} s; not ok: failed, or nobody knows. A line of one run has no "
        "interval: it is a count."
    )
    figure = _Figure(lines=lines, windows=windows, width=width, headline="Rate over time", note=note)
    return figure.drawn(operations_shown(data.values()), panel, path, y="operations/s", what="completed operations")


def plot_depth_lines(lines: PlotLines, path: Path, *, width: float) -> Path:
    """Waiting and leased messages in windows of run time, all zones together unless a line is of one. ``RunError``."""
    windows = _windows(lines.runs, {}, least_s=_SAMPLES * max(map(_sampled_s, lines.runs)))

    def panel(axis: Axes, column: str) -> Sequence[Curve]:
        curves = []
        for position, line in enumerate(lines.lines):
            curves.append(depth_curve(line, column, windows, first=lines.runs[0]))
            draw(axis, curves[-1], position)
        axis.set_ylim(bottom=0)
        return curves

    note = (
        f"Means over windows of {windows.width_s:g} s of the ids that zones list for their own shards, summed over "
        "zones. A gap: a zone did not answer. A line of one run has no interval: it is a count."
    )
    figure = _Figure(lines=lines, windows=windows, width=width, headline="Queue depth", note=note)
    return figure.drawn(_DEPTHS, panel, path, y="messages", what="samples of depth")


def depth_curve(line: PlotLine, column: str, windows: Windows, *, first: RunDirectory) -> Curve:
    """Return the mean depth in each window; ``first``: the run with whose load that of the others begins."""
    rows, count = [], 0
    for run in line.runs:
        table = run.depth()
        zones = np.array(table["zone"].to_pylist(), dtype=object)
        chosen = [line.zone] if line.zone is not None else sorted(set(zones.tolist()))
        time_s = (table["time_ns"].to_numpy() + _shift_ns(run, first)) / NS_PER_S
        depth = table[column].to_numpy(zero_copy_only=False).astype(np.float64)  # null becomes NaN: a gap
        count += int(np.isin(zones, chosen).sum())
        of_zones = [windows.means(time_s[zones == zone], depth[zones == zone]) for zone in chosen]
        rows.append(np.sum(of_zones, axis=0) if of_zones else np.full(len(windows.middles_s), np.nan))
    return median_of_runs(line.label, windows.middles_s, rows, n=count)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Figure:
    """Parts that the figures of this module share: panels over run time, fault bands, legend, notes."""

    lines: PlotLines
    windows: Windows
    width: float
    headline: str
    note: str

    def drawn(self, shown: Sequence[str], panel: Panel, path: Path, *, y: str, what: str) -> Path:
        runs, notes = self.lines.runs, [self.note, *self._notes()]
        faults = shared_faults(runs, length_s=self.windows.end_s)
        height = 2.4 if self.width > 4 else 1.8
        figure, axes = figure_over_time(
            runs[0],
            end_s=self.windows.end_s,
            rows=max(1, len(shown)),
            height=height,
            width=self.width,
            faults=faults or [],
        )
        total = 0
        for name, axis in zip(shown, axes, strict=False):
            curves = panel(axis, name)
            total += sum(curve.n for curve in curves)
            style.label(axis, y=y, panel=f"{name}, {sizes(curves)}")
        if not total:
            raise nothing_in(self.lines, what)
        if faults is None:
            notes.append("The faults of these runs differ: none is shown.")
        style.legend_above(figure, *axes)
        style.title(figure, self.headline, runs, sample=f"n = {total:,} {what}", notes=notes)
        return style.save(figure, path)

    def _notes(self) -> list[str]:
        several = any(len(line.runs) > 1 for line in self.lines.lines)
        first, *others = self.lines.runs
        aligned = any(_shift_ns(run, first) for run in others)
        return [
            *([OF_RUNS] if several else []),
            *(["Times are those of the first run; the load of the others begins with its own."] if aligned else []),
            "Dotted line: the load ends.",
            *self.lines.notes,
        ]


def _shift_ns(run: RunDirectory, first: RunDirectory) -> int:
    """Return how much later the load of ``first`` begins than that of ``run``; 0 if either never began."""
    begins = [one.info.phases.get("load") for one in (first, run)]
    return 0 if begins[0] is None or begins[1] is None else begins[0][0] - begins[1][0]


def shared_faults(runs: Sequence[RunDirectory], *, length_s: float) -> list[FaultBand] | None:
    """The faults of the first run if all have the same as long after their load began, or nearly; None if not."""
    first, apart_ns = runs[0].faults(), _SAME_FAULT * length_s * NS_PER_S
    alike = all(_are_same(first, run.faults(), _shift_ns(run, runs[0]), apart_ns) for run in runs[1:])
    return first if alike else None


def _are_same(first: Sequence[FaultBand], others: Sequence[FaultBand], shift_ns: int, apart_ns: float) -> bool:
    """Return whether the faults are the same, and each as long after the begin of the load."""
    return len(others) == len(first) and all(
        (one.kind, one.target) == (two.kind, two.target)
        and abs(one.begin_ns - two.begin_ns - shift_ns) <= apart_ns
        and (one.end_ns is None) == (two.end_ns is None)
        and abs((one.end_ns or 0) - (two.end_ns or 0) - shift_ns * (one.end_ns is not None)) <= apart_ns
        for one, two in zip(first, others, strict=True)
    )


def _data(lines: PlotLines) -> Data:
    """Return the completions of each run, at the times of the first one, with whose load that of the others begins."""
    first = lines.runs[0]
    return {
        run.path: {
            f: replace(of, time_s=of.time_s + _shift_ns(run, first) / NS_PER_S) for f, of in completions(run).items()
        }
        for run in lines.runs
    }


def _end_s(run: RunDirectory, runs: Sequence[RunDirectory], data: Data) -> float:
    """Return when ``run`` ends, at the times of the first one."""
    ends_s = [float(of.time_s.max()) for of in data.get(run.path, {}).values() if len(of)]
    return max(end_s(run, {}) + _shift_ns(run, runs[0]) / NS_PER_S, *ends_s, 1e-3)


def _windows(runs: Sequence[RunDirectory], data: Data, *, least_s: float = 0.0) -> Windows:
    return Windows.over(max(_end_s(run, runs, data) for run in runs), least_s=least_s)


def _sampled_s(run: RunDirectory) -> float:
    """Return how many seconds lie between two samples of a zone's depth; 0 for fewer than two."""
    table = run.depth()
    zones, time_s = np.array(table["zone"].to_pylist(), dtype=object), table["time_ns"].to_numpy() / NS_PER_S
    return max(
        (float(np.median(np.diff(time_s[zones == zone]))) for zone in set(zones) if sum(zones == zone) > 1), default=0.0
    )


def _times_s(line: PlotLine, run: RunDirectory, f: str, types: Sequence[str], data: Data) -> Floats:
    """When operations ``f`` of ``run`` ended in one of ``types``; a run without any has a rate, too: none a second."""
    part = part_of(line, data[run.path], f)
    return np.empty(0) if part is None else np.concatenate([part.of_type(one).time_s for one in types])
