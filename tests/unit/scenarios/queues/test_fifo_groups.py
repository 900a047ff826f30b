"""Goal: several groups, broadcasting and commits by hand can be named in a scenario. Method: short simulated runs."""

from collections import Counter

import pytest
from support.scenarios.sim_runs import run_in_memory

from zonelab.analysis.runs.order import ORDER
from zonelab.engine.fifo.fenced.final import waiting
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.run_files.tables import rows
from zonelab.scenarios.spec.reading import load_scenario

SHORT = ("load.duration_s=3", "load.rate_per_s=15", "faults=[]", "sink=null")


def served(*overrides):
    """The verdict, messages that each group finished, and what was told of the credit."""
    _, tables, verdict = run_in_memory(load_scenario("order-states", overrides=[*SHORT, *overrides]))
    told = list(rows(tables, "order", ORDER.names))
    ends = Counter(row["group"] for row in told if row["kind"] == "end")
    return verdict, ends, {row["detail"] for row in told if row["status"] == "credit"}


@pytest.mark.parametrize(
    ("overrides", "groups"),
    [
        (("queue.more_groups=[bills]", "consumers.per_zone=2"), ["bills", "group"]),
        (("queue.mode=fenced", "queue.more_groups=[bills]", "consumers.per_zone=2"), ["bills", "group"]),
        (("queue.mode=fenced", "queue.sharing=broadcasting"), [f"group/consumer-{zone}-0" for zone in "abc"]),
        (("queue.sharing=broadcasting",), [f"group/consumer-{zone}-0" for zone in "abc"]),
    ],
)
def test_each_group_finishes_everything_and_one_acknowledges(overrides, groups):
    verdict, ends, _ = served(*overrides)
    assert verdict.valid is True
    assert verdict.totals.acked == verdict.totals.pushed > 90
    assert sorted(ends) == groups
    assert set(ends.values()) == {verdict.totals.pushed}


def test_a_resize_waits_for_every_group_of_fenced_partitions():
    overrides = ["load.duration_s=9", "queue.mode=fenced", "queue.more_groups=[bills]", "consumers.per_zone=2"]
    _, tables, verdict = run_in_memory(load_scenario("order-resize", overrides=overrides))
    assert (verdict.valid, verdict.violated) == (True, ())
    told = list(rows(tables, "order", ORDER.names))
    opened = {row["partition"] for row in told if row["kind"] == "resize" and row["status"] == "opened"}
    for group in ("group", "bills"):
        assert {row["partition"] for row in told if row["kind"] == "end" and row["group"] == group} >= opened


def test_a_depth_that_counts_one_group_ends_the_drain_before_the_other_has_everything(monkeypatch):
    """The members of the other stand still until the load has ended."""
    still = ", ".join(f"{{kind: program_pause, zone: {zone}, consumer: 1, at_s: 1, for_s: 2}}" for zone in "abc")
    overrides = ("queue.mode=fenced", "queue.more_groups=[bills]", "consumers.per_zone=2", f"faults=[{still}]")
    verdict, ends, _ = served(*overrides)
    assert verdict.valid is True
    assert ends["bills"] >= verdict.totals.pushed

    async def of_one(zones, keys, partition, groups, **more):
        return await waiting(zones, keys, partition, groups[:1], **more)

    monkeypatch.setattr("zonelab.scenarios.queues.ordered.fifo_fenced.waiting", of_one)
    verdict, ends, _ = served(*overrides)
    assert ends["bills"] < verdict.totals.pushed


def test_a_unit_of_work_beyond_the_credit_stands_still_and_is_explained():
    verdict, _, told = served("queue.commit_every=60", "queue.credit=10", "drain.bound_s=5")
    assert verdict.valid is False
    assert told == {"11 messages are not committed, credit 10"}
    assert {str(one.cause) for one in verdict.order.blocked} == {"credit"}


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (
            ["queue.more_groups=[group]"],
            r"more_groups: got \['group'\]; accepted: names that differ, also from group",
        ),
        (["queue.more_groups=[bills]"], "consumers.per_zone: got 1; accepted: a multiple of 2, the number of groups"),
        (["queue.lease_clock=observation"], "got 'observation'; accepted: margin with queue.mode rocketmq-5.3"),
        (
            [
                *("queue={engine: gmq}", "sink=null", "load.keys=null", "load.rate_per_s=0"),
                "load.operations=[{at_ms: 1, zone: a, id: m, fails: 2}]",
            ],
            "load.operations: fails of m: got 2; accepted: 0 with queue.engine gmq",
        ),
    ],
)
def test_groups_that_cannot_be_are_refused_in_a_line(overrides, told):
    with pytest.raises(ScenarioError, match=told):
        load_scenario("order-states", overrides=overrides)
