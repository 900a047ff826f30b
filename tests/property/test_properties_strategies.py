"""Goal: whatever the strategies draw is a scenario that can be run as it is. Method: Hypothesis, rules, simulation."""

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from support.scenarios.sim_runs import run_in_memory

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.spec.reading import dump_scenario, scenario_of
from zonelab.scenarios.spec.rules import problems
from zonelab.studies.properties import fault_schedules, lags, levels, scenarios, topologies, workloads
from zonelab.studies.properties.strategies import FAULT_KINDS, LAG_KINDS

FIXED = settings(derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
ANY = settings(FIXED, phases=[Phase.generate])  # not the smallest
RUNS = settings(FIXED, max_examples=15, phases=[Phase.generate])


@FIXED
@given(scenario=scenarios())
def test_a_drawn_scenario_obeys_every_rule_and_reads_back_equal(scenario):
    assert problems(scenario) == []
    document = scenario.model_dump(mode="json", exclude_none=True)
    assert scenario_of(document, source="drawn") == scenario
    assert "faults" in dump_scenario(scenario)


@RUNS
@given(scenario=scenarios(kinds=(), max_messages=10))
def test_without_faults_a_drawn_scenario_runs_and_is_valid(scenario):
    _, _, verdict = run_in_memory(scenario)
    assert scenario.faults == ()
    assert verdict.valid is True
    assert verdict.totals.pushed == len(scenario.load.operations)


@RUNS
@given(scenario=scenarios(max_messages=10))
def test_with_faults_a_drawn_scenario_runs_to_its_end(scenario):
    done, _, _ = run_in_memory(scenario)
    assert done.record.error is None
    assert done.record.status == "complete"


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_every_kind_of_fault_is_drawn_and_no_other_if_it_is_asked_for(kind):
    drawn = fault_schedules(kinds=(kind,))
    assert {fault.kind for fault in find(drawn, lambda faults: len(faults) > 1, settings=ANY)} == {kind}


def test_two_faults_may_be_in_force_at_a_time():
    def overlap(faults):
        return any(one is not two and one.at_s <= two.at_s < one.at_s + one.for_s for one in faults for two in faults)

    assert find(fault_schedules(), overlap, settings=ANY)


def test_one_zone_has_no_faults_of_links():
    drawn = fault_schedules(("a",), kinds=("cut", "lag", "loss", "duplicate", "clog", "swizzle_clog"))
    assert find(drawn, lambda faults: True, settings=FIXED) == ()


@FIXED
@given(data=st.data(), kind=st.sampled_from(LAG_KINDS))
def test_a_lag_can_be_parsed_and_is_of_the_kind_that_was_asked_for(data, kind):
    text = data.draw(lags((kind,)))
    assert parse_lag(text).zero is (kind == "zero")
    assert text.startswith({"zero": "0", "constant": "constant:", "lognormal": "lognormal:", "heavy": "pareto:"}[kind])


@FIXED
@given(load=workloads(("a", "b"), duration_ms=500, max_messages=8))
def test_a_workload_names_its_messages_and_keeps_to_its_time(load):
    assert [operation.id for operation in load.operations] == [f"m{n}" for n in range(len(load.operations))]
    assert all(0 <= operation.at_ms < 500 and operation.zone in ("a", "b") for operation in load.operations)


@FIXED
@given(topology=topologies(min_zones=2), level=levels())
def test_topologies_have_so_many_zones(topology, level):
    assert topology.zones in (("a", "b"), ("a", "b", "c"))
    assert level in tuple(Level)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: topologies(min_zones=0), "min_zones=0"),
        (lambda: topologies(max_zones=4), "max_zones=4"),
        (lambda: lags(("slow",)), "'slow'"),
        (lambda: find(fault_schedules(kinds=("flood",)), lambda _: True, settings=FIXED), "'flood'"),
    ],
)
def test_what_no_cluster_can_have_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
