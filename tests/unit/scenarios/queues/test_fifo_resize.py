"""Goal: a scenario that resizes keeps the order of its keys with a barrier and loses it with two numbers.

Method: the shipped scenario in simulation, in memory.
"""

import pytest
from support.scenarios.sim_runs import run_in_memory

from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.runs.order import ORDER
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run_files.tables import rows
from zonelab.scenarios.spec.reading import load_scenario


def resized(*overrides):
    _, tables, verdict = run_in_memory(load_scenario("order-resize", overrides=["load.duration_s=9", *overrides]))
    told = [row for row in rows(tables, "order", ORDER.names) if row["kind"] == "resize"]
    return verdict, [(row["status"], row["partition"], row["epoch"]) for row in told], told


@pytest.mark.parametrize(("mode", "at_s"), [("rocketmq-5.3", 4.6), ("fenced", 5.5)])
def test_with_a_barrier_orders_keep_their_states_also_if_the_resizing_program_is_killed(mode, at_s):
    crash = f"faults=[{{kind: service_crash, service: resize, zone: a, at_s: {at_s}, for_s: 1}}]"
    verdict, told, _ = resized(f"queue.mode={mode}", crash)
    assert (verdict.valid, verdict.violated) == (True, ())
    assert verdict.order.of(Property.STRICT_ORDER) == verdict.order.of(Property.SINK) == "holds"
    assert told[-5:] == [("opened", f"orders/{number}@1", 1) for number in range(5)]
    assert {each[:2] for each in told if each[2] == 0} == {("sealed", "orders/0"), ("sealed", "orders/1")}


def test_two_numbers_break_it():
    verdict, told, _ = resized("queue.resizes[0].practice=numbers")
    assert {Property.STRICT_ORDER, Property.SINK} <= set(verdict.violated)
    assert told == [("opened", f"orders/{number}", 1) for number in range(5)]


@pytest.mark.parametrize("mode", ["rocketmq-5.3", "fenced"])
def test_a_resize_during_another_is_refused_and_recorded(mode):
    resizes = "queue.resizes=[{at_s: 2, to: 4}, {at_s: 2.1, to: 8}]"
    verdict, told, all_told = resized(f"queue.mode={mode}", resizes, "load.duration_s=5.5")
    assert verdict.valid is True
    (refused,) = [row for row in all_told if row["status"] == "refused"]
    assert refused["detail"].startswith("topic orders cannot be resized to 8 partitions: the resize to 4 is under way")
    assert ("opened", "orders/3@1", 1) in told


def test_without_the_barrier_the_same_resize_of_fenced_partitions_is_caught(monkeypatch):
    async def at_once(*_):
        return True

    monkeypatch.setattr("zonelab.engine.fifo.topics.followed.FollowedRoute.passed", at_once)
    verdict, _, _ = resized("queue.mode=fenced", "load.duration_s=6.5", "consumers.processing=exponential:60ms")
    assert Property.STRICT_ORDER in verdict.violated


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["queue.order=global"], "queue.resizes: got 1; accepted: 0 with queue.order global, which is one partition"),
        (["queue.resizes[0].to=0"], r"queue.resizes\[0\].to: got 0; accepted: greater than or equal to 1"),
        (["queue.resizes[0].practice=seal"], r"practice: got 'seal'; accepted: barrier, numbers"),
        (
            ["queue.mode=fenced", "queue.resizes[0].practice=numbers"],
            r"queue.resizes\[0\].practice: got 'numbers'; accepted: barrier with queue.mode fenced",
        ),
    ],
)
def test_resizes_that_cannot_be_are_refused_in_a_line(overrides, told):
    with pytest.raises(ScenarioError, match=told):
        load_scenario("order-resize", overrides=overrides)
