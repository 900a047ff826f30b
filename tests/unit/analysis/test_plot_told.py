"""Goal: a figure tells everything of a run that it should, and nothing that is not so: titles, units, ends of axes,
lines, bands, marks and notes.

Method: small runs whose numbers can be worked out by hand; the whole figure as text, beside a text that was read.
"""

import pytest
from matplotlib.figure import Figure
from support.analysis.accesses import Story
from support.analysis.figures import kept_figures
from support.analysis.runs import small_run
from support.analysis.told_figures import expected, told

from zonelab.analysis.figures import compare_plot, evaluation_plot, plots
from zonelab.analysis.figures.draw import draw
from zonelab.analysis.figures.kinds.names import PlotKind
from zonelab.analysis.figures.lag_plot import plot_lag
from zonelab.analysis.figures.staleness_plot import plot_staleness_over_time
from zonelab.analysis.lags.distributions import Uniform
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.workloads import WorkloadKind


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figure]:
    """Every figure, by name."""
    folder = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patch:
        kept = kept_figures(patch)
        one, two = (small_run(folder / level / "1", level=level) for level in ("DC_ONE", "DC_QUORUM"))
        plots.plot_run(one)
        compare_plot.plot_comparison(one, two, folder / "two-runs.png")
        found = {f"run {name}": figure for name, figure in kept.items()}
        kept.clear()
        plots.plot_comparison([one, two], folder)
        found |= {f"levels {name}": figure for name, figure in kept.items()}
        kept.clear()
        for kind in PlotKind:
            if kind is not PlotKind.STALENESS:
                draw([one, two], kind, folder / f"{kind}.png", width=3.6)
        story = Story(WorkloadKind.REGISTER).write("x", 0).write("y", 20)
        story.read("x", 31, client=2).read("x", 121, client=2).read("y", 300, zone="b", client=5)
        registers = story.directory(folder / "registers")
        draw([registers], PlotKind.STALENESS, folder / "staleness of reads.png")
        plot_staleness_over_time(RunDirectory.open(registers))
        lag = folder / "lag.png"
        plot_lag([3.0, 1.0, 2.0], [0.0, 0.5, 1.5], Uniform(0, 4), lag, headline="Lag", about="of b", what="one way")
        evaluation_plot.plot_push(EVALUATION, folder / "pushes.png")
        return found | kept


def interval(value: float | None, low: float, high: float | None) -> dict[str, float | None]:
    return {"value": value, "low": low, "high": high}


PUSHES = ("p50(push)", "p99(push)", "p99.9(push)")
OBJECTIVES = ("p99(push) <= 50ms", "lost == 0")
EVALUATION = {
    "scenario": "steady",
    "environment": {"zonelab": "0.1.0"},
    "seeds": {"first": 5},
    "runs": {"kill": 1_000, "lag": 500},
    "objectives": OBJECTIVES,
    "settings": [
        {
            "setting": f"level={level} zones=3",
            "objectives": [
                {"objective": name, "bound": 0.05, **interval(0.025 * factor, 0.01 * factor, high)}
                for name in OBJECTIVES
            ],
            "year": {
                name: interval(value, 0.001 * factor, high)
                for name, value, high in zip(PUSHES, (0.002, 0.02, None), (0.004, 0.05, None), strict=True)
            },
        }
        for level, factor, high in (("DC_QUORUM", 1, 0.04), ("DC_ONE", 4, None))
    ],
}

RUN = ("latency", "latency-cdf", "lateness", "depth", "rates", "two-runs")
LEVELS = ("duplicates-and-losses", "latency-cdf", "lateness")
OTHERS = ("staleness of reads", "staleness", "lag", "pushes")


@pytest.mark.parametrize(
    "name",
    [
        *(f"run {name}" for name in RUN),
        *(f"levels {name}" for name in LEVELS),
        *(str(kind) for kind in PlotKind if kind is not PlotKind.STALENESS),
        *OTHERS,
    ],
)
def test_a_figure_tells_all_of_a_small_run(name: str, figures: dict[str, Figure]) -> None:
    assert told(figures[f"{name}.png"]) == expected(name)
