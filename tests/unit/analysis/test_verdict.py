"""Goal: what is not known is not claimed, and every rule's edge is where the documentation puts it. Method: runs
made by hand, one at each side of an edge.
"""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.analysis.runs import as_written_before, eventful_run

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.judgement import FIRST_CASES, judge
from zonelab.analysis.checkers.queue.section import QueueSection, Totals
from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.builder import Outcome, RunBuilder


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    builder = RunBuilder(tmp_path / "run")
    builder.push("good", at_ms=1)
    builder.ack("good", builder.pop("good", at_ms=5), at_ms=10)
    return builder


def nonzero(verdict: Verdict) -> dict[str, int]:
    return {name: count for name, count in verdict.counts.items() if count}


def test_a_run_without_pushes_is_unknown(tmp_path: Path) -> None:
    verdict = check(RunBuilder(tmp_path / "run").write())
    assert (verdict.valid, verdict.reasons) == ("unknown", ("nothing was pushed",))


def test_an_undelivered_message_is_undecided_if_a_zone_was_not_read(run: RunBuilder) -> None:
    run.push("where", at_ms=2)
    verdict = check(run.write(unread_zones=["c"]))
    assert nonzero(verdict) == {"undecided": 1}
    assert verdict.valid == "unknown"
    assert verdict.reasons == ("the end state of zone c could not be read",)


def test_an_abandoned_message_needs_only_its_own_zone(run: RunBuilder) -> None:
    run.push("gone", at_ms=2)
    run.pop("gone", at_ms=20)
    assert nonzero(check(run.write(unread_zones=["c"]))) == {"abandoned": 1}
    assert nonzero(check(run.write(unread_zones=["a"]))) == {"undecided": 1}


def test_a_message_found_in_a_zone_is_stuck_even_if_another_zone_was_not_read(run: RunBuilder) -> None:
    run.push("stuck", at_ms=2)
    run.listed("stuck", zone="b")
    run.payload("stuck", zone="b")
    verdict = check(run.write(unread_zones=["c"]))
    assert nonzero(verdict) == {"stuck": 1}
    assert verdict.valid is False
    assert len(verdict.reasons) == 2  # the proof, and the gap


def test_an_interrupted_run_has_nothing_stuck_because_it_was_not_drained(run: RunBuilder) -> None:
    run.push("waiting", at_ms=2)
    run.listed("waiting", zone="a")
    run.payload("waiting", zone="a")
    verdict = check(run.write(status="interrupted"))
    assert (verdict.valid, verdict.reasons) == ("unknown", ("the run was interrupted",))
    assert nonzero(verdict) == {"undecided": 1}


def test_an_interrupted_run_without_an_end_state_can_be_checked(run: RunBuilder) -> None:
    run.push("waiting", at_ms=2)
    path = run.write(status="interrupted", error="stopped by the user")
    (path / "final_state.parquet").unlink()
    verdict = check(path)
    assert verdict.reasons == ("the run was interrupted: stopped by the user", "no end state was recorded")
    assert nonzero(verdict) == {"undecided": 1}


@pytest.mark.parametrize(("due_ms", "found"), [(20_000, "stuck"), (20_001, "not_due")])
def test_a_message_that_is_due_after_the_end_of_the_drain_is_not_due(run: RunBuilder, due_ms: int, found: str) -> None:
    run.push("far", at_ms=2, due_ms=due_ms)
    run.listed("far", zone="b")
    run.payload("far", zone="b")
    verdict = check(run.write())
    assert nonzero(verdict) == {found: 1}
    assert verdict.valid is (found == "not_due")


def test_a_message_that_is_not_due_can_be_lost_as_any_other(run: RunBuilder) -> None:
    run.push("far", at_ms=2, due_ms=86_400_000)
    assert nonzero(check(run.write())) == {"lost": 1}


def test_a_message_that_came_early_and_is_owed_again_is_stuck_whatever_its_due_time(run: RunBuilder) -> None:
    run.push("far", at_ms=2, due_ms=86_400_000)
    run.pop("far", at_ms=10)
    run.listed("far", zone="a")
    run.payload("far", zone="a")
    assert nonzero(check(run.write())) == {"stuck": 1, "early": 1}


def test_nothing_is_not_due_in_a_run_that_was_not_drained(run: RunBuilder) -> None:
    run.push("far", at_ms=2, due_ms=86_400_000)
    run.listed("far", zone="a")
    run.payload("far", zone="a")
    assert nonzero(check(run.write(status="interrupted"))) == {"undecided": 1}


def test_a_verdict_of_an_older_version_judges_no_class_that_it_did_not_know(run: RunBuilder) -> None:
    told = check(run.write()).to_json()
    del told["sections"]["queue"]["counts"]["not_due"]
    older = Verdict.from_json(told)
    assert (older.counts["not_due"], older.not_judged[-1:]) == (0, ("not_due",))


@pytest.mark.parametrize(("late_ms", "late"), [(49, 1), (50, 0), (None, 0)])
def test_a_first_delivery_may_be_as_late_as_the_scenario_says(run: RunBuilder, late_ms: int | None, late: int) -> None:
    run.push("m", at_ms=2, due_ms=100)
    run.pop("m", at_ms=140, took_ms=10, lease_end_ms=300)
    run.ack("m", run.pop("m", at_ms=9_000), at_ms=9_010)  # again, as late as it may be
    verdict = check(run.write(late_ms=late_ms, forbid=["late"]))
    assert (verdict.counts["late"], verdict.valid is False) == (late, late == 1)
    assert verdict.not_judged == (("late",) if late_ms is None else ())


def test_what_is_forbidden_is_the_scenario_s_choice(run: RunBuilder) -> None:
    run.push("lost", at_ms=2)
    assert check(run.write(forbid=["early"])).valid is True
    assert check(run.write(forbid=["lost"])).valid is False


@pytest.mark.parametrize(("answered_ms", "early"), [(98, 1), (99, 0), (100, 0)])
def test_a_message_may_come_one_millisecond_before_it_is_due(run: RunBuilder, answered_ms: int, early: int) -> None:
    run.push("m", at_ms=2, due_ms=100)
    run.ack("m", run.pop("m", at_ms=50, took_ms=answered_ms - 50), at_ms=200)
    assert check(run.write()).counts["early"] == early


@pytest.mark.parametrize(("answered_ms", "early"), [(49, 1), (50, 0)])
def test_a_queue_may_serve_as_early_as_its_run_says(run: RunBuilder, answered_ms: int, early: int) -> None:
    run.push("m", at_ms=0, due_ms=100)
    run.ack("m", run.pop("m", at_ms=answered_ms, took_ms=0), at_ms=answered_ms + 5)
    queue = {"engine": "own", "shards": run.shards, "early_ms_max": 50}
    assert check(run.write(queue=queue)).counts["early"] == early


def without_leases(run: RunBuilder, **promises: bool) -> dict[str, object]:
    return {"engine": "own", "shards": run.shards, "leases": False, **promises}


def test_without_leases_a_delivery_settles_what_is_owed(run: RunBuilder) -> None:
    run.push("gone", at_ms=0)
    run.push("listed", at_ms=0)
    run.push("never", at_ms=0)
    run.pop("gone", at_ms=10)
    run.pop("gone", at_ms=20)
    run.pop("listed", at_ms=10)
    run.listed("listed", zone="a")
    with_leases = check(run.write())
    assert [with_leases.counts[name] for name in ("abandoned", "concurrent", "stuck", "lost")] == [1, 1, 1, 1]
    verdict = check(run.write(queue=without_leases(run)))
    assert verdict.not_judged == ("abandoned", "concurrent", "zombie_ack", "late")
    assert [verdict.counts[name] for name in ("abandoned", "concurrent", "stuck", "lost")] == [0, 0, 0, 1]
    assert {"abandoned", "concurrent", "stuck"}.isdisjoint(verdict.cases)
    assert check(run.write(queue=without_leases(run, priorities=False))).not_judged[3:4] == ("priority_inversion",)


def test_a_delivery_settles_what_is_owed_for_a_message_whose_own_lease_is_none(run: RunBuilder) -> None:
    for name, lease_ms in (("none", 0), ("own", 500), ("of-queue", None), ("never", 0)):
        run.push(name, at_ms=0, lease_ms=lease_ms)
        if name != "never":
            run.pop(name, at_ms=10)
    run.listed("none", zone="a")
    verdict = check(run.write())
    assert nonzero(verdict) == {"abandoned": 2, "lost": 1, "phantom": 1}
    assert verdict.not_judged == ("late",)  # for want of a bound


def test_an_older_history_without_leases_of_messages_is_judged_as_before(tmp_path: Path) -> None:
    path = eventful_run(tmp_path / "run").write()
    counts = check(path).counts
    older = check(as_written_before(path)).counts
    assert older == {**counts, "abandoned": counts["abandoned"] + 1}  # the one that was delivered at most once


@pytest.mark.parametrize(("outcome", "early"), [("info", 0), ("fail", 1)])
def test_an_attempt_in_doubt_may_be_what_a_retried_message_is_due_by(
    run: RunBuilder, outcome: Outcome, early: int
) -> None:
    run.push("m", at_ms=2, due_ms=100, outcome=outcome)
    run.push("m", at_ms=50, due_ms=150)
    run.ack("m", run.pop("m", at_ms=60, took_ms=50), at_ms=200)
    assert check(run.write()).counts["early"] == early


@pytest.mark.parametrize(("leased_ms", "cause"), [(299, "concurrent"), (300, "redelivered")])
def test_a_lease_ends_at_its_end(run: RunBuilder, leased_ms: int, cause: str) -> None:
    run.push("m", at_ms=2)
    run.pop("m", at_ms=10, lease_end_ms=300)
    run.ack("m", run.pop("m", at_ms=250, took_ms=100, leased_ms=leased_ms, lease_end_ms=900), at_ms=400)
    assert nonzero(check(run.write())) == {cause: 1}


@pytest.mark.parametrize(("lease_start_ms", "cause"), [(31, "concurrent"), (32, "resurrected")])
def test_a_lease_begun_before_the_ack_was_confirmed_is_no_resurrection(
    run: RunBuilder, lease_start_ms: int, cause: str
) -> None:
    run.push("m", at_ms=2)
    run.ack("m", run.pop("m", at_ms=10, lease_end_ms=300), at_ms=30, took_ms=1)
    run.ack("m", run.pop("m", at_ms=25, took_ms=20, lease_start_ms=lease_start_ms), at_ms=60)
    assert nonzero(check(run.write())) == {cause: 1}


def test_an_extension_in_doubt_excuses_a_redelivery_either_way(run: RunBuilder) -> None:
    run.push("m", at_ms=2)
    first = run.pop("m", at_ms=10, lease_end_ms=900)
    run.extend("m", first, at_ms=50, lease_end_ms=60, outcome="info")
    run.ack("m", run.pop("m", at_ms=100), at_ms=150)
    assert nonzero(check(run.write())) == {"redelivered": 1}


def test_an_ack_in_doubt_ends_what_the_queue_owes(run: RunBuilder) -> None:
    run.push("m", at_ms=2)
    run.ack("m", run.pop("m", at_ms=10), at_ms=20, outcome=None)
    assert nonzero(check(run.write())) == {}


def test_an_ack_after_another_consumer_got_the_message_is_a_zombie(run: RunBuilder) -> None:
    run.push("m", at_ms=2)
    first = run.pop("m", at_ms=10, lease_end_ms=500)
    run.pop("m", at_ms=100, took_ms=2)
    run.ack("m", first, at_ms=200)
    assert nonzero(check(run.write())) == {"concurrent": 1, "zombie_ack": 1}


def test_an_ack_within_an_extended_lease_is_none(run: RunBuilder) -> None:
    run.push("m", at_ms=2)
    first = run.pop("m", at_ms=10, lease_end_ms=100)
    run.extend("m", first, at_ms=50, lease_end_ms=400)
    run.ack("m", first, at_ms=300)
    assert nonzero(check(run.write())) == {}


def test_an_urgent_message_pushed_after_the_other_s_pop_began_was_not_passed_over(run: RunBuilder) -> None:
    run.push("other", at_ms=10, due_ms=50, priority=9)
    run.ack("other", run.pop("other", at_ms=100, took_ms=20), at_ms=130)
    run.push("urgent", at_ms=99.5, took_ms=1, due_ms=50, priority=0)
    run.ack("urgent", run.pop("urgent", at_ms=140), at_ms=150)
    assert nonzero(check(run.write())) == {}


def test_messages_of_one_pop_do_not_pass_over_each_other(run: RunBuilder) -> None:
    for message_id, priority in (("later", 9), ("urgent", 0)):
        run.push(message_id, at_ms=10, due_ms=50, priority=priority)
    pop = run.pop("later", "urgent", at_ms=60)
    run.ack("later", pop, at_ms=80)
    run.ack("urgent", pop, at_ms=90)
    assert nonzero(check(run.write())) == {}


def test_only_the_first_offenders_are_in_the_verdict_and_all_are_in_the_file(run: RunBuilder) -> None:
    for number in range(50):
        run.push(f"lost-{number:02}", at_ms=100 - number)
    path = run.write()
    verdict = check(path, rows_per_partition=10)
    shown = [offender.message_id for offender in verdict.cases["lost"]]
    assert shown == [f"lost-{number:02}" for number in range(49, 49 - FIRST_CASES, -1)]  # in the order of pushes
    stored = pq.read_table(path / "offenders.parquet").to_pylist()
    assert {row["message_id"] for row in stored} == {f"lost-{number:02}" for number in range(50)}
    assert {row["class"] for row in stored} == {"lost"}


def test_a_stuck_message_is_shown_with_where_it_sits(run: RunBuilder) -> None:
    run.push("stuck", at_ms=2)
    run.listed("stuck", zone="a", place="unack")
    run.payload("stuck", zone="a")
    run.listed("stuck", zone="c")
    (offender,) = check(run.write()).cases["stuck"]
    assert offender.detail == "a: unack, payload; c: queue"


def test_zones_that_hold_the_same_do_not_diverge(run: RunBuilder) -> None:
    for zone in "abc":
        run.listed("everywhere", zone=zone)
    run.listed("somewhere", zone="b")
    (row,) = check(run.write()).queue.divergence
    assert (row.place, row.shard, row.ids, row.divergent) == ("queue", "a", 2, 1)


def test_lateness_is_that_of_first_deliveries_by_zone(run: RunBuilder) -> None:
    run.push("m", at_ms=2, due_ms=50, zone="b")
    run.pop("m", at_ms=58, took_ms=2, zone="b", lease_end_ms=100)
    run.ack("m", run.pop("m", at_ms=200, zone="b"), at_ms=210)
    path = run.write()
    verdict = check(path)
    assert verdict.queue.lateness_ms["b"] == {"count": 1, "p50": 10, "p90": 10, "p99": 10, "p999": 10, "max": 10}
    assert verdict.queue.lateness_ms["all"]["count"] == 2
    assert pq.read_table(path / "lateness.parquet").to_pylist() == [
        {"zone": "a", "lateness_ms": 5, "deliveries": 1},
        {"zone": "b", "lateness_ms": 10, "deliveries": 1},
    ]


def test_the_verdict_survives_json(run: RunBuilder) -> None:
    run.push("lost", at_ms=2)
    run.listed("stray", zone="b")
    path = run.write()
    verdict = check(path)
    assert Verdict.from_json(json.loads((path / "verdict.json").read_text())) == verdict


def test_a_violation_outweighs_a_doubt_and_a_doubt_outweighs_nothing() -> None:
    assert (judge(broken=[], doubts=[]), judge(broken=[], doubts=["gap"])) == (True, "unknown")
    counts = {**dict.fromkeys(map(str, MessageClass), 0), "lost": 2, "orphan": 9}
    found = QueueSection(
        forbid=("lost",), counts=counts, cases={}, doubts=("gap",), totals=Totals(pushed=3), lateness_ms={}
    )
    for part in (found, Verdict.of(found)):
        assert (part.valid, part.reasons) == (False, (f"2 lost: {MessageClass.LOST.summary}", "gap"))
