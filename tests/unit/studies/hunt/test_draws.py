"""Goal: what a seed draws stays within what is stated, uses all of it over many seeds, and differs by class.

Method: scenarios are drawn, not run; each is compared with its class, and all of a class together.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from random import Random
from typing import Any

import pytest
from support.scenarios.sim_runs import small

from zonelab.cluster.sim.schedule import TieBreak
from zonelab.engine.fifo.settings import Times
from zonelab.scenarios.fault_draws.ordered import in_order, loss_and_takeover
from zonelab.scenarios.fault_draws.swarm import LAGS, drawn
from zonelab.scenarios.faults.clocks import ClockFault
from zonelab.scenarios.faults.links import CutFault, CutMode
from zonelab.scenarios.faults.programs import ConsumerCrash, ServiceCrash
from zonelab.scenarios.faults.seen import MemberHidden, ProgramPause
from zonelab.scenarios.faults.zones import Kill, Wipe
from zonelab.scenarios.spec.queue_settings import QueueMode
from zonelab.scenarios.spec.scenario import Scenario

SEEDS = range(1, 161)
LEASE_MS, CLOCK_MS, LOAD_S = 200, 7, 1.5
ZONES = ("a", "b", "c")
OPERATIONS = [{"at_ms": 10 * n, "zone": ZONES[n % 3], "delay_ms": n, "priority": n, "id": f"m{n}"} for n in range(12)]
CRASH = {"kind": "consumer_crash", "zone": "a", "consumer": 0, "at_s": 0.6, "for_s": 0.3}
CLOCK = {"kind": "clock", "zone": "b", "at_s": 0.3, "for_s": 0.5, "offset_ms": 5}
PAUSING = ("any-of-one-zone", "resized", "delayed", "grouped")
CLASSES = ("none", "clocks-wrong", *PAUSING)


@cache
def ordered(fault_class: str) -> tuple[Scenario, ...]:
    base = small(load={"duration_s": LOAD_S, "rate_per_s": 0.0, "operations": OPERATIONS}, faults=[CRASH, CLOCK])
    return tuple(
        in_order(
            base.model_copy(update={"seed": seed}),
            **{"mode": QueueMode.FENCED, "lease_ms": LEASE_MS, "clock_ms": CLOCK_MS, "fault_class": fault_class},
        )
        for seed in SEEDS
    )


def of_kind(scenario: Scenario, kind: type[Any]) -> list[Any]:
    return [fault for fault in scenario.faults if isinstance(fault, kind)]


def share(seeds: Iterable[object]) -> float:
    return sum(map(bool, seeds)) / len(SEEDS)


def within(values: Iterable[float], least: float, most: float, *, about: float = 0.15) -> None:
    """All are between the two, and some are near to each."""
    found = sorted(values)
    near = about * (most - least)
    assert least <= found[0] <= least + near
    assert most - near <= found[-1] <= most


@pytest.mark.parametrize("fault_class", CLASSES)
def test_messages_in_order_have_keys_of_their_producer_and_are_delayed_where_the_class_says_so(
    fault_class: str,
) -> None:
    seen = set()
    for scenario in ordered(fault_class):
        load = scenario.load.operations or ()
        assert [one.id for one in load] == [str(one["id"]) for one in OPERATIONS]
        assert [one.delay_ms for one in load] == [n if fault_class == "delayed" else 0 for n in range(12)]
        assert {one.priority for one in load} == {0}
        assert all(str(one.key).startswith(f"{one.zone}-k") for one in load)
        seen |= {one.key for one in load}
    assert seen == {f"{zone}-k{number}" for zone in ZONES for number in range(4)}


@pytest.mark.parametrize("fault_class", CLASSES)
def test_a_quarter_of_the_seeds_has_a_few_messages_whose_first_attempts_fail(fault_class: str) -> None:
    fails = [[one.fails for one in scenario.load.operations or () if one.fails] for scenario in ordered(fault_class)]
    assert 0.15 < share(fails) < 0.35
    assert {len(some) for some in fails} == {0, 1, 2, 3}
    within((number for some in fails for number in some), 1, 12)


@pytest.mark.parametrize("fault_class", CLASSES)
def test_the_queue_has_a_margin_for_twice_the_error_of_a_clock(fault_class: str) -> None:
    wrong = 3 if fault_class == "clocks-wrong" else 1
    for scenario in ordered(fault_class):
        queue: Any = scenario.queue
        assert (queue.margin_ms, queue.partitions, queue.reconsumed_max) == (2 * wrong * CLOCK_MS + 2, 3, 16)
        assert queue.factor == Times().lease // LEASE_MS
        groups = (("second",), 3) if fault_class == "grouped" else ((), small(queue={"engine": "fifo"}).queue.kept)  # type: ignore[attr-defined]
        assert (tuple(queue.more_groups), queue.kept) == groups
        assert [fault.offset_ms for fault in of_kind(scenario, ClockFault)] == [wrong * 5]
    assert {scenario.consumers.batch for scenario in ordered(fault_class)} == {1, 3}
    few = share(scenario.consumers.batch == 3 for scenario in ordered(fault_class))
    assert 0.2 < few < 0.48


@pytest.mark.parametrize(("fault_class", "often"), [*dict.fromkeys(CLASSES, 0.0).items()])
def test_the_number_of_partitions_changes_as_often_as_the_class_says(fault_class: str, often: float) -> None:
    often = {"resized": 1.0, "delayed": 0.25, "grouped": 0.25}.get(fault_class, often)
    scenarios = ordered(fault_class)
    changed = [scenario.queue.resizes for scenario in scenarios]  # type: ignore[attr-defined]
    assert abs(share(changed) - often) < (0.1 if 0 < often < 1 else 1e-9)
    killed = [of_kind(scenario, ServiceCrash) for scenario in scenarios]
    for resizes, crashes in zip(changed, killed, strict=True):
        counts = [resize.to for resize in resizes]
        assert set(counts) <= {1, 2, 4, 5}
        assert len(set(counts)) == len(counts) <= 2
        assert [resize.at_s for resize in resizes] == sorted(resize.at_s for resize in resizes)
        for crash in crashes:
            assert (crash.zone, crash.service) == ("a", "resize")
            assert 0 <= crash.at_s - resizes[0].at_s <= 0.201
            assert 0.05 <= crash.for_s <= 0.3
    if often:
        assert 0.35 < sum(map(bool, killed)) / sum(map(bool, changed)) < 0.65
        within((resize.at_s for resizes in changed for resize in resizes), 0.075, 1.2)
        assert {resize.to for resizes in changed for resize in resizes} == {1, 2, 4, 5}
        assert {len(resizes) for resizes in changed if resizes} == {1, 2}
    else:
        assert not any(killed)


@pytest.mark.parametrize("fault_class", CLASSES)
def test_consumers_stand_still_in_half_of_the_seeds_of_some_classes(fault_class: str) -> None:
    pauses = [of_kind(scenario, ProgramPause) for scenario in ordered(fault_class)]
    if fault_class not in PAUSING:
        assert share(pauses) == (1.0 if fault_class == "clocks-wrong" else 0.0)
        return
    assert 0.35 < share(pauses) < 0.65
    every = [pause for some in pauses for pause in some]
    assert {len(some) for some in pauses} <= {0, 1, 2, 3}
    assert all(len({(pause.zone, pause.consumer) for pause in some}) == len(some) for some in pauses)
    within((pause.for_s for pause in every), 0.5 * LEASE_MS / 1e3, 3.5 * LEASE_MS / 1e3)
    assert all(0.05 <= pause.at_s <= LOAD_S - 0.05 - pause.for_s + 0.001 for pause in every)
    assert {pause.at_command for pause in every} == {None, *range(1, 11)}
    assert {pause.point for pause in every} == {"before-effect", "after-effect"}
    assert {(pause.zone, pause.consumer) for pause in every} == {(zone, number) for zone in ZONES for number in (0, 1)}
    crashed = [pause for pause in every if (pause.zone, pause.consumer) == ("a", 0)]
    assert crashed, "before its crash or after it"
    assert all(pause.at_s + pause.for_s < 0.6 or pause.at_s > 0.9 for pause in crashed)


def test_where_clocks_are_wrong_an_owner_stands_still_beyond_its_lease_and_all_others_miss_it() -> None:
    for scenario in ordered("clocks-wrong"):
        (pause,) = of_kind(scenario, ProgramPause)
        assert (pause.zone, pause.consumer, pause.at_command) == ("a", 1, None)
        hidden = of_kind(scenario, MemberHidden)
        assert {(one.zone, one.consumer) for one in hidden} == {("a", 0), *((z, n) for z in "bc" for n in (0, 1))}
        assert {(one.hidden, one.at_s, one.for_s) for one in hidden} == {("a-1", pause.at_s, pause.for_s)}
    pauses = [of_kind(scenario, ProgramPause)[0] for scenario in ordered("clocks-wrong")]
    within((pause.for_s for pause in pauses), 1.25 * LEASE_MS / 1e3, 1.75 * LEASE_MS / 1e3)
    within((pause.at_s for pause in pauses), 0.1, LOAD_S - 0.3)


def test_a_zone_that_missed_something_one_that_loses_it_and_one_cut_off_are_three_one_after_the_other() -> None:
    seen = set()
    draws = [loss_and_takeover(Random(seed), zones=ZONES) for seed in SEEDS]
    for missed, lost, away in draws:
        assert isinstance(missed, CutFault)
        assert isinstance(away, CutFault)
        assert isinstance(lost, Wipe | Kill)
        assert {missed.isolate, lost.zone, away.isolate} == set(ZONES)
        assert isinstance(lost, Wipe) or lost.restart == "warm"
        mended_s = round(missed.at_s + missed.for_s, 3)
        assert 0.01 <= round(mended_s - lost.at_s, 3) <= 0.06
        assert 0.001 <= round(away.at_s - mended_s, 3) <= 0.02
        seen.add((missed.isolate, lost.zone, type(lost)))
        seen |= {("missed", missed.mode), ("away", away.mode)}
    assert len(seen) == 12 + 2 * len(CutMode)
    first, lost_, away_ = zip(*draws, strict=True)
    within((one.at_s for one in first), 0.05, 0.15)
    within((one.for_s for one in first), 0.1, 0.25)
    within((one.for_s for one in lost_), 0.02, 0.07)
    within((one.for_s for one in away_), 0.35, 0.5)


@cache
def swarm(**changes: Any) -> tuple[Scenario, ...]:
    base = small(faults=[CRASH_IN_TIME, KILL], load={"duration_s": 20}, consumers={"per_zone": 3, "batch": 4})
    return tuple(drawn(base, seed=seed, messages=30) for seed in SEEDS[:60])


KILL = {"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.3}
CRASH_IN_TIME = {**CRASH, "for_s": 0.3}


def faults_of(scenarios: Iterable[Scenario]) -> Iterator[Any]:
    return (fault for scenario in scenarios for fault in scenario.faults)


def test_a_swarm_draws_loads_consumers_links_and_ties_within_those_of_its_scenario() -> None:
    scenarios = swarm()
    assert {scenario.load.duration_s for scenario in scenarios} == {0.667}, "30 messages at 15 a second in three zones"
    counts = [len(scenario.load.operations or ()) for scenario in scenarios]
    assert 26 < sum(counts) / len(counts) < 34
    assert {scenario.consumers.per_zone for scenario in scenarios} == {1, 2, 3}
    assert {scenario.consumers.batch for scenario in scenarios} == {1, 2, 3, 4}
    assert {scenario.links.lag for scenario in scenarios} == {"lognormal:1ms:5ms", *LAGS}
    assert {scenario.simulation.tie_break for scenario in scenarios} == set(TieBreak)
    slow = [scenario.consumers.processing != "exponential:3ms" for scenario in scenarios]
    assert 0.2 < sum(slow) / len(slow) < 0.47
    assert {scenario.consumers.processing for scenario in scenarios} == {
        "exponential:3ms",
        "0.95*constant:1ms + 0.05*constant:480ms",
    }
    assert all(scenario.seed == seed for scenario, seed in zip(scenarios, SEEDS[:60], strict=True))
    for scenario in scenarios:
        programs = 3 * scenario.consumers.per_zone
        slow_ones = 0.05 * len(scenario.load.operations or ()) / programs
        assert scenario.drain.bound_s == pytest.approx(5 + 0.48 * (2 + 4 * slow_ones), abs=1e-3)


def test_a_swarm_draws_faults_of_the_kinds_of_its_scenario_and_leaves_some_out() -> None:
    scenarios = swarm()
    kinds = [{fault.kind for fault in scenario.faults} for scenario in scenarios]
    assert {frozenset(some) for some in kinds} == {
        frozenset(some) for some in ((), ("kill",), ("consumer_crash",), ("kill", "consumer_crash"))
    }
    assert max(len(scenario.faults) for scenario in scenarios) == 4
    faults = list(faults_of(scenarios))
    within((fault.for_s for fault in faults), 0.4 / 32, 0.4)
    assert all(0 <= fault.at_s <= 0.667 - fault.for_s for fault in faults)
    assert {fault.zone for fault in faults} == set(ZONES)
    assert {fault.consumer for fault in faults if isinstance(fault, ConsumerCrash)} == {0, 1, 2}
