"""Goal: of one run of an evaluation everything is measured of the right operations, and rates given a fault are told.

Method: planted rows of a run, each operation of another length; planted rates.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from support.scenarios.sim_runs import small

from zonelab.analysis.checkers.queue.section import QueueSection, Totals
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.rates.precision import RateGivenFault
from zonelab.analysis.rates.samples import Estimate
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.scenarios.run.trial import Trial
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.studies.evaluate import one_run
from zonelab.studies.evaluate.given_faults import RatesGivenFaults
from zonelab.studies.evaluate.one_run import EvaluationMeasure, measured

MS = 1_000_000
EPOCH_MS = 5_000


def ended(f: str, outcome: str, begin_ms: int, end_ms: int, *ids: str, **columns: Any) -> list[dict[str, Any]]:
    """The rows of the end of an operation, one a message; all have the same index."""
    row = {"f": f, "type": outcome, "invoke_ns": begin_ms * MS, "time_ns": end_ms * MS, "zone": "a", "process": "p"}
    return [{**row, "message_id": name, **columns} for name in ids]


def lease(begin_ms: int, end_ms: int) -> dict[str, int]:
    return {"lease_start_ms": begin_ms, "leased_ms": end_ms}


ENDED = [
    [{"f": "push", "type": "invoke", "invoke_ns": 0, "time_ns": 0, "zone": "a", "process": "p", "message_id": "m1"}],
    ended("push", "fail", 5, 9, "m2"),
    ended("push", "ok", 10, 13, "m1", due_ms=EPOCH_MS + 20),
    ended("push", "ok", 20, 25, "m3", due_ms=EPOCH_MS + 100),
    ended("push", "info", 21, 29, "m4", due_ms=EPOCH_MS + 21, zone="b"),
    ended("push", "ok", 30, 36, "m6", due_ms=EPOCH_MS + 30, zone="b"),
    ended("pop", "ok", 40, 47, "m1", "m3", **lease(1_000, 1_004)),
    ended("pop", "ok", 39, 60, "m1", **lease(1_100, 1_109)),
    ended("pop", "ok", 70, 71, "m4", **lease(1_005, 1_000)),
    ended("pop", "ok", 80, 81, "m9"),
    [{**row, "message_id": None} for row in ended("pop", "ok", 81, 82, "x")],
    ended("ack", "ok", 50, 58, "m1"),
    ended("ack", "fail", 45, 52, "m3", error="no lease"),
    ended("ack", "fail", 46, 52, "m3", error="late"),
    ended("ack", "info", 47, 52, "m3"),
]
UNCONFIRMED = -1


def trial(*, begin_ms: int = 0, end_ms: int = 100) -> Any:
    tables = MemoryTables()
    for index, rows in enumerate(ENDED):
        for row in rows:
            tables("operations", OPERATIONS).append({"index": index, "op_id": index, **row})
    levels = {"DC_ONE": {"commands": 30}, "DC_QUORUM": {"commands": 4}}
    record = SimpleNamespace(
        phases={"load": (begin_ms * MS, end_ms * MS)},
        coordinators={"a": {"levels": levels}, "b": {"levels": {"DC_ONE": {"commands": 500}}}, "c": {}},
        error=None,
    )
    run: Any = SimpleNamespace(record=record, epoch_ns=EPOCH_MS * MS, trace_hash="")
    return Trial(scenario=small(), tables=tables, run=run, verdict=VERDICT)


VERDICT = Verdict.of(
    QueueSection(
        **{"forbid": (), "cases": {}, "lateness_ms": {}},
        totals=Totals(pushed=7, delivered=3),
        counts={**dict.fromkeys(map(str, MessageClass), 0), "lost": 2},
    )
)


def test_times_are_those_of_answers_in_the_order_of_their_begins() -> None:
    found = measured(trial())
    assert found.samples == {
        "push": [UNCONFIRMED, 3_000, 5_000, UNCONFIRMED, 6_000],
        "ack": [7_000, UNCONFIRMED, UNCONFIRMED, 8_000],
        "lease": [9_000, 4_000, 4_000, 0],
        "late": [27_000, 0, 50_000],
        "end_to_end": [48_000, UNCONFIRMED, UNCONFIRMED],
    }
    assert (found.begun, found.counts, found.numbers["commands"]) == (7, {"lost": 2}, 534)


def test_a_zone_is_unavailable_from_the_first_push_that_fails_to_the_next_that_works() -> None:
    """Zone a from 5 to 13 ms, b from 21 to 36; the mean of both. What the load's end cuts off does not count."""
    assert measured(trial()).numbers["unavailable"] == pytest.approx((0.008 + 0.015) / 2)
    assert measured(trial(end_ms=26)).numbers["unavailable"] == pytest.approx((0.008 + 0.005) / 2)


def test_a_run_without_a_verdict_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    rollout: Any = SimpleNamespace(run=lambda setting, cell, seed: small(name=f"s{setting}-{cell}-{seed}"))
    seen = []

    def broken(scenario: Any) -> Any:
        seen.append(scenario.name)
        record = SimpleNamespace(error="no room" if scenario.name.endswith("1") else None)
        return SimpleNamespace(verdict=None, run=SimpleNamespace(record=record))

    monkeypatch.setattr(one_run, "attempt", broken)
    for seed, why in ((1, "no room"), (2, "the lab failed")):
        with pytest.raises(RuntimeError) as error:
            EvaluationMeasure(rollout)((3, "cell", seed))  # type: ignore[arg-type]
        assert str(error.value) == why
    assert seen == ["s3-cell-1", "s3-cell-2"]


def rate(
    fault: str, figure: str, value: float, half: float, effect: float | None = 2.0, needed: int | None = 40
) -> RateGivenFault:
    found: Any = {"value": value, "low": value * (1 - half), "high": value * (1 + half)}
    return RateGivenFault(
        fault=fault,
        figure=figure,
        rate=Estimate(**found),
        design_effect=effect,
        runs=1_600,
        runs_needed=needed,
    )


RATES = RatesGivenFaults(
    {
        "x": [
            rate("kill", "lost", 0.5, 0.1),
            rate("kill", "late", 0.25, 0.3, effect=9e9, needed=3_200),
            rate("cut", "late", 0.4, 0.5, needed=None),
            rate("cut", "lost", 0.0001, 0.5),
        ],
        "y": [
            rate("kill", "lost", 0.625, 0.15, effect=4.0),
            rate("kill", "late", 0.25, 0.3, effect=None, needed=6_400),
        ],
    },
    budget_s=100.0,
)


def test_rates_given_a_fault_are_told_from_the_least_to_the_largest_of_the_settings() -> None:
    assert RATES.table is not None
    assert RATES.table.headings[2:] == ["cases a message", "half-width", "design effect", "runs", "for ± 20%"]
    assert list(RATES.table.cells()) == [
        ["cut", "late", "40.0%", "50.0%", "2", "1,600", "too few runs to tell"],
        ["kill", "late", "25.0%", "30.0%", "9,000,000,000", "1,600", "6,400 runs, --budget 7min"],
        ["kill", "lost", "50.0% to 62.5%", "10.0% to 15.0%", "2 to 4", "1,600", "reached"],
    ]
    assert list(RATES.sentences()) == ["2 of 5 rates given a fault of 1% and more are known to ± 20%."]
    budgets = [row["budget_s"] for row in RATES.to_json("x")]
    assert budgets == [2.5, 200.0, None, 2.5]
    unknown = RatesGivenFaults(RATES.by_setting, budget_s=None)
    assert [row["budget_s"] for row in unknown.to_json("x")] == [None] * 4
    assert unknown.table is not None
    assert [row[-1] for row in unknown.table.cells()] == ["too few runs to tell", "6,400 runs", "reached"]
