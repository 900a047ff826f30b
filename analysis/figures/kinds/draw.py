"""One figure of one run or several, of the kind that is asked for: what ``zonelab plot`` does."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from analysis.figures import plot_style as style
from analysis.figures.kinds.distribution_plots import plot_lateness, plot_quantiles, plot_staleness
from analysis.figures.kinds.lines import lines_of
from analysis.figures.kinds.names import Kind
from analysis.figures.kinds.outcome_plot import plot_outcomes_against
from analysis.figures.kinds.outcomes import outcomes_of
from analysis.figures.kinds.time_plots import plot_depth_lines, plot_latency_lines, plot_rate
from analysis.figures.plot_data import completions
from analysis.figures.plots import plot_depth, plot_latency
from analysis.runs.directory import RunDirectory

_OF_LINES: Mapping[Kind, Callable[..., Path]] = {
    Kind.LATENCY: plot_latency_lines,
    Kind.QUANTILES: plot_quantiles,
    Kind.RATE: plot_rate,
    Kind.LATENESS: plot_lateness,
    Kind.DEPTH: plot_depth_lines,
    Kind.STALENESS: plot_staleness,
}


def draw(runs: Sequence[Path], kind: Kind, path: Path, *, by: str | None = None, width: float = style.WIDTH) -> Path:
    """Draw ``kind`` of ``runs`` into ``path``, ``width`` inches wide, in the format that its ending names.

    ``by``: what tells lines apart, or for duplicates and loss what stands along the axis. Raises ``RunError``,
    ``NotDrawable``, ``OSError``.
    """
    directories = [RunDirectory.open(run) for run in runs]
    if kind in (Kind.DUPLICATES, Kind.LOSS):
        outcomes = outcomes_of(directories)
        figure, notes = plot_outcomes_against(outcomes, kind, by=by, width=width)
        style.title(figure, kind.capitalize(), directories, sample=f"n = {len(outcomes):,} runs", notes=notes)
        return style.save(figure, path)
    lines = lines_of(directories, by=by)
    if by is None and len(directories) == 1:
        (run,) = directories
        if kind is Kind.LATENCY and (data := completions(run)):
            return plot_latency(run, data, path, width=width)
        if kind is Kind.DEPTH and len(run.depth()):
            return plot_depth(run, path, width=width)
    return _OF_LINES[kind](lines, path, width=width)
