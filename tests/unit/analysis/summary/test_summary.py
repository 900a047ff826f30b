"""Goal: the figures of a run are right. Method: small runs whose counts, quantiles and outages are known by hand."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.analysis.runs import eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.measures import Outages
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.run_summary import Summary, load_summary, summarise


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    return RunBuilder(tmp_path / "run")


def operation(summary: Summary, f: str, zone: str = "all"):
    found = summary.operation(f, zone)
    assert found is not None
    return found


def test_service_latency_starts_at_the_invocation_and_response_latency_at_the_plan(run: RunBuilder) -> None:
    run.push("m", at_ms=100, took_ms=10, intended_ms=40)
    row = operation(summarise(run.write()), "push", "a")
    assert (row.service_ms["p50"], row.response_ms["p50"]) == (10, 70)


def test_quantiles_are_over_ok_completions_only(run: RunBuilder) -> None:
    for number in range(100):
        run.push(f"m{number}", at_ms=number, took_ms=number + 1)
    run.push("slow failure", at_ms=1, took_ms=5_000, outcome="fail", error="Unavailable: no")
    row = operation(summarise(run.write()), "push")
    assert row.counts == {"invoke": 101, "ok": 100, "fail": 1, "info": 0}
    assert (row.service_ms["p50"], row.service_ms["max"], row.service_ms["count"]) == (50.5, 100, 100)
    assert row.service_ms["p999"] == pytest.approx(99.901)


def test_an_event_with_many_messages_counts_once(run: RunBuilder) -> None:
    run.pop("x", "y", "z", at_ms=1)
    assert operation(summarise(run.write()), "pop").counts["ok"] == 1


def test_errors_are_counted_by_kind(run: RunBuilder) -> None:
    for number in range(3):
        run.push(f"m{number}", at_ms=number, outcome="info", error=f"Indeterminate: {number} of 3\nzones")
    run.push("n", at_ms=9, outcome="fail", error="Unavailable")
    assert operation(summarise(run.write()), "push").errors == {"Indeterminate": 3, "Unavailable": 1}


def test_an_outage_runs_from_the_first_failed_invocation_to_the_next_success(run: RunBuilder) -> None:
    run.push("a", at_ms=100)
    run.push("b", at_ms=1_000, took_ms=200, outcome="fail")
    run.push("c", at_ms=2_000, took_ms=10, outcome="info")
    run.push("d", at_ms=2_990, took_ms=10)
    summary = summarise(run.write())
    assert operation(summary, "push", "a").unavailability_s == pytest.approx(2.0)


def test_an_outage_that_nothing_ends_lasts_until_the_load_ends(run: RunBuilder) -> None:
    run.push("b", at_ms=9_000, outcome="fail")
    run.push("after the load", at_ms=12_000)
    assert operation(summarise(run.write()), "push").unavailability_s == pytest.approx(1.0)


def test_an_outage_after_the_load_does_not_count(run: RunBuilder) -> None:
    run.push("b", at_ms=11_000, outcome="fail")
    run.push("c", at_ms=12_000)
    assert operation(summarise(run.write()), "push").unavailability_s == 0


def test_a_refused_ack_is_an_answer_and_no_outage(run: RunBuilder) -> None:
    pop = run.pop("m", at_ms=1)
    run.ack("m", pop, at_ms=10, outcome="fail", error="no lease")
    run.ack("m", pop, at_ms=5_000, outcome="fail", error="Unavailable")
    run.ack("m", pop, at_ms=6_000, outcome="fail", error="no lease")
    assert operation(summarise(run.write()), "ack").unavailability_s == pytest.approx(1.001)


def test_outages_of_zones_add_up_to_zone_seconds(run: RunBuilder) -> None:
    for zone in "ab":
        run.push(f"x{zone}", at_ms=1_000, outcome="fail", zone=zone)
        run.push(f"y{zone}", at_ms=1_999, zone=zone)
    summary = summarise(run.write())
    assert [operation(summary, "push", zone).unavailability_s for zone in ("a", "b", "all")] == pytest.approx([1, 1, 2])


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=30), st.integers(1, 7))
def test_outages_do_not_depend_on_how_the_history_is_cut(steps: list[tuple[int, bool]], cut: int) -> None:
    """Against a plain walk over the completions, which is the definition."""
    time_ns = np.cumsum([1 + step for step, _ in steps], dtype=np.int64)
    invoke_ns = time_ns - np.array([step for step, _ in steps], dtype=np.int64)
    works = np.array([ok for _, ok in steps], dtype=bool)
    kinds = pa.array(["ok" if ok else "info" for ok in works.tolist()], pa.string()).dictionary_encode()
    columns = {"invoke_ns": invoke_ns, "time_ns": time_ns, "type": kinds, "error": pa.nulls(len(steps), pa.string())}
    ended = pa.RecordBatch.from_pydict(columns)
    outages = Outages()
    for begin, end in pairwise([*range(0, len(steps), cut), len(steps)]):
        outages.add(ended.slice(begin, end - begin))
    until_ns = 10_000
    expected, open_ns, closed_ns = 0, None, 0
    for begin_ns, end_ns, ok in zip(invoke_ns.tolist(), time_ns.tolist(), works.tolist(), strict=True):
        if not ok and open_ns is None:
            open_ns = max(begin_ns, closed_ns)
        if ok and open_ns is not None:
            expected, open_ns, closed_ns = expected + end_ns - open_ns, None, end_ns
    expected += until_ns - open_ns if open_ns is not None else 0
    assert outages.total_s(until_ns=until_ns) == pytest.approx(expected / 1e9)


def test_the_checker_s_counts_are_merged_with_rates(tmp_path: Path) -> None:
    path = eventful_run(tmp_path / "run").write()
    summary, verdict = summarise(path), check(path)
    assert summary.counts == verdict.counts
    assert summary.totals["deliveries"] == verdict.totals.deliveries
    concurrent = summary.duplicates["concurrent"]
    assert concurrent.count == verdict.counts["concurrent"]
    assert concurrent.rate == pytest.approx(concurrent.count / verdict.totals.delivered)
    assert concurrent.interval is not None
    assert concurrent.interval.low < concurrent.rate < concurrent.interval.high
    assert summary.loss["lost"].rate == pytest.approx(verdict.counts["lost"] / verdict.totals.acknowledged)


def test_a_run_of_nothing_has_no_rates_and_no_latency(run: RunBuilder) -> None:
    summary = summarise(run.write())
    assert summary.operations == ()
    assert (summary.loss["lost"].rate, summary.loss["lost"].interval) == (None, None)


def test_the_summary_survives_json(tmp_path: Path) -> None:
    path = eventful_run(tmp_path / "run").write()
    written = summarise(path)
    text = (path / "summary.json").read_text(encoding="utf-8")
    assert "Infinity" not in text
    assert "NaN" not in text
    assert load_summary(RunDirectory.open(path)) == Summary.from_json(json.loads(text))
    assert Summary.from_json(json.loads(text)).operation("push") == written.operation("push")
