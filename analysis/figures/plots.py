"""The figures of one run, and those that compare several."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter
from numpy.typing import NDArray

from zonelab.analysis.comparison.samples import zones_differ
from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.fault_lanes import figure_over_time
from zonelab.analysis.figures.kinds.distribution_plots import plot_lateness
from zonelab.analysis.figures.kinds.lines import lines_of
from zonelab.analysis.figures.plot_data import (
    TYPES,
    Completions,
    Floats,
    completions,
    drawn_points,
    end_s,
    operations_shown,
    window_s,
    windowed_quantiles,
)
from zonelab.analysis.figures.rate_plot import plot_rates
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stages import Stage, made_in_turn, unheard
from zonelab.analysis.statistics import empirical_cdf
from zonelab.analysis.summary.run_summary import Rate, load_summary, load_verdict
from zonelab.analysis.units import NS_PER_S

POINTS_MAX = 6_000  # per panel and type; more would only make the file larger and the cloud denser
CDF_POINTS = 1_000
_CAUSES = ("redelivered", "concurrent", "resurrected")
_LOSSES = ("lost", "stuck", "abandoned")


def plot_run(run: Path, *, stage: Stage = unheard) -> list[Path]:
    """Draw the figures of one run into its ``plots`` folder. Raises ``RunError``."""
    directory = RunDirectory.open(run)
    load_verdict(directory)  # the checker writes the lateness distribution
    data = completions(directory)
    folder = directory.path / "plots"
    makers = (
        partial(plot_latency, directory, data, folder / "latency.png"),
        partial(plot_latency_cdf, _by_zone(data), [directory], folder / "latency-cdf.png"),
        partial(plot_lateness, lines_of([directory]), folder / "lateness.png", may_be_empty=True),
        partial(plot_depth, directory, folder / "depth.png"),
        partial(plot_rates, directory, data),
    )
    return made_in_turn(stage, "figures", makers)


def plot_accesses(run: Path, *, stage: Stage = unheard) -> list[Path]:
    """Draw the figures of a run whose clients used no queue into its ``plots`` folder. Raises ``RunError``."""
    directory = RunDirectory.open(run)
    data = completions(directory)
    folder = directory.path / "plots"
    makers = (
        partial(plot_latency, directory, data, folder / "latency.png"),
        partial(plot_latency_cdf, _by_zone(data), [directory], folder / "latency-cdf.png"),
        partial(plot_rates, directory, data),
    )
    return made_in_turn(stage, "figures", makers)


def plot_comparison(runs: Sequence[Path], folder: Path) -> list[Path]:
    """Draw what distinguishes several runs, one line or bar a run, into ``folder``. Raises ``RunError``."""
    directories = [RunDirectory.open(run) for run in runs]
    names = labels(directories)
    data = dict(zip(names, map(completions, directories), strict=True))
    return [
        plot_outcomes(directories, folder / "duplicates-and-losses.png"),
        plot_latency_cdf(data, directories, folder / "latency-cdf.png"),
        plot_lateness(lines_of(directories), folder / "lateness.png", may_be_empty=True),
    ]


def labels(runs: Sequence[RunDirectory]) -> list[str]:
    """A short name for each run: its level, with the seed and the time where levels repeat."""
    levels = [run.info.level for run in runs]
    if len(set(levels)) == len(runs):
        return levels
    return [f"{run.info.level} {run.path.name}" for run in runs]


def plot_latency(run: RunDirectory, data: Mapping[str, Completions], path: Path, *, width: float = style.WIDTH) -> Path:
    """Raw latency of every operation over time, coloured by outcome, with quantiles and fault bands."""
    shown = operations_shown([data])
    length_s = end_s(run, data)
    figure, axes = figure_over_time(run, end_s=length_s, rows=max(1, len(shown)), height=2.7, width=width)
    width_s = window_s(length_s)
    notes = [
        f"p50 and p99 of ok completions over windows of {width_s:g} s. Latency runs from invocation to completion; "
        "a pop waits for a message until its long-poll bound. A line breaks where none was confirmed. "
        "Dotted line: the load ends."
    ]
    for f, axis in zip(shown, axes, strict=False):
        thinned = _latency_panel(axis, data[f], width_s)
        style.label(axis, y="latency (ms)", panel=f)
        notes += [f"{f}: {thinned}."] if thinned else []
    if any((data[f].service_ms < style.FLOOR_MS).any() for f in shown):
        notes.append(f"Times below {style.FLOOR_MS:g} ms, such as of what is refused at once, are drawn there.")
    style.legend_above(figure, *axes)
    counts = ", ".join(f"{len(data[f]):,} {f}" for f in shown)
    style.title(figure, "Latency over time", [run], sample=f"n = {counts or 0}", notes=[" ".join(notes)])
    return style.save(figure, path)


def _latency_panel(axis: Axes, data: Completions, width_s: float) -> str:
    """Draw one operation; returns which points were left out, in words."""
    thinned = []
    for name in TYPES:
        part = data.of_type(name)
        step, rule = drawn_points(part, at_most=POINTS_MAX)
        if rule:
            thinned.append(f"of {name} points are drawn {rule}")
        axis.scatter(
            part.time_s[step],
            np.maximum(part.service_ms[step], style.FLOOR_MS),
            s=9 if name == "ok" else 11,
            marker="." if name == "ok" else "x",
            linewidths=0.6 if name == "ok" else 0.9,
            alpha=0.55 if name == "ok" else 0.85,
            color=style.TYPE_COLOURS[name],
            label=name,
            zorder=2,
            rasterized=True,
        )
    ok = data.of_type("ok")
    if len(ok):
        middle_s, (p50, p99) = windowed_quantiles(ok.time_s, ok.service_ms, (0.5, 0.99), width_s=width_s)
        _quantile_line(axis, middle_s, p50, color=style.INK, linewidth=1.5, label="p50", zorder=4)
        _zone_lines(axis, ok, width_s)
        _quantile_line(axis, middle_s, p99, color=style.INK, linewidth=1.2, linestyle="--", label="p99", zorder=4)
    style.log_ms(axis, "y")
    return ", ".join(thinned)


def _zone_lines(axis: Axes, ok: Completions, width_s: float) -> None:
    """The median of each zone, if zones differ."""
    parts = {zone: ok.of_zone(zone) for zone in sorted(ok.zones)}
    if not zones_differ({zone: float(np.median(part.service_ms)) for zone, part in parts.items() if len(part)}):
        return
    for position, (zone, part) in enumerate(parts.items()):
        middle_s, (p50,) = windowed_quantiles(part.time_s, part.service_ms, (0.5,), width_s=width_s)
        look: dict[str, Any] = {"color": style.colour_of_zone(position), "linestyle": style.line_of(position)}
        _quantile_line(axis, middle_s, p50, linewidth=1.2, label=f"p50 of zone {zone}", zorder=5, **look)


def _quantile_line(axis: Axes, middle_s: Floats, values: Floats, **look: Any) -> None:
    """Draw a quantile over windows; one between two windows without data, which no line reaches, is a dash."""
    shown = np.maximum(values, style.FLOOR_MS)
    axis.plot(middle_s, shown, **look)
    known = np.pad(~np.isnan(values), 1)
    alone = known[1:-1] & ~known[:-2] & ~known[2:]
    if alone.any():
        mark = {"color": look["color"], "zorder": look["zorder"], "label": f"_alone, {look['label']}"}
        axis.plot(middle_s[alone], shown[alone], "_", markersize=6, **mark)


def _by_zone(data: Mapping[str, Completions]) -> dict[str, dict[str, Completions]]:
    zones = sorted({zone for part in data.values() for zone in part.zones})
    return {f"zone {zone}": {f: part.of_zone(zone) for f, part in data.items()} for zone in zones}


def plot_latency_cdf(data: Mapping[str, Mapping[str, Completions]], runs: Sequence[RunDirectory], path: Path) -> Path:
    """Distribution of service latency by operation, a line a run (or zone); response latency dotted."""
    shown = operations_shown(data.values())
    figure, axes = style.new_figure(columns=max(1, len(shown)), height=3.6, sharey=True)
    total = 0
    for f, axis in zip(shown, axes, strict=False):
        sizes = []
        for position, (name, parts) in enumerate(data.items()):
            ok = parts[f].of_type("ok") if f in parts else None
            if ok is None or not len(ok):
                continue
            total += len(ok)
            sizes.append(f"{len(ok):,}")
            colour = _line_colour(name, runs, position)
            _cdf_line(axis, ok.service_ms, color=colour, label=name, linewidth=1.7)
            response_ms = ok.response_ms[~np.isnan(ok.response_ms)]
            if response_ms.size:
                _cdf_line(axis, response_ms, color=colour, linestyle=":", linewidth=1.2)
        style.log_ms(axis, "x")
        style.label(axis, x="latency (ms)", panel=f"{f}, n = {' / '.join(sizes) or 0}")
    _share_axis(axes[0])
    style.legend_above(figure, *axes)
    notes = [
        "ok completions. Solid: service latency, from invocation. Dotted: response latency, from the planned start."
    ]
    of = "level" if len(runs) > 1 else "zone"
    style.title(figure, f"Latency distribution by {of}", runs, sample=f"n = {total:,} operations", notes=notes)
    return style.save(figure, path)


def _line_colour(name: str, runs: Sequence[RunDirectory], position: int) -> str:
    return style.colour_of_zone(position) if len(runs) == 1 else style.colour_of_level(name, position)


def _cdf_line(axis: Axes, sample_ms: NDArray[np.float32], **line: Any) -> None:
    x, y = empirical_cdf(sample_ms, points=CDF_POINTS)
    axis.step(np.maximum(x, style.FLOOR_MS), y, where="post", **line)


def _share_axis(axis: Axes) -> None:
    axis.set_ylim(0, 1.02)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axis.set_ylabel("share of operations at or below", fontsize=9.5, color=style.INK)


def plot_depth(run: RunDirectory, path: Path, *, width: float = style.WIDTH) -> Path:
    """Waiting and leased messages of every zone over time; a gap where the zone did not answer."""
    table = run.depth()
    zones = table["zone"].to_pylist()
    time_s = table["time_ns"].to_numpy() / NS_PER_S
    length_s = max(float(time_s.max(initial=0)), end_s(run, {}))
    figure, axes = figure_over_time(run, end_s=length_s, rows=2, height=2.4, width=width)
    for column, axis in zip(("waiting", "leased"), axes, strict=True):
        depth = table[column].to_numpy(zero_copy_only=False).astype(np.float64)  # null becomes NaN: a gap
        for position, zone in enumerate(sorted(set(zones))):
            mine = np.array([name == zone for name in zones])
            look: dict[str, Any] = {"color": style.colour_of_zone(position), "linestyle": style.line_of(position)}
            axis.plot(time_s[mine], depth[mine], label=f"zone {zone}", linewidth=1.5, **look)
        axis.set_ylim(0, max(1.0, axis.get_ylim()[1]))  # of a queue that is always empty, too, the axis counts messages
        style.label(axis, y="messages", panel=column)
    style.legend_above(figure, axes[0])
    sample = f"n = {table.num_rows:,} samples"
    notes = ["Ids that a zone lists for its own shard. A gap: the zone did not answer."]
    style.title(figure, "Queue depth by zone", [run], sample=sample, notes=notes)
    return style.save(figure, path)


def plot_outcomes(runs: Sequence[RunDirectory], path: Path) -> Path:
    """Duplicates by cause and losses by kind, a bar a run, with 95 % intervals."""
    summaries = [load_summary(run) for run in runs]
    figure, axes = style.new_figure(columns=2, height=3.6)
    _bars(axes[0], _CAUSES, [summary.duplicates for summary in summaries], runs)
    style.label(axes[0], y="extra deliveries per 1,000 delivered messages", panel="Duplicates by cause")
    _bars(axes[1], _LOSSES, [summary.loss for summary in summaries], runs)
    style.label(axes[1], y="messages per 1,000 acknowledged", panel="Losses")
    style.legend_above(figure, axes[0])
    sample = " / ".join(f"{summary.totals['delivered']:,}" for summary in summaries)
    notes = [
        "Figures on the bars are counts. Whiskers: 95 % intervals (Poisson for duplicates, Clopper-Pearson for losses)."
    ]
    style.title(figure, "Duplicates and losses by level", runs, sample=f"n = {sample} delivered", notes=notes)
    return style.save(figure, path)


def _bars(axis: Axes, names: Sequence[str], rates: Sequence[Mapping[str, Rate]], runs: Sequence[RunDirectory]) -> None:
    width = 0.8 / len(runs)
    for position, (label, run, rate) in enumerate(zip(labels(runs), runs, rates, strict=True)):
        at = np.arange(len(names)) + (position - (len(runs) - 1) / 2) * width
        known = [rate[name] for name in names]
        height = np.array([1_000 * (item.rate or 0) for item in known])
        spans = [item.interval for item in known]
        low = np.array([0 if span is None else 1_000 * span.low for span in spans])
        high = np.array([0 if span is None else 1_000 * span.high for span in spans])
        colour = style.colour_of_level(run.info.level, position)
        axis.bar(at, height, width * 0.92, color=colour, label=label, zorder=2)
        whiskers = [np.maximum(height - low, 0), np.maximum(high - height, 0)]
        axis.errorbar(at, height, yerr=whiskers, fmt="none", ecolor=style.INK, elinewidth=1, capsize=3, zorder=3)
        for x, top, item in zip(at, high, known, strict=True):
            axis.annotate(f"{item.count:,}", (x, top), (0, 3), textcoords="offset points", ha="center", fontsize=8.5)
    axis.set_xticks(np.arange(len(names)), names)
    axis.grid(visible=False, axis="x")
    axis.margins(y=0.15)
    axis.set_ylim(bottom=0)
