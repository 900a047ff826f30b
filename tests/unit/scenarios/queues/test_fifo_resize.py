"""Goal: a scenario that resizes keeps the order of its keys with a barrier and loses it with two numbers.

Method: the shipped scenario in simulation, in memory.
"""

import pytest
from support.scenarios.sim_runs import run_in_memory

from analysis.checkers.order.properties import Property
from analysis.runs.order import ORDER
from scenarios.errors import ScenarioError
from scenarios.run_files.tables import rows
from scenarios.spec.reading import load_scenario


def resized(*overrides):
    _, tables, verdict = run_in_memory(load_scenario("order-resize", overrides=["load.duration_s=9", *overrides]))
    told = [row for row in rows(tables, "order", ORDER.names) if row["kind"] == "resize"]
    return verdict, [(row["status"], row["partition"], row["epoch"]) for row in told], told


def test_with_a_barrier_orders_keep_their_states_also_if_the_resizing_program_is_killed():
    verdict, told, _ = resized("faults=[{kind: service_crash, service: resize, zone: a, at_s: 4.6, for_s: 1}]")
    assert (verdict.valid, verdict.violated) == (True, ())
    assert verdict.order.of(Property.STRICT_ORDER) == verdict.order.of(Property.SINK) == "holds"
    assert told[-5:] == [("opened", f"orders/{number}@1", 1) for number in range(5)]
    assert {each[:2] for each in told if each[2] == 0} == {("sealed", "orders/0"), ("sealed", "orders/1")}


def test_two_numbers_break_it():
    verdict, told, _ = resized("queue.resizes[0].practice=numbers")
    assert {Property.STRICT_ORDER, Property.SINK} <= set(verdict.violated)
    assert told == [("opened", f"orders/{number}", 1) for number in range(5)]


def test_a_resize_during_another_is_refused_and_recorded():
    verdict, told, all_told = resized("queue.resizes=[{at_s: 3, to: 4}, {at_s: 3.1, to: 8}]")
    assert verdict.valid is True
    (refused,) = [row for row in all_told if row["status"] == "refused"]
    assert refused["detail"].startswith("topic orders cannot be resized to 8 partitions: the resize to 4 is under way")
    assert ("opened", "orders/3@1", 1) in told


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["queue.order=global"], "queue.resizes: got 1; accepted: 0 with queue.order global, which is one partition"),
        (["queue.resizes[0].to=0"], r"queue.resizes\[0\].to: got 0; accepted: greater than or equal to 1"),
        (["queue.resizes[0].practice=seal"], r"practice: got 'seal'; accepted: barrier, numbers"),
    ],
)
def test_resizes_that_cannot_be_are_refused_in_a_line(overrides, told):
    with pytest.raises(ScenarioError, match=told):
        load_scenario("order-resize", overrides=overrides)
