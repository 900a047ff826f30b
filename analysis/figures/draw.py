"""One figure of one run or several, of the kind that is asked for: what ``zonelab plot`` does."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from zonelab.analysis.figures import plot_style as style
from zonelab.analysis.figures.kinds.distribution_plots import plot_lateness, plot_quantiles, plot_staleness
from zonelab.analysis.figures.kinds.lines import lines_of
from zonelab.analysis.figures.kinds.names import NotDrawable, PlotKind
from zonelab.analysis.figures.kinds.outcome_plot import plot_outcomes_against
from zonelab.analysis.figures.kinds.outcomes import SWEEP_RESULTS, outcomes_of, outcomes_of_sweep
from zonelab.analysis.figures.kinds.time_plots import plot_depth_lines, plot_latency_lines, plot_rate
from zonelab.analysis.figures.plot_data import completions
from zonelab.analysis.figures.plots import plot_depth, plot_latency
from zonelab.analysis.runs.directory import RunDirectory

_OF_LINES: Mapping[PlotKind, Callable[..., Path]] = {
    PlotKind.LATENCY: plot_latency_lines,
    PlotKind.QUANTILES: plot_quantiles,
    PlotKind.RATE: plot_rate,
    PlotKind.LATENESS: plot_lateness,
    PlotKind.DEPTH: plot_depth_lines,
    PlotKind.STALENESS: plot_staleness,
}


def draw(
    runs: Sequence[Path], kind: PlotKind, path: Path, *, by: str | None = None, width: float = style.WIDTH
) -> Path:
    """Draw ``kind`` of ``runs`` into ``path``, ``width`` inches wide, in the format that its ending names.

    ``by``: what tells lines apart, or for duplicates and loss what stands along the axis. Raises ``RunError``,
    ``NotDrawable``, ``OSError``.
    """
    if len(runs) == 1 and (runs[0] / SWEEP_RESULTS).exists():
        return _draw_sweep(runs[0], kind, path, by=by, width=width)
    directories = [RunDirectory.open(run) for run in runs]
    if kind in (PlotKind.DUPLICATES, PlotKind.LOSS):
        outcomes = outcomes_of(directories)
        figure, notes = plot_outcomes_against(outcomes, kind, by=by, width=width)
        style.title(figure, kind.capitalize(), directories, sample=f"n = {len(outcomes):,} runs", notes=notes)
        return style.save(figure, path)
    lines = lines_of(directories, by=by)
    if by is None and len(directories) == 1:
        (run,) = directories
        if kind is PlotKind.LATENCY and (data := completions(run)):
            return plot_latency(run, data, path, width=width)
        if kind is PlotKind.DEPTH and len(run.depth()):
            return plot_depth(run, path, width=width)
    return _OF_LINES[kind](lines, path, width=width)


def _draw_sweep(folder: Path, kind: PlotKind, path: Path, *, by: str | None, width: float) -> Path:
    if kind not in (PlotKind.DUPLICATES, PlotKind.LOSS):
        raise NotDrawable(f"{folder}: a sweep keeps no histories; accepted: {PlotKind.DUPLICATES}, {PlotKind.LOSS}")
    outcomes = outcomes_of_sweep(folder)
    figure, notes = plot_outcomes_against(outcomes, kind, by=by, width=width, of="pushed")
    seeds = {one.seed for one in outcomes}
    about = f"{folder.parent.name} · {folder.name} · {len(seeds)} seeds from {min(seeds)} to {max(seeds)} · "
    style.frame(figure, kind.capitalize(), f"{about}n = {len(outcomes):,} runs", notes=notes)
    return style.save(figure, path)
