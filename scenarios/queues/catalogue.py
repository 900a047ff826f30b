"""The queues that a scenario can name."""

from collections.abc import Callable, Mapping

from cluster.testbed import Testbed
from scenarios.queues.dyno import DynoUnderTest, PipelinedUnderTest
from scenarios.queues.hardened import HardenedUnderTest
from scenarios.queues.under_test import QueueUnderTest
from scenarios.spec.queue_factory import load_factory
from scenarios.spec.scenario import Mode, Scenario

MakeQueue = Callable[[Testbed, Scenario], QueueUnderTest]

UNDER_TEST: Mapping[str, MakeQueue] = {
    "dyno": DynoUnderTest,
    "dyno-v2": PipelinedUnderTest,
}


def queue_under_test(testbed: Testbed, scenario: Scenario) -> QueueUnderTest:
    """The queue that ``scenario.queue`` names."""
    if scenario.queue.factory is not None:
        own: QueueUnderTest = load_factory(scenario.queue.factory)(testbed, scenario)
        return own
    if scenario.queue.mode is Mode.HARDENED:
        return HardenedUnderTest(testbed, scenario)
    return UNDER_TEST[scenario.queue.engine](testbed, scenario)
