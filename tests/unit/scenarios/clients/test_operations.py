"""Goal: a load told message by message is the load that was drawn, and a bad one is refused line by line.

Method: plans of a drawn and a told load are compared whole; documents are changed in one place per case.
"""

import pytest
import yaml
from support.scenarios.sim_runs import small

from cluster.random_streams import Streams
from scenarios.errors import ScenarioError
from scenarios.spec.push_plan import explicit_operations, plan_pushes
from scenarios.spec.reading import dump_scenario, scenario_of
from scenarios.spec.scenario import Load, Operation

OPERATION = {"at_ms": 10, "zone": "a", "id": "one"}


@pytest.mark.parametrize("batch", [1, 3])
def test_a_told_load_pushes_what_the_drawn_one_would(batch: int) -> None:
    drawn = Load(duration_s=2, rate_per_s=20, delay="uniform:1ms:2s", batch=batch, priority={"max": 9})
    operations = explicit_operations(drawn, zones="abc", random=Streams(5).stream)
    told = Load(duration_s=2, operations=operations)
    for zone in "abc":
        plan = list(plan_pushes(drawn, zone=zone, random=Streams(5).stream))
        assert list(plan_pushes(told, zone=zone, random=Streams(6).stream)) == plan
        assert len(plan) > 5
    assert [operation.at_ms for operation in operations] == sorted(operation.at_ms for operation in operations)


def test_operations_of_one_zone_and_time_are_pushed_together() -> None:
    operations = [
        Operation(at_ms=at, zone=zone, id=name) for at, zone, name in [(5, "a", "x"), (5, "b", "y"), (5, "a", "z")]
    ]
    (push,) = plan_pushes(Load(duration_s=1, operations=operations), zone="a", random=Streams(1).stream)
    assert (push.offset_ns, [message.id for message in push.messages]) == (5_000_000, ["x", "z"])


def test_a_told_scenario_prints_to_a_file_that_reads_back_equal() -> None:
    scenario = small(load={"rate_per_s": 0, "operations": [OPERATION]})
    assert scenario_of(yaml.safe_load(dump_scenario(scenario)), source="again.yaml") == scenario


REFUSED = {
    "rate beside operations": (
        {"rate_per_s": 5, "operations": [OPERATION]},
        "load.rate_per_s: got 5.0; accepted: nothing beside load.operations",
    ),
    "a zone that is not there": (
        {"rate_per_s": 0, "operations": [{**OPERATION, "zone": "z"}]},
        "load.operations[0].zone: got 'z'; accepted: a zone of the topology (a, b, c)",
    ),
    "after the end": (
        {"rate_per_s": 0, "operations": [{**OPERATION, "at_ms": 1000}]},
        "load.operations[0].at_ms: got 1000.0; accepted: less than load.duration_s (1 s)",
    ),
    "an id twice": (
        {"rate_per_s": 0, "operations": [OPERATION, OPERATION]},
        "load.operations[1].id: got 'one'; accepted: an id other than that of operations[0]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_load_without_meaning_is_refused(case: str) -> None:
    load, line = REFUSED[case]
    with pytest.raises(ScenarioError) as refused:
        small(load=load)
    assert refused.value.lines == (f"small.yaml: {line}",)


def test_a_load_says_its_rate_or_its_operations() -> None:
    with pytest.raises(ScenarioError, match=r"load\.rate_per_s: missing"):
        scenario_of({"name": "none", "load": {"duration_s": 1}}, source="none.yaml")
