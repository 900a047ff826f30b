"""Goal: two programs that work on a message at once are seen, whatever their leases say, and no others are.

Method: runs made by hand, in which the first program's work ends in each way there is.
"""

from pathlib import Path

import pytest

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.runs.builder import RunBuilder


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    return RunBuilder(tmp_path / "run")


def nonzero(verdict: Verdict) -> dict[str, int]:
    return {name: count for name, count in verdict.counts.items() if count}


@pytest.mark.parametrize(
    ("first_ends", "lasted_ms"),
    [
        ({"acked_ms": 201}, None),
        ({"acked_ms": 202}, 1.0),
        ({"refused_ms": 203}, 2.0),
        ({"died_ms": 201}, None),
        ({"died_ms": 204}, 3.0),
        ({"acked_ms": 900, "died_ms": 201}, None),
        ({"extension_refused_ms": 204}, 3.0),
        ({"extended_ms": 202, "acked_ms": 205}, 4.0),
        ({}, 99.0),
    ],
    ids=str,
)
def test_work_lasts_to_an_ack_whatever_its_outcome_a_refused_extension_a_death_or_the_ack_of_the_other(
    run: RunBuilder, first_ends: dict[str, int], lasted_ms: float | None
) -> None:
    run.push("m", at_ms=2)
    first = run.pop("m", at_ms=10, lease_end_ms=100, process="first")
    for kind, outcome in (("acked_ms", "ok"), ("refused_ms", "fail")):
        if kind in first_ends:
            run.ack("m", first, at_ms=first_ends[kind], outcome="ok" if outcome == "ok" else "fail")
    if "extended_ms" in first_ends:
        run.extend("m", first, at_ms=first_ends["extended_ms"], lease_end_ms=300)
    if "extension_refused_ms" in first_ends:
        at_ms = first_ends["extension_refused_ms"] - 2
        run.extend("m", first, at_ms=at_ms, took_ms=2, lease_end_ms=300, outcome="fail")
    run.ack("m", run.pop("m", at_ms=200, took_ms=1, process="second"), at_ms=300)
    deaths = {"first": first_ends["died_ms"] * 1_000_000} if "died_ms" in first_ends else {}
    verdict = check(run.write(deaths=deaths))
    assert verdict.counts["overlap"] == (lasted_ms is not None)
    assert verdict.queue.overlap_ms.get("max") == lasted_ms
    assert verdict.queue.overlap_ms.get("open") == (None if lasted_ms is None else int(not first_ends))


def test_work_that_is_never_seen_to_end_is_counted_to_the_end_of_the_drain_and_marked(run: RunBuilder) -> None:
    run.push("m", at_ms=2)
    for name, at_ms in (("first", 10), ("second", 200), ("third", 300)):
        run.pop("m", at_ms=at_ms, took_ms=0, lease_end_ms=at_ms + 50, process=name)
    verdict = check(run.write())
    (case,) = verdict.cases["overlap"]
    assert case.detail == (
        "3 programs at once, for 19,800.000 ms in all, counted to the end of the drain where nothing ended the work"
    )
    assert verdict.queue.overlap_ms["open"] == 1


def test_a_program_that_gets_its_own_message_again_is_one_program(run: RunBuilder) -> None:
    run.push("m", at_ms=2)
    run.pop("m", at_ms=10, lease_end_ms=50, process="one")
    run.ack("m", run.pop("m", at_ms=100, process="one"), at_ms=200)
    assert nonzero(check(run.write())) == {"redelivered": 1}
