"""Goal: the matrix takes every engine, with its modes, its background programs and its unit of time."""

from itertools import product

import pytest

from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.fault_draws.fault_classes import LEASE_MS, EngineMode, FaultClass, classes_of, scenario_of_class
from zonelab.scenarios.fault_draws.swarm import drawn
from zonelab.scenarios.faults.programs import ServiceCrash
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.rules import problems
from zonelab.studies.guarantees.matrix import cells_of

SLOW = 1_000 // LEASE_MS
GMQ_MODES = tuple(map(EngineMode, ENGINES["gmq"].modes))


def scenario(engine, fault_class, *, mode=EngineMode.DEFAULT, seed=1):
    return scenario_of_class(fault_class, level=Level.DC_QUORUM, mode=mode, seed=seed, engine=engine)


def crashes(one):
    return [fault for fault in one.faults if isinstance(fault, ServiceCrash)]


@pytest.mark.parametrize("engine", ENGINES)
def test_scenarios_of_every_engine_break_no_rule(engine):
    cells = {(cell.fault_class, cell.mode): cell for cell in cells_of(engine)}
    assert {mode for _, mode in cells} == set(ENGINES[engine].modes)
    assert [problem for cell in cells.values() for seed in (1, 2) for problem in problems(cell.scenario(seed))] == []


def test_only_engines_with_background_programs_have_them_crash():
    assert [name for name in ENGINES if FaultClass.SERVICE_CRASH in classes_of(name)] == ["gmq", "youzan"]
    for mode, fault_class in product(GMQ_MODES, (FaultClass.SERVICE_CRASH, FaultClass.ANY_OF_ONE_ZONE)):
        drawn_at = [crashes(scenario("gmq", fault_class, mode=mode, seed=seed)) for seed in range(1, 51)]
        hit = {(one.service, one.zone) for found in drawn_at for one in found}
        assert hit == {("dispatcher", zone) for zone in ("abc" if mode is EngineMode.HARDENED else "a")}
        assert {one.how for found in drawn_at for one in found} == {"kill", "stop"}
    assert crashes(scenario("dyno", FaultClass.ANY_OF_ONE_ZONE)) == []


@pytest.mark.parametrize("fault_class", [FaultClass.ZONE_WIPED, FaultClass.CUT_HOLD, FaultClass.ZONE_PAUSED])
def test_an_engine_that_counts_in_seconds_gets_the_same_draws_and_more_time(fault_class):
    fast, slow = scenario("dyno", fault_class), scenario("gmq", fault_class)
    assert slow.queue.unack_ms == 1_000 == SLOW * fast.queue.unack_ms
    assert [one.delay_ms for one in slow.load.operations] == [SLOW * one.delay_ms for one in fast.load.operations]
    assert [one.at_s for one in slow.faults] == pytest.approx([SLOW * one.at_s for one in fast.faults])
    longer = 1 if fault_class is FaultClass.ZONE_PAUSED else SLOW
    assert [one.for_s for one in slow.faults] == pytest.approx([longer * one.for_s for one in fast.faults])
    assert scenario("gmq", fault_class, mode=EngineMode.HARDENED).load == fast.load


@pytest.mark.parametrize("seed", [1, 2])
def test_where_one_zone_fails_and_any_dispatcher_dies_hardened_gmq_loses_nothing_and_gmq_does(seed):
    found = {mode: attempt(scenario("gmq", FaultClass.ANY_OF_ONE_ZONE, mode=mode, seed=seed)) for mode in GMQ_MODES}
    assert found[EngineMode.HARDENED].violated == ()
    assert "lost" in found[EngineMode.COMPAT].violated


def test_a_hunt_of_what_crashes_consumers_crashes_services_too():
    base = load_scenario("every-fault", overrides=["queue.engine=gmq"])
    assert any(crashes(drawn(base, seed=seed, messages=20)) for seed in range(1, 31))
    quiet = load_scenario("zone-crash", overrides=["queue.engine=gmq"])
    assert not any(crashes(drawn(quiet, seed=seed, messages=20)) for seed in range(1, 31))
