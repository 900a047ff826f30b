"""Goal: a mechanism that is switched off is off, and it is seen. Method: runs with their twins."""

import json
import pickle
from functools import partial
from pathlib import Path

import pytest
from support.project_files import ROOT
from support.studies.in_memory import FACTS, ablate

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.observation import Observation
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.scenarios.faults.zones import Kill
from zonelab.scenarios.run.trial import attempt
from zonelab.studies.guarantees import ablation as ablation_module
from zonelab.studies.guarantees.ablation import (
    WATCHED,
    AblationRun,
    conditions_of,
    dearer,
    detected,
    each_off,
    redelivered_per_1000,
)
from zonelab.studies.guarantees.ablation_costs import Cost
from zonelab.studies.guarantees.ablation_report import AblationReport
from zonelab.studies.guarantees.mechanisms import (
    ENGINE,
    Ablation,
    ClusterMechanism,
    mechanisms_of,
    parse_ablation,
)
from zonelab.studies.guarantees.paired import Conditions, PairedStudy, RowResult

ONE, QUORUM = Level.DC_ONE, Level.DC_QUORUM


def test_without_warm_restarts_a_killed_zone_keeps_its_files():
    scenario = scenario_of_class(FaultClass.ZONE_KILLED_WARM, level=QUORUM, mode=EngineMode.DEFAULT, seed=1)
    (cold,) = Ablation((ClusterMechanism.WARM_RESTART,)).scenario(scenario).faults
    (warm,) = Ablation().scenario(scenario).faults
    assert isinstance(cold, Kill)
    assert (warm.restart, cold.restart) == ("warm", "keep")
    assert cold.model_copy(update={"restart": "warm"}) == warm


def test_runs_without_an_option_are_compared_with_runs_that_have_it():
    drawn = scenario_of_class(FaultClass.ZONE_KILLED_KEEP, level=QUORUM, mode=EngineMode.DEFAULT, seed=1)
    off = parse_ablation("hinted-handoff")
    assert off.scenario(drawn).replication.hinted_handoff is None
    assert off.twin.scenario(drawn).replication.hinted_handoff is not None
    assert off.twin.twin == off.twin
    assert parse_ablation("lease-nx").twin == Ablation()


def test_every_mechanism_is_in_the_table_and_described():
    assert {mechanism for ablation in each_off(ENGINE) for mechanism in ablation.off} == set(mechanisms_of(ENGINE))
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("ablations.md", "hardened.md", "fifo-fenced.md"))
    assert [name for name in (*mechanisms_of(ENGINE), *Fencing) if name not in pages] == []


def test_ablations_are_read_from_words_and_travel_between_processes():
    both = parse_ablation("lease-nx, remove-check")
    assert both.off == (DynoMechanism.LEASE_NX, DynoMechanism.REMOVE_CHECK)
    assert pickle.loads(pickle.dumps(both.make_queue)).__self__ == both
    with pytest.raises(ValueError, match="got 'nx'; accepted: unack-handler, lease-nx"):
        parse_ablation("nx")


RARE = {
    "unack-handler": (1, 2, 3, 4, 7, 8, 9, 10),
    "lease-before-remove": (1, 3, 7, 8, 10, 11, 12, 14),
    "payload-before-id": (3, 15, 19, 20, 24, 27, 32, 34),
    "lease-nx": (4, 19, 20, 21, 22, 23, 27, 33),
    "requeue-before-unlease": (2, 3, 14, 23, 27, 30, 36, 56),
}
"""The first seeds that show what not every seed does: they are tried first, and all others if they no longer do."""


def detected_so_far(ablation, conditions, name, *, seeds):
    """Whether ``ablate`` says so after each failing run. Runs that do not fail need no twin: they are no evidence."""
    result = RowResult()
    for seed in dict.fromkeys(seeds):
        run = AblationRun(ablation, conditions, seed)
        measured = run.measure()
        if measured.counts.get(name):
            result.add(measured, run.twin.measure(), conditions=conditions, seed=seed)
            yield name in detected(study({ablation: result}), ablation)


def study(rows):
    return PairedStudy(rows=rows, tests=len(WATCHED) + len(Cost))


@pytest.mark.parametrize(
    ("off", "fault_class", "level", "runs", "name"),
    [
        ("unack-handler", FaultClass.CONSUMER_CRASH, ONE, 20, MessageClass.STUCK),
        ("lease-before-remove", FaultClass.CONSUMER_CRASH, ONE, 30, MessageClass.LOST),
        ("ack-lease-first", FaultClass.WORK_OVERLONG, ONE, 10, MessageClass.ABANDONED),
        ("due-check", FaultClass.NONE, QUORUM, 10, MessageClass.EARLY),
        ("lease-nx,remove-check", FaultClass.ZONE_PAUSED, QUORUM, 10, MessageClass.CONCURRENT),
        ("warm-restart", FaultClass.ZONE_KILLED_WARM, QUORUM, 12, MessageClass.STUCK),
        ("payload-before-id", FaultClass.ZONE_PAUSED, ONE, 60, MessageClass.LOST),
        ("hinted-handoff", FaultClass.ZONE_KILLED_KEEP, QUORUM, 20, MessageClass.STUCK),
        ("lease-nx", FaultClass.WORK_OVERLONG, QUORUM, 50, MessageClass.ABANDONED),
        ("requeue-before-unlease", FaultClass.CRASH_OVERLONG, ONE, 100, MessageClass.ABANDONED),
    ],
)
def test_an_ablation_that_must_be_detected_is(off, fault_class, level, runs, name):
    ablation, conditions = parse_ablation(off), Conditions(fault_class, level)
    assert any(detected_so_far(ablation, conditions, name, seeds=(*RARE.get(off, ()), *range(1, runs + 1))))


def test_payloads_of_the_own_zone_bring_acked_messages_back():
    """A zone with old files has payloads that the others deleted; rare, so it is enough that it happens at all."""
    ablation, conditions = (
        Ablation((DynoMechanism.QUORUM_PAYLOAD_READ,)),
        Conditions(FaultClass.ZONE_KILLED_KEEP, QUORUM),
    )
    runs = (AblationRun(ablation, conditions, seed) for seed in range(1, 61))
    first = next(run for run in runs if MessageClass.RESURRECTED in run.measure().violated)
    assert MessageClass.RESURRECTED not in first.twin.measure().violated


def test_a_lease_taken_before_its_end_costs_deliveries_but_at_most_a_millisecond_of_its_exclusiveness():
    """What is requeued is due when its lease ends, and the queue serves what is due up to 1 ms early."""
    ablation = Ablation((DynoMechanism.LEASE_END_CHECK,))
    drawn = partial(scenario_of_class, FaultClass.WORK_OVERLONG, level=ONE, mode=EngineMode.DEFAULT)
    scenarios = [drawn(seed=seed) for seed in range(4)]
    without = [attempt(scenario, make_queue=ablation.make_queue).verdict for scenario in scenarios]
    details = [case.detail for verdict in without for case in verdict.cases.get(MessageClass.CONCURRENT, ())]
    assert [detail for detail in details if not detail.startswith("1 ms before the lease of delivery")] == []
    redelivered = sum(verdict.counts[MessageClass.REDELIVERED] for verdict in without)
    before = sum(attempt(scenario).verdict.counts[MessageClass.REDELIVERED] for scenario in scenarios)
    assert redelivered > 1.5 * before


def test_the_baseline_is_clean_where_the_queue_must_hold():
    holding = (FaultClass.LAG_HEAVY, FaultClass.CONSUMER_CRASH, FaultClass.ZONE_PAUSED)
    under = [Conditions(fault_class, level) for fault_class in holding for level in (ONE, QUORUM)]
    off = Ablation((DynoMechanism.DUE_CHECK,))
    result = ablate([off], under=under, seeds=range(1, 7)).rows[off]
    assert (result.runs, result.failed_runs, result.failed_twins, result.problems) == (6, 6, 0, {})


def test_every_mechanism_is_tried_where_it_matters_and_every_twin_is_run_once():
    runs = ablation_module._runs(each_off(ENGINE), (), range(1, 7))
    assert len(set(runs)) == len(runs)
    for ablation in each_off(ENGINE):
        tried = [run for run in runs if run.ablation == ablation]
        assert [run.seed for run in tried] == [1, 2, 3, 4, 5, 6]
        assert {run.conditions for run in tried} == set(conditions_of(ablation))
        for run in tried:
            assert runs.index(run.twin) < runs.index(run)


def test_a_run_and_what_it_measures_travel_between_processes():
    run = AblationRun(Ablation((DynoMechanism.UNACK_HANDLER,)), Conditions(FaultClass.CONSUMER_CRASH, QUORUM), 1)
    there = pickle.loads(pickle.dumps(run))
    assert there == run
    assert pickle.loads(pickle.dumps(there.measure())) == run.measure()


def measured(seed, *, deliveries, **violated):
    costs = {Cost.LATE: 100.0 * deliveries + seed, Cost.OVERTAKEN: seed % 2}
    return Observation(
        valid=not violated, counts=violated, numbers={"deliveries": deliveries, "delivered": 10, **costs}
    )


@pytest.fixture
def counted():
    conditions, off = Conditions(FaultClass.ZONE_WIPED, ONE), Ablation((DynoMechanism.LEASE_NX,))
    result = RowResult()
    for seed in range(20):
        twin = measured(seed, deliveries=10, **({"stuck": 2} if seed == 0 else {}))
        run = measured(seed, deliveries=12, stuck=1 if seed == 0 else 3)
        result.add(run, twin, conditions=conditions, seed=seed)
    return study({off: result}), off


def test_twins_count_by_which_of_them_has_more_cases(counted):
    found, off = counted
    result = found.rows[off]
    stuck = result.difference(MessageClass.STUCK)
    assert (stuck.more, stuck.fewer) == (19, 1)
    assert detected(found, off) == (MessageClass.STUCK,)
    assert dearer(found, off) == (Cost.LATE,)
    assert redelivered_per_1000(result) == (200, 0)


def test_the_table_gives_failures_per_1000_seeds_with_intervals(counted):
    found, _ = counted
    report = AblationReport(**FACTS, study=found)
    failing = "| lease-nx | 1,000 (832 to 1,000) | 50 | stuck 1,000 (zone-wiped, DC_ONE) |"
    assert f"{failing} 200 (0) | 1,210 (1,010) | 500 (500) | detected: stuck; dearer: late |" in report.document(
        Path("page.md")
    )
    (row,) = json.loads(json.dumps(report.to_json()))["rows"]
    assert (row["off"], row["failing"], row["failing_with_it_on"]) == (["lease-nx"], 20, 1)
    assert row["classes"] == {
        "stuck": {"failing": 20, "worse": 19, "better": 1, "chance_of_worse": pytest.approx(21 / 2**20)}
    }
    assert (row["detected"], row["dearer"]) == (["stuck"], ["late"])


def test_ctrl_c_keeps_what_there_is():
    def progress(done, total):
        raise KeyboardInterrupt

    off, under = Ablation((DynoMechanism.DUE_CHECK,)), [Conditions(FaultClass.NONE, ONE)]
    pairs = ablation_module.ablation_pairs([off], under=under, seeds=(1, 2))
    done = pairs.experiment.run(progress=progress)
    assert (done.complete, done.done, pairs.compared(done).rows[off].runs) == (False, 1, 0)


def test_mechanisms_of_hardened_mode_are_switched_off_in_hardened_runs():
    ablation = parse_ablation("tombstones,lease-heartbeat")
    assert ablation.mode is EngineMode.HARDENED
    assert list(ablation.off) == [Hardening.TOMBSTONES, Hardening.LEASE_HEARTBEAT]
    with pytest.raises(ValueError, match="accepted: mechanisms of hardened mode, or others, not both"):
        parse_ablation("tombstones,lease-nx")


def test_mechanisms_of_hardened_mode_are_switched_off_in_whatever_engine_has_it():
    ablation = parse_ablation("tombstones", engine="gmq")
    found = ablate([ablation], under=[Conditions(FaultClass.CUT_DROP, QUORUM)], seeds=range(1, 5)).rows[ablation]
    assert found.failing_runs(MessageClass.RESURRECTED) >= 2
    assert found.failed_twins == 0
    assert Hardening.ORPHAN_SWEEPER not in {off for one in each_off("gmq") for off in one.off}  # has no V1 clients
    with pytest.raises(ValueError, match=r"got 'lease-nx' .*; accepted: delivery-tokens, "):
        parse_ablation("lease-nx", engine="gmq")


@pytest.mark.parametrize(
    ("off", "place", "cost"),
    [
        ("lease-heartbeat", FaultClass.WORK_OVERLONG, Cost.REDELIVERED),
        ("shard-takeover", FaultClass.ZONE_UNSERVED, Cost.LATE),
    ],
)
def test_what_a_mechanism_of_hardened_mode_is_good_for_shows_in_what_its_runs_cost(off, place, cost):
    ablation = parse_ablation(off)
    found = ablate([ablation], under=[Conditions(place, QUORUM)], seeds=range(1, 13))
    assert cost in dearer(found, ablation)
    assert found.rows[ablation].failed_runs == 0


@pytest.mark.parametrize(
    ("off", "place", "found"),
    [
        ("tombstones", FaultClass.CUT_DROP, MessageClass.RESURRECTED),
        ("idempotent-push", FaultClass.LINKS_DUPLICATE, MessageClass.RESURRECTED),
        ("anti-entropy", FaultClass.CUT_DROP, MessageClass.STUCK),
        ("lease-heartbeat,delivery-tokens", FaultClass.WORK_OVERLONG, MessageClass.ZOMBIE_ACK),
        ("dead-letter", FaultClass.POISON, MessageClass.STUCK),
        ("orphan-sweeper", FaultClass.V1_PRODUCERS_CRASH, MessageClass.ORPHAN),
    ],
)
def test_hardened_mode_fails_without_what_it_needs_and_holds_with_it(off, place, found):
    ablation = parse_ablation(off)
    result = ablate([ablation], under=[Conditions(place, QUORUM)], seeds=range(1, 4)).rows[ablation]
    assert result.failing_runs(found) >= 2
    assert result.failed_twins == 0


def test_of_messages_that_kill_their_consumers_all_and_no_others_become_dead_letters():
    for seed in range(1, 9):
        scenario = scenario_of_class(FaultClass.POISON, level=QUORUM, mode=EngineMode.HARDENED, seed=seed)
        verdict = attempt(scenario).verdict
        assert {case.message_id for case in verdict.cases["dead_letter"]} == scenario.load.poison
        most = scenario.queue.deliveries_max
        assert verdict.totals.deliveries == verdict.totals.delivered + (most - 1) * len(scenario.load.poison)
        assert verdict.totals.acked == verdict.totals.pushed - len(scenario.load.poison)


def test_what_v1_producers_left_unlisted_is_delivered_once_the_sweeper_has_listed_it():
    off = Ablation.of(Hardening.ORPHAN_SWEEPER)
    scenario = scenario_of_class(FaultClass.V1_PRODUCERS_CRASH, level=QUORUM, mode=EngineMode.HARDENED, seed=1)
    swept, unswept = attempt(scenario).verdict, attempt(scenario, make_queue=off.make_queue).verdict
    orphans = {case.message_id for case in unswept.cases["orphan"]}
    assert orphans
    assert {case.message_id for case in swept.cases["recovered"]} == orphans
    assert [swept.counts[name] for name in (MessageClass.ORPHAN, MessageClass.RESURRECTED)] == [0, 0]
