"""Goal: a comparison on a terminal shows every figure and says what is not known. Method: runs made by hand."""

from pathlib import Path

from support.analysis.runs import differing_zones, lognormal_run

from zonelab.analysis.comparison.compare import compare
from zonelab.analysis.comparison.metrics import COMPARED_QUANTILES
from zonelab.analysis.comparison.samples import Metric
from zonelab.analysis.message_classes import DUPLICATE_CAUSES
from zonelab.analysis.number_text import digits, percent
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.summary.run_summary import LOSSES
from zonelab.app.terminal.comparison_table import ComparisonRow, comparison_table


def test_rows_show_every_metric_and_count_and_end_with_the_verdict(tmp_path: Path) -> None:
    alike = compare(*(lognormal_run(tmp_path / str(seed), seed=seed) for seed in (1, 2)))
    table = comparison_table(alike, within=0.2)
    rows = list(table.rows)
    assert len(rows) == len(Metric) * (len(COMPARED_QUANTILES) + 2) + len(DUPLICATE_CAUSES) + len(LOSSES) + 1
    assert [row.agree for row in rows if row.agree] == ["yes"] * (len(Metric) + 1)
    assert rows[-1] == ComparisonRow(section="verdict", label="all medians", agree="yes")
    median = next(cells for cells in table.cells() if cells[0] == "push p50, ms")
    quantile = alike.metric("push").quantiles[0]
    low, high = (digits(end, signed=True) for end in (quantile.interval_ms.low, quantile.interval_ms.high))
    assert median[1:5] == [
        *(digits(quantile.first_ms), digits(quantile.second_ms)),
        f"{digits(quantile.difference_ms, signed=True)} ({percent(quantile.relative, signed=True)})",
        f"{low} to {high}",
    ]
    assert table.headings[-1] == "within 20.0%"


def test_rows_of_tiny_runs_show_dashes_for_what_is_not_known(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "run")
    run.push("m", at_ms=0)
    path = run.write()
    rows = {row.label: row for row in comparison_table(compare(path, path)).rows}
    assert (rows["push p50, ms"].interval, rows["push KS distance"].interval) == ("–", "–")
    assert rows["redelivered, of deliveries"].interval == "–"
    assert rows["push p50, ms"].agree == "undecided"
    assert (rows["ack, n"].first, rows["ack p50, ms"].first, rows["ack p50, ms"].agree) == (0, "–", "")


def test_a_comparison_tells_the_zones_apart_where_they_differ(tmp_path: Path) -> None:
    even, far = differing_zones(tmp_path / "even", far_ms=6), differing_zones(tmp_path / "far", far_ms=80)
    assert compare(even, even).zones == ()
    rows = [cells for cells in comparison_table(compare(even, far)).cells() if "in zone" in cells[0]]
    assert [row[:4] for row in rows] == [
        ["push p50 in zone a, ms", "5", "5", "0"],
        ["push p50 in zone b, ms", "6", "80", "+74"],
    ]
