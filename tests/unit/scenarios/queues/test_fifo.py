"""Goal: a run with ordered messages is recorded, judged and read again, and a program's death shows in its order.

Method: short simulated runs of the shipped scenario, in memory and from a directory.
"""

import pytest
from support.scenarios.sim_runs import run_in_memory

from zonelab.analysis.checkers.order.properties import Property
from zonelab.scenarios.spec.reading import load_scenario

SHORT = ("load.duration_s=4", "load.rate_per_s=15", "consumers.processing=exponential:15ms")
CRASH = "faults=[{kind: consumer_crash, zone: b, at_s: 2, for_s: 0.5}]"


@pytest.mark.parametrize("mode", ["rocketmq-4.9", "rocketmq-5.3"])
def test_without_a_fault_every_order_goes_through_its_states_once(mode):
    _, _, verdict = run_in_memory(load_scenario("order-states", overrides=[*SHORT, "faults=[]", f"queue.mode={mode}"]))
    assert verdict.valid is True
    assert verdict.totals.acked == verdict.totals.pushed > 100
    assert verdict.order.of(Property.SINK) == verdict.order.of(Property.STRICT_ORDER) == "holds"
    assert verdict.order.of(Property.RETRIES) == "not exercised"


def test_what_a_dead_consumer_had_not_committed_reaches_a_naive_sink_twice_and_a_fenced_one_once():
    naive, fenced = (
        run_in_memory(load_scenario("order-states", overrides=[*SHORT, CRASH, f"sink.fenced={told}"]))[2]
        for told in ("false", "true")
    )
    assert naive.valid is False
    assert Property.SINK in naive.violated
    assert naive.cases["I14"][0].message_id[1] == "-"  # PRODUCER-NUMBER, as the load names messages
    assert fenced.valid is True
