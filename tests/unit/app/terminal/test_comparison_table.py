"""Goal: a comparison on a terminal shows every figure and says what is not known. Method: runs made by hand."""

from pathlib import Path

from support.analysis.runs import differing_zones, lognormal_run

from zonelab.analysis.comparison.compare import compare
from zonelab.analysis.comparison.metrics import COMPARED_QUANTILES
from zonelab.analysis.comparison.samples import Metric
from zonelab.analysis.message_classes import DUPLICATE_CAUSES
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.summary.run_summary import LOSSES
from zonelab.app.terminal.comparison_table import ComparisonRow, comparison_headings, comparison_rows


def test_rows_show_every_metric_and_count_and_end_with_the_verdict(tmp_path: Path) -> None:
    alike = compare(*(lognormal_run(tmp_path / str(seed), seed=seed) for seed in (1, 2)))
    rows = comparison_rows(alike)
    assert len(rows) == len(Metric) * (len(COMPARED_QUANTILES) + 2) + len(DUPLICATE_CAUSES) + len(LOSSES) + 1
    assert [row.agree for row in rows if row.agree] == ["yes"] * (len(Metric) + 1)
    assert rows[-1] == ComparisonRow(section="verdict", label="all medians", agree="yes")
    median = next(row for row in rows if row.label == "push p50, ms")
    quantile = alike.metric("push").quantiles[0]
    assert (median.first, median.second) == (f"{quantile.first_ms:.2f}", f"{quantile.second_ms:.2f}")
    assert median.difference == f"{quantile.difference_ms:+.2f} ({100 * quantile.relative:+.1f} %)"
    assert median.interval == f"{quantile.interval_ms.low:+.2f} … {quantile.interval_ms.high:+.2f}"
    assert comparison_headings(within=0.2)[-1] == "within 20 %"
    assert len(comparison_headings()) == len(ComparisonRow.__slots__) - 1


def test_rows_of_tiny_runs_show_dashes_for_what_is_not_known(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    run.push("m", at_ms=0)
    path = run.write()
    rows = {row.label: row for row in comparison_rows(compare(path, path))}
    assert (rows["push p50, ms"].interval, rows["push KS distance"].interval) == ("–", "–")
    assert rows["redelivered, of deliveries"].interval == "–"
    assert rows["push p50, ms"].agree == "undecided"
    assert "ack p50, ms" not in rows


def test_a_comparison_tells_the_zones_apart_where_they_differ(tmp_path: Path) -> None:
    even, far = differing_zones(tmp_path / "even", far_ms=6), differing_zones(tmp_path / "far", far_ms=80)
    assert compare(even, even).zones == ()
    rows = [row for row in comparison_rows(compare(even, far)) if row.section == "zones"]
    assert [(row.label, row.first, row.second, row.difference) for row in rows] == [
        ("push p50 in zone a, ms", "5.00", "5.00", "+0.00"),
        ("push p50 in zone b, ms", "6.00", "80.00", "+74.00"),
    ]
