"""Goal: queues on redis-py are hunted in simulation. Method: sound ones pass, a planted bug in each is found."""

import pytest
from support.own_queues.on_redis_py import HERE

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.hunt.seeds import HuntTarget, hunt_seed

RUNS = 10


@pytest.mark.parametrize(
    ("queue", "guilty_of"),
    [
        ("MultiQueueUnderTest", set()),
        ("WatchesNothingUnderTest", {MessageClass.CONCURRENT}),
        ("MovedListQueueUnderTest", set()),
        ("PopsOnlyUnderTest", {MessageClass.ABANDONED}),
    ],
)
def test_a_queue_on_redis_py_is_judged(queue: str, guilty_of: set[MessageClass]) -> None:
    words = ["topology.zones=[a]", "arm=sim", "load.delay=constant:0ms", f"queue.factory={HERE}:{queue}"]
    target = HuntTarget(scenario=load_scenario("consumer-crash", overrides=words, draws_faults=True), messages=40)
    findings = [hunt_seed(target, seed) for seed in range(1, RUNS + 1)]
    assert [finding.problem for finding in findings] == [None] * RUNS
    assert {name for finding in findings for name in finding.violated} == guilty_of
