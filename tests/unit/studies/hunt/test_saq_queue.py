"""Goal: a library's whole worker is hunted in simulation. Method: SAQ as it is, and with a planted loss that is found.

SAQ 0.26.4 itself carries out jobs again that are finished (``resurrected``): docs/library-workers.md.
"""

import pytest

from zonelab.analysis.message_classes import MessageClass
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.hunt.seeds import HuntTarget, hunt_seed

pytest.importorskip("saq")
pytestmark = pytest.mark.filterwarnings("ignore:Call to deprecated:DeprecationWarning")

SEEDS = (7,)


@pytest.mark.parametrize(("queue", "guilty_of"), [("SaqUnderTest", set()), ("ForgetsWhatItTookUnderTest", {"stuck"})])
def test_jobs_of_a_worker_that_crashes_come_back_unless_it_forgets_them(queue, guilty_of):
    factory = f"queue.factory=support.own_queues.on_saq:{queue}"
    words = ["topology.zones=[a]", "arm=sim", "load.delay=constant:0ms", "drain.bound_s=30", factory]
    target = HuntTarget(scenario=load_scenario("consumer-crash", overrides=words, draws_faults=True), messages=100)
    findings = [hunt_seed(target, seed) for seed in SEEDS]
    assert [finding.problem for finding in findings] == [None] * len(SEEDS)
    found = {name for finding in findings for name in finding.violated}
    assert found & {MessageClass.LOST, MessageClass.ABANDONED, MessageClass.STUCK} == guilty_of
