"""Goal: every kind of ``zonelab plot`` shows the values, sizes and intervals that the runs have, and nothing else.

Method: draw runs made by hand, read the figure's data back, and compare with values computed here. A figure in which
an interval or a size is planted wrong is caught.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats
from support.analysis.accesses import Story
from support.analysis.figures import (
    hidden_intervals,
    interval,
    kept_figures,
    line,
    outside_intervals,
    panel,
    wrong_sizes,
)
from support.analysis.runs import eventful_run, lognormal_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.figures.draw import draw
from zonelab.analysis.figures.kinds.names import NotDrawable, PlotKind
from zonelab.analysis.figures.staleness_plot import plot_staleness_over_time
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.workloads import WorkloadKind

SEEDS = range(1, 8)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    return kept_figures(monkeypatch)


@pytest.fixture(scope="module")
def seven(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Seven runs that differ in their seed."""
    folder = tmp_path_factory.mktemp("seven")
    return [lognormal_run(folder / str(seed), seed=seed, messages=120) for seed in SEEDS]


def latencies_ms(run: Path, f: str) -> np.ndarray:
    rows = [row for batch in RunDirectory.open(run).operations() for row in batch.to_pylist()]
    ended = {row["op_id"]: row for row in rows if row["f"] == f and row["type"] == "ok"}
    return np.array([(row["time_ns"] - row["invoke_ns"]) / 1e6 for row in ended.values()])


def test_quantiles_of_one_run_have_order_statistics_of_the_right_coverage(
    seven: list[Path], figures: dict[str, Figure], tmp_path: Path
) -> None:
    draw(seven[:1], PlotKind.QUANTILES, tmp_path / "q.png")
    sample = np.sort(latencies_ms(seven[0], "push"))
    axis = panel(figures["q.png"], "push")
    x, y = line(axis, "zone a")
    shares = 1 - 10**-x
    np.testing.assert_allclose(y, np.quantile(sample, shares), rtol=1e-6)
    band = interval(axis, "zone a")
    assert len(band) > 20
    for place, low, high in band:
        ranks = [int(np.abs(sample - end).argmin()) for end in (low, high)]
        count = stats.binom(len(sample), 1 - 10**-place)  # of values below the quantile
        assert count.cdf(ranks[1]) - count.cdf(ranks[0]) >= 0.95
    assert not wrong_sizes(axis, [120])


def test_several_runs_are_one_line_the_median_of_runs_with_an_interval_from_six_runs_on(
    seven: list[Path], figures: dict[str, Figure], tmp_path: Path
) -> None:
    draw(seven, PlotKind.QUANTILES, tmp_path / "seven.png")
    draw(seven[:5], PlotKind.QUANTILES, tmp_path / "five.png")
    axis = panel(figures["seven.png"], "ack")
    x, y = line(axis, "runs (7 runs)")
    inside = 10**-x >= 1 / 120
    rows = [np.quantile(latencies_ms(run, "ack"), 1 - 10 ** -x[inside]) for run in seven]
    np.testing.assert_allclose(y[inside], np.median(rows, axis=0), rtol=1e-6)
    ends = np.min(rows, axis=0), np.max(rows, axis=0)  # ranks 1 and 7 hold the median of 7 with 98 %, 2 and 6 with 88 %
    assert (
        hidden_intervals(
            axis, {"runs (7 runs)": tuple(np.where(inside, np.resize(end, len(x)), np.nan) for end in ends)}
        )
        == []
    )
    assert not wrong_sizes(axis, [7 * 120])
    assert interval(panel(figures["five.png"], "ack"), "runs (5 runs)") == []


def test_rates_count_every_completion_once_and_windows_follow_the_length(
    seven: list[Path], figures: dict[str, Figure], tmp_path: Path
) -> None:
    draw(seven[:1], PlotKind.RATE, tmp_path / "r.png", by="level")
    axis = panel(figures["r.png"], "push")
    x, y = line(axis, "DC_ONE ok")
    width_s = x[1] - x[0]
    assert 30 <= len(x) <= 70
    assert (y * width_s).sum() == pytest.approx(120)
    assert not wrong_sizes(axis, [120])


def test_a_run_without_an_operation_has_a_rate_of_none_and_counts_as_a_run(
    figures: dict[str, Figure], tmp_path: Path
) -> None:
    runs = []
    for seed in (1, 2, 3):
        run = RunBuilder(tmp_path / str(seed), seed=seed, load_ms=1_000)
        run.push("m", at_ms=10)
        if seed == 1:
            run.pop("m", at_ms=20)
        runs.append(run.write())
    draw(runs, PlotKind.RATE, tmp_path / "r.png")
    assert line(panel(figures["r.png"], "pop"), "runs (3 runs) ok")[1].max() == 0


def test_latency_over_time_has_the_windows_quantiles(
    seven: list[Path], figures: dict[str, Figure], tmp_path: Path
) -> None:
    draw(seven, PlotKind.LATENCY, tmp_path / "l.png")
    axis = panel(figures["l.png"], "push")
    _, p50 = line(axis, "runs (7 runs) p50")
    everything = np.concatenate([latencies_ms(run, "push") for run in seven])
    assert np.nanmin(p50) >= everything.min()
    assert np.nanmedian(p50) == pytest.approx(np.median(everything), rel=0.1)
    assert interval(axis, "runs (7 runs)")
    assert not wrong_sizes(axis, [7 * 120])


def test_lateness_is_the_checkers_with_the_band_of_dvoretzky_kiefer_and_wolfowitz(
    figures: dict[str, Figure], tmp_path: Path
) -> None:
    run = eventful_run(tmp_path / "run").write()
    check(run)
    draw([run], PlotKind.LATENESS, tmp_path / "l.png")
    (axis,) = figures["l.png"].axes
    table = RunDirectory.open(run).lateness().to_pylist()
    sizes = []
    for zone in "abc":
        values = [row["lateness_ms"] for row in table if row["zone"] == zone for _ in range(row["deliveries"])]
        x, y = line(axis, f"zone {zone}")
        np.testing.assert_allclose(y, [np.mean(np.array(values) <= place) for place in x])
        margin = np.sqrt(np.log(40) / (2 * len(values)))
        expected = {f"zone {zone}": (np.clip(y - margin, 0, 1), np.clip(y + margin, 0, 1))}
        assert hidden_intervals(axis, expected) == []
        sizes.append(len(values))
    assert not wrong_sizes(axis, sizes)


def test_depth_has_no_gap_between_samples(figures: dict[str, Figure], tmp_path: Path) -> None:
    """Sixty windows of 12 s are narrower than a quarter of a second, in which depth is sampled; a gap is a zone's."""
    run = RunBuilder(tmp_path / "run", load_ms=12_000)
    for at_ms in range(0, 12_001, 250):
        run.depth("a", at_ms=at_ms, waiting=7, leased=None if 6_000 <= at_ms < 8_000 else 2)
    draw([run.write()], PlotKind.DEPTH, tmp_path / "d.png", by="level")
    x, waiting = line(panel(figures["d.png"], "waiting"), "DC_ONE")
    assert set(waiting[x < 12]) == {7.0}
    _, leased = line(panel(figures["d.png"], "leased"), "DC_ONE")
    assert [6 <= middle_s < 8 for middle_s in x[x < 12]] == np.isnan(leased[x < 12]).tolist()
    assert np.diff(x)[:-1] == pytest.approx(0.5)


def test_depth_of_several_runs_is_the_mean_of_a_window_summed_over_zones(
    figures: dict[str, Figure], tmp_path: Path
) -> None:
    runs = []
    for seed in (1, 2, 3):
        run = RunBuilder(tmp_path / str(seed), seed=seed, load_ms=1_000)
        for zone in "ab":
            run.depth(zone, at_ms=500, waiting=10 * seed, leased=None if zone == "b" else 1)
        runs.append(run.write())
    draw(runs, PlotKind.DEPTH, tmp_path / "d.png")
    waiting = line(panel(figures["d.png"], "waiting"), "runs (3 runs)")[1]
    assert waiting[~np.isnan(waiting)].tolist() == [40.0]
    assert np.isnan(line(panel(figures["d.png"], "leased"), "runs (3 runs)")[1]).all()  # b did not answer


def test_staleness_is_the_share_of_reads_that_missed_so_much_or_less(
    figures: dict[str, Figure], tmp_path: Path
) -> None:
    story = Story(WorkloadKind.REGISTER).write("x", 0).write("y", 20)
    for at in (30, 121, 221):
        story.read("x", at, client=2)
    story.read("y", 300, client=3)
    draw([story.directory(tmp_path / "run")], PlotKind.STALENESS, tmp_path / "s.png", by="level")
    (axis,) = figures["s.png"].axes
    x, y = line(axis, "DC_QUORUM")
    assert list(zip(x.tolist(), y.tolist(), strict=True)) == [(0, 0.25), (9, 0.5), (100, 0.75), (200, 1.0)]


def test_staleness_over_time_has_the_share_and_the_stalest_read_of_each_window_by_zone(
    figures: dict[str, Figure], tmp_path: Path
) -> None:
    story = Story(WorkloadKind.REGISTER).write("x", 0).write("y", 20)
    story.read("x", 31, client=2).read("x", 32, client=3).read("y", 33, client=4).read("x", 121, client=2)
    story.read("y", 300, zone="b", client=5)
    plot_staleness_over_time(RunDirectory.open(story.directory(tmp_path / "run")))
    share, far = figures["staleness.png"].axes
    told = [line(axis, zone) for zone in "ab" for axis in (share, far)]
    shares_a, far_a, shares_b, far_b = (
        [(round(x, 4), round(y, 3)) for x, y in zip(*found, strict=True) if not np.isnan(y)] for found in told
    )
    assert shares_a == [(0.035, 66.667), (0.125, 100.0)]
    assert far_a == [(0.035, 11.0), (0.125, 100.0)]
    assert [y for _, y in shares_b] == [0.0]
    assert far_b == []


@pytest.mark.parametrize(("kind", "of"), [(PlotKind.DUPLICATES, "delivered"), (PlotKind.LOSS, "acknowledged")])
def test_duplicates_and_loss_of_one_run_are_its_counts_per_thousand(
    kind: PlotKind, of: str, figures: dict[str, Figure], tmp_path: Path
) -> None:
    runs = [eventful_run(tmp_path / level, level=level).write() for level in ("DC_ONE", "DC_QUORUM")]
    draw(runs, kind, tmp_path / "o.png")
    verdict = check(runs[0])
    names = (
        ("redelivered", "concurrent", "resurrected") if kind is PlotKind.DUPLICATES else ("lost", "stuck", "abandoned")
    )
    for name in names:
        axis = panel(figures["o.png"], name)
        x, y = line(axis, "runs")
        rate = 1_000 * verdict.counts[name] / getattr(verdict.totals, of)
        assert (x.tolist(), y.tolist()) == ([0, 1], [rate, rate])
        assert all(low < rate < high for _, low, high in interval(axis, "runs"))
        assert [text.get_text() for text in axis.get_xticklabels()] == ["DC_ONE", "DC_QUORUM"]
        assert axis.get_title(loc="left").endswith("n = 1 run")


def swept_runs(folder: Path) -> list[Path]:
    """Two values of ``queue.unack_ms``, eight seeds each; the larger loses one message of ten in every run."""
    runs = []
    for unack_ms in (2_000, 500):
        for seed in range(8):
            run = RunBuilder(folder / f"{unack_ms}-{seed}", seed=seed)
            for number in range(10):
                run.push(f"m{number}", at_ms=number)
                if number or unack_ms == 500:
                    run.ack(f"m{number}", run.pop(f"m{number}", at_ms=100 + number), at_ms=200 + number)
            path = run.write()
            (path / "scenario.yaml").write_text(f"queue: {{unack_ms: {unack_ms}}}\n", encoding="utf-8")
            runs.append(path)
    return runs


def test_against_a_swept_value_runs_are_the_unit(figures: dict[str, Figure], tmp_path: Path) -> None:
    draw(swept_runs(tmp_path), PlotKind.LOSS, tmp_path / "o.png", by="queue.unack_ms")
    rates, shares = (axis for axis in figures["o.png"].axes if axis.get_title(loc="left").startswith("lost"))
    assert [values.tolist() for values in line(rates, "runs")] == [[500, 2_000], [0, 100]]
    assert [values.tolist() for values in line(shares, "runs")] == [[500, 2_000], [0, 1]]
    assert rates.get_xlabel() == "queue.unack_ms"
    assert interval(rates, "runs") == [(500, 0, 0), (2_000, 100, 100)]
    none, all_ = interval(shares, "runs")
    assert none[1:] == pytest.approx((0, 1 - 0.025 ** (1 / 8)))  # Clopper and Pearson in closed form
    assert all_[1:] == pytest.approx((0.025 ** (1 / 8), 1))
    assert rates.get_title(loc="left").endswith("n = 8 runs")


@pytest.mark.parametrize("spoil", ["nothing", "no band", "a narrower band", "another size"])
def test_a_figure_that_hides_an_interval_or_tells_a_wrong_size_is_caught(
    spoil: str, figures: dict[str, Figure], seven: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zonelab.analysis.figures.kinds import distribution_plots

    honest: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    drawn = distribution_plots.draw

    def planted(axis, curve, position, **look):
        honest[curve.label] = curve.low, curve.high
        low = {"no band": curve.low * np.nan, "a narrower band": (curve.low + curve.y) / 2}.get(spoil, curve.low)
        drawn(axis, replace(curve, low=low), position, **look)

    monkeypatch.setattr(distribution_plots, "draw", planted)
    if spoil == "another size":
        monkeypatch.setattr(distribution_plots, "sizes", lambda curves: f"n = {len(curves)}")
    draw(seven[:1], PlotKind.LATENESS, tmp_path / "l.png")
    (axis,) = figures["l.png"].axes
    assert bool(hidden_intervals(axis, honest)) is (spoil in ("no band", "a narrower band"))
    assert wrong_sizes(axis, [120]) is (spoil == "another size")


def test_lines_are_called_by_what_differs_and_by_puts_others_together_saying_so(
    figures: dict[str, Figure], tmp_path: Path
) -> None:
    runs = swept_runs(tmp_path / "dc-one")[::4]
    draw(runs, PlotKind.RATE, tmp_path / "differing.png")
    draw(runs, PlotKind.RATE, tmp_path / "level.png", by="level")
    told = {name: [text.get_text() for text in figure.legends[0].get_texts()] for name, figure in figures.items()}
    assert told["differing.png"][::2] == ["queue.unack_ms 2000 (2 runs) ok", "queue.unack_ms 500 (2 runs) ok"]
    assert told["level.png"] == ["DC_ONE (4 runs) ok", "DC_ONE (4 runs) not ok"]
    notes = [text.get_text().replace("\n", " ") for text in figures["level.png"].texts]
    assert any("Runs of one line differ in queue.unack_ms, too." in note for note in notes)


@pytest.mark.parametrize(
    ("kind", "by", "words"),
    [
        (
            PlotKind.RATE,
            "queue.nothing",
            "--by queue.nothing: no such setting of these runs; accepted: zone, run, level",
        ),
        (PlotKind.LOSS, "zone", "--by zone: no such setting of these runs; accepted: level, seed"),
        (PlotKind.RATE, "seed", "15 lines would not be told apart, at most 14 are"),
    ],
)
def test_what_cannot_be_told_apart_is_refused_in_one_line(kind: PlotKind, by: str, words: str, tmp_path: Path) -> None:
    runs = [RunBuilder(tmp_path / str(seed), seed=seed).write() for seed in range(15)]
    with pytest.raises(NotDrawable) as refused:
        draw(runs, kind, tmp_path / "x.png", by=by)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize("kind", [one for one in PlotKind if one not in (PlotKind.DUPLICATES, PlotKind.LOSS)])
def test_a_run_that_has_nothing_of_the_kind_is_refused_and_leaves_no_file(kind: PlotKind, tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run").write()
    with pytest.raises(RunError, match=r"nothing to draw|its clients used a queue"):
        draw([run], kind, tmp_path / "x.png")
    assert not (tmp_path / "x.png").exists()


OVER_RUNS = [
    one for one in PlotKind if one not in (PlotKind.DEPTH, PlotKind.STALENESS, PlotKind.DUPLICATES, PlotKind.LOSS)
]


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize("kind", OVER_RUNS)
def test_no_value_lies_outside_its_drawn_interval(
    seven: list[Path], figures: dict[str, Figure], tmp_path: Path, kind: PlotKind, count: int
) -> None:
    draw(seven[:count], kind, tmp_path / "drawn.png")
    assert outside_intervals(figures["drawn.png"]) == []


def test_a_value_beside_its_interval_is_found(seven: list[Path], figures: dict[str, Figure], tmp_path: Path) -> None:
    draw(seven, PlotKind.QUANTILES, tmp_path / "drawn.png")
    shown = next(
        one
        for one in panel(figures["drawn.png"], "push").lines
        if interval(panel(figures["drawn.png"], "push"), str(one.get_label()))
    )
    shown.set_ydata(100 * np.asarray(shown.get_ydata()))
    assert outside_intervals(figures["drawn.png"])


def test_runs_beside_each_other_begin_their_load_at_one_place(figures: dict[str, Figure], tmp_path: Path) -> None:
    runs = []
    for seed, late_ms in ((1, 0), (2, 600)):
        builder = RunBuilder(tmp_path / str(seed), seed=seed, load_ms=2_000 + late_ms)
        for number in range(20):
            builder.push(f"m{number}", at_ms=100 + late_ms + 50 * number)
        builder.fault("kill", "b", begin_ms=500 + late_ms, end_ms=900 + late_ms)
        builder.depth("a", at_ms=500 + late_ms, waiting=5, leased=0)
        builder.depth("a", at_ms=700 + late_ms, waiting=5, leased=0)
        runs.append(builder.write(phases={"load": [late_ms * 1_000_000, (2_000 + late_ms) * 1_000_000]}))
    for kind in (PlotKind.RATE, PlotKind.DEPTH):
        draw(runs, kind, tmp_path / f"{kind}.png", by="seed")
    for file, name, label in (("rate.png", "push", "seed {} ok"), ("depth.png", "waiting", "seed {}")):
        first, second = (line(panel(figures[file], name), label.format(seed))[1] for seed in (1, 2))
        np.testing.assert_allclose(first, second)
        assert np.nansum(first) > 0
    notes = " ".join(text.get_text() for text in figures["rate.png"].texts).replace("\n", " ")
    assert "the load of the others begins with its own" in notes
    assert "none is shown" not in notes
