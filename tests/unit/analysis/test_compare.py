"""Goal: a comparison of two runs says what is so and how sure it is. Method: runs made by hand whose differences are
known, compared from their directories; every verdict is provoked, and wrong directories are refused.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.analysis.runs import eventful_run, lognormal_run

from zonelab.analysis.comparison.compare import Comparison, compare
from zonelab.analysis.comparison.metrics import WITHIN
from zonelab.analysis.comparison.samples import Metric
from zonelab.analysis.figures.compare_plot import plot_comparison
from zonelab.analysis.message_classes import DUPLICATE_CAUSES
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.errors import RunError
from zonelab.analysis.summary.run_summary import LOSSES, summarise


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("alike")
    return lognormal_run(folder / "one", seed=1), lognormal_run(folder / "two", seed=2)


@pytest.fixture(scope="module")
def alike_compared(alike: tuple[Path, Path]) -> Comparison:
    return compare(*alike)


def test_two_runs_of_one_distribution_agree_in_every_metric(alike_compared: Comparison) -> None:
    assert {row.metric: row.agree() for row in alike_compared.metrics} == dict.fromkeys(Metric, "yes")
    assert alike_compared.agree() == "yes"
    assert all(row.ks_p_value is not None and row.ks_p_value > 0.01 for row in alike_compared.metrics)


def test_a_run_slower_by_a_fifth_agrees_within_30_percent_but_not_within_10(tmp_path: Path, alike: tuple[Path, Path]):
    slower = lognormal_run(tmp_path / "slower", seed=3, factor=1.2, messages=3_000)
    found = compare(alike[0], slower)
    assert found.agree(0.1) == "no"
    assert found.agree(0.3) == "yes"
    for name in ("push", "pop", "ack", "lateness"):
        row = found.metric(name)
        assert row.agree(0.1) == "no"
        assert row.ks_p_value == pytest.approx(0.001)
        assert [quantile.relative for quantile in row.quantiles[:2]] == pytest.approx([0.2, 0.2], abs=0.06)


def test_tiny_runs_are_undecided_and_have_no_intervals(tmp_path: Path) -> None:
    found = compare(
        *(lognormal_run(tmp_path / str(seed), seed=seed, factor=seed, messages=12) for seed in (1, 4)),
    )
    assert {row.agree() for row in found.metrics} == {"undecided"}
    assert found.agree() == "undecided"
    assert all(row.ks_p_value is None for row in found.metrics)
    assert all(quantile.interval_ms is None for row in found.metrics for quantile in row.quantiles)


def test_one_metric_that_differs_makes_the_whole_disagree_and_one_in_doubt_leaves_it_undecided(
    alike_compared: Comparison,
) -> None:
    push, *others = alike_compared.metrics
    (median, *tail) = push.quantiles
    far = replace(median, relative_interval=replace(median.relative_interval, low=0.2, high=0.3))
    wide = replace(median, relative_interval=replace(median.relative_interval, low=-0.2, high=0.1))
    for changed, verdict in ((far, "no"), (wide, "undecided")):
        altered = replace(push, quantiles=(changed, *tail))
        assert replace(alike_compared, metrics=(altered, *others)).agree() == verdict


@pytest.mark.parametrize("within", [0, -0.1, float("nan")])
def test_a_margin_that_is_not_above_0_is_refused(alike_compared: Comparison, within: float) -> None:
    for ask in (alike_compared.agree, alike_compared.metrics[0].agree, alike_compared.metrics[0].quantiles[0].agree):
        with pytest.raises(ValueError, match="within must be above 0, got"):
            ask(within)


def test_quantiles_and_counts_of_the_load_phase_equal_those_of_the_summary(
    alike: tuple[Path, Path], alike_compared: Comparison
) -> None:
    for name in ("push", "pop"):
        row = alike_compared.metric(name)
        one, two = (summarise(run).operation(name).service_ms for run in alike)
        assert (row.first.count, row.second.count) == (one["count"], two["count"])
        for quantile in row.quantiles:
            assert (quantile.first_ms, quantile.second_ms) == (one[quantile.name], two[quantile.name])
            assert quantile.difference_ms == two[quantile.name] - one[quantile.name]
            assert quantile.interval_ms.low < quantile.difference_ms < quantile.interval_ms.high


def test_the_order_of_the_runs_turns_the_sign_and_nothing_else(alike: tuple[Path, Path], alike_compared: Comparison):
    turned = compare(alike[1], alike[0])
    for row, other in zip(alike_compared.metrics, turned.metrics, strict=True):
        assert row.ks_distance == other.ks_distance
        for quantile, opposite in zip(row.quantiles, other.quantiles, strict=True):
            assert quantile.difference_ms == -opposite.difference_ms
            # Another order draws other resamples, hence a tolerance.
            width = quantile.interval_ms.high - quantile.interval_ms.low
            assert quantile.interval_ms.low == pytest.approx(-opposite.interval_ms.high, abs=0.4 * width)


def test_a_comparison_repeated_is_the_same(alike: tuple[Path, Path], alike_compared: Comparison) -> None:
    assert compare(*alike) == alike_compared


def test_a_run_compared_with_itself_differs_in_nothing(tmp_path: Path) -> None:
    run = eventful_run(tmp_path / "run").write()
    found = compare(run, run)
    assert found.differs == ()
    assert found.notes[0] == "both are the same run"
    assert {row.ks_distance for row in found.metrics} == {0.0}
    assert {quantile.difference_ms for row in found.metrics for quantile in row.quantiles} == {0.0}
    assert {share.difference for share in (*found.duplicates, *found.losses)} == {0}
    assert found.agree() != "no"


def test_duplicates_and_losses_are_counted_by_cause_and_differ_by_what_was_planted(tmp_path: Path) -> None:
    clean = lognormal_run(tmp_path / "clean", seed=1, messages=100)
    found = compare(clean, eventful_run(tmp_path / "eventful").write())
    assert [row.name for row in found.duplicates] == list(DUPLICATE_CAUSES)
    assert [row.name for row in found.losses] == list(LOSSES)
    summary = summarise(tmp_path / "eventful")
    for row in (*found.duplicates, *found.losses):
        assert (row.first, row.second, row.difference) == (0, summary.counts[row.name], summary.counts[row.name])
        assert row.second > 0
        assert row.share_difference == row.second / row.second_of
        assert row.share_interval.low < row.share_difference < row.share_interval.high
    assert {row.second_of for row in found.duplicates} == {summary.totals["deliveries"]}
    assert {row.second_of for row in found.losses} == {summary.totals["acknowledged"]}


def test_other_scenarios_and_levels_are_compared_and_said(tmp_path: Path) -> None:
    first = lognormal_run(tmp_path / "one", seed=1, messages=20)
    second = lognormal_run(tmp_path / "two", seed=1, messages=20, level="DC_QUORUM")
    (second / "scenario.yaml").write_text(
        "name: synthetic\nlevel: DC_QUORUM\nload: {rate_per_s: 7}\n", encoding="utf-8"
    )
    found = compare(first, second)
    assert [(row.name, row.first, row.second) for row in found.differs] == [
        ("level", "DC_ONE", "DC_QUORUM"),
        ("scenario.yaml load.rate_per_s", None, 7),
    ]
    (note,) = found.notes
    assert note.startswith("not the same experiment: the runs differ in level (DC_ONE / DC_QUORUM), scenario.yaml load")


def test_faults_that_differ_are_said_in_words(tmp_path: Path) -> None:
    first, second = (lognormal_run(tmp_path / name, seed=1, messages=20) for name in ("one", "two"))
    (first / "scenario.yaml").write_text("name: synthetic\nfaults: []\n", encoding="utf-8")
    cut = "{kind: cut, mode: drop, isolate: null, one_way: a>b, at_s: 1}"
    (second / "scenario.yaml").write_text(f"name: synthetic\nfaults: [{cut}]\n", encoding="utf-8")
    (note,) = compare(first, second).notes
    assert note.endswith("scenario.yaml faults (none / cut mode: drop one_way: a>b at_s: 1)")


def test_another_arm_or_seed_is_named_but_is_the_same_experiment(tmp_path: Path) -> None:
    first = lognormal_run(tmp_path / "one", seed=1, messages=20)
    second = lognormal_run(tmp_path / "two", seed=2, messages=20)
    info = json.loads((second / "run.json").read_text(encoding="utf-8"))
    (second / "run.json").write_text(json.dumps({**info, "arm": "sim"}), encoding="utf-8")
    for run, arm in ((first, "real"), (second, "sim")):
        (run / "scenario.yaml").write_text(f"name: synthetic\narm: {arm}\n", encoding="utf-8")
    found = compare(first, second)
    assert [(row.name, row.first, row.second) for row in found.differs] == [("arm", "real", "sim"), ("seed", 1, 2)]
    assert found.notes == ()


def test_another_version_or_server_is_said_beforehand(tmp_path: Path) -> None:
    first = lognormal_run(tmp_path / "one", seed=1, messages=20)
    second = lognormal_run(tmp_path / "two", seed=1, messages=20)
    info = json.loads((second / "run.json").read_text(encoding="utf-8"))
    changed = {**info, "zonelab_version": "0.0.9", "server": "redis 7.2"}
    (second / "run.json").write_text(json.dumps(changed), encoding="utf-8")
    assert compare(first, second).notes == (
        "also different: server (valkey 9.1.2 / redis 7.2), zonelab_version (0.1.0 / 0.0.9)",
    )


def test_of_a_long_value_a_note_shows_the_beginning(tmp_path: Path) -> None:
    first, second = (lognormal_run(tmp_path / name, seed=1, messages=20) for name in ("one", "two"))
    info = json.loads((second / "run.json").read_text(encoding="utf-8"))
    (second / "run.json").write_text(json.dumps({**info, "server": "x" * 5_000}), encoding="utf-8")
    found = compare(first, second)
    assert found.notes == (f"also different: server (valkey 9.1.2 / {'x' * 120}…)",)
    assert len(str(found.differs[0].second)) == 5_000


def test_what_makes_a_run_doubtful_is_noted(tmp_path: Path) -> None:
    whole = lognormal_run(tmp_path / "whole", seed=1, messages=20)
    part = RunBuilder(tmp_path / "part")
    part.push("m", at_ms=0)
    (directory := part.write(status="interrupted", phases={}))
    (directory / "final_state.parquet").unlink()
    notes = "\n".join(compare(whole, directory).notes)
    assert "the second run was interrupted" in notes
    assert "the second run has no load phase on record" in notes
    assert "the second run has 1 message that may be lost or stuck" in notes
    assert "the first run" not in notes


def test_a_metric_that_one_run_lacks_is_undecided_and_one_that_both_lack_does_not_count(tmp_path: Path) -> None:
    whole = lognormal_run(tmp_path / "whole", seed=1, messages=300)
    pushes = []
    for name in ("one", "two"):
        run = RunBuilder(tmp_path / name)
        for number in range(300):
            run.push(f"m{number}", at_ms=number, took_ms=5 + number % 3)
        pushes.append(run.write())
    found = compare(whole, pushes[0])
    assert (found.metric("ack").agree(), found.metric("ack").ks_distance) == ("undecided", None)
    assert found.metric("ack").quantiles == ()
    assert compare(*pushes).agree() == "yes"


def test_json_holds_everything_and_nothing_that_json_lacks(alike_compared: Comparison) -> None:
    text = json.dumps(alike_compared.to_json(), allow_nan=False)
    value = json.loads(text)
    assert value["agree"] == {"within": WITHIN, "overall": "yes", "metrics": dict.fromkeys(map(str, Metric), "yes")}
    assert [row["metric"] for row in value["metrics"]] == list(map(str, Metric))
    assert value["metrics"][0]["quantiles"][0]["interval_ms"].keys() == {"low", "high"}
    assert value["method"]["seed"] == 20_040


def test_the_figure_is_written_even_for_runs_without_operations(alike: tuple[Path, Path], tmp_path: Path) -> None:
    empty = RunBuilder(tmp_path / "empty").write()
    drawn = plot_comparison(*alike, tmp_path / "plots" / "alike.png")
    bare = plot_comparison(empty, empty, tmp_path / "bare.png")
    for path in (drawn, bare):
        assert path.read_bytes().startswith(b"\x89PNG")
    assert drawn.stat().st_size > bare.stat().st_size


def test_what_is_no_run_or_cannot_be_read_is_refused_in_one_line(tmp_path: Path, alike: tuple[Path, Path]) -> None:
    with pytest.raises(RunError, match="no such run directory"):
        compare(alike[0], tmp_path / "nowhere")
    broken = lognormal_run(tmp_path / "broken", seed=1, messages=3)
    (broken / "scenario.yaml").write_text("a: [1\nb: }", encoding="utf-8")
    with pytest.raises(RunError, match=r"scenario\.yaml: ") as refused:
        compare(alike[0], broken)
    assert "\n" not in str(refused.value)


def python_calls(work: Callable[[], object]) -> int:
    """How many functions written in Python ``work`` calls."""
    counted = Counter[str]()
    sys.setprofile(lambda _frame, event, _argument: counted.update([event]))
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted["call"]


def test_ten_times_the_operations_are_compared_by_as_many_calls(tmp_path: Path) -> None:
    """So operations are dealt with by arrays: 3,400 messages take seconds and no minutes."""
    calls = []
    for messages in (100, 150, 1_500):  # the first for what is imported and kept
        runs = [lognormal_run(tmp_path / f"{messages}-{seed}", seed=seed, messages=messages) for seed in (1, 2)]
        for run in runs:
            summarise(run)  # a run is checked once, not at every comparison
        calls.append(python_calls(partial(compare, *runs)))
    _, few, many = calls
    assert many < 1.2 * few
