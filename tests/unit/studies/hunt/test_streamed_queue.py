"""Goal: a queue on a stream is hunted in simulation. Method: a sound one passes, and one with a planted bug is found.

By hand, 28 November 2026: 1,000 runs of the sound one passed, and 81 of 100 of the other one failed (`zonelab hunt
consumer-crash --queue support.own_queues.streamed:StreamQueueUnderTest --set 'topology.zones=[a]' --set
load.delay=constant:0ms --runs 1000`).
"""

import pytest
from support.own_queues.streamed import HERE

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.hunt.seeds import HuntTarget, hunt_seed

RUNS = 15


@pytest.mark.parametrize(
    ("queue", "guilty_of"),
    [("StreamQueueUnderTest", set()), ("ClaimsTooEarlyUnderTest", {MessageClass.CONCURRENT})],
)
def test_a_queue_on_a_stream_is_judged(queue: str, guilty_of: set[MessageClass]) -> None:
    words = ["topology.zones=[a]", "arm=sim", "load.delay=constant:0ms", f"queue.factory={HERE}:{queue}"]
    target = HuntTarget(scenario=load_scenario("consumer-crash", overrides=words, draws_faults=True), messages=40)
    findings = [hunt_seed(target, seed) for seed in range(1, RUNS + 1)]
    assert {name for finding in findings for name in finding.violated} == guilty_of
