"""Which queue a scenario asks for."""

import pkgutil
from collections.abc import Callable

from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.queues.under_test import OF_A_RUN, QueueNames, QueueUnderTest
from zonelab.scenarios.spec.engines import shipped
from zonelab.scenarios.spec.queue_factory import load_factory
from zonelab.scenarios.spec.scenario import Scenario

MakeQueue = Callable[[Testbed, Scenario], QueueUnderTest]


def queue_under_test(testbed: Testbed, scenario: Scenario, naming: QueueNames = OF_A_RUN) -> QueueUnderTest:
    """Return the queue that ``scenario.queue`` names. One of the user's own has names of its own."""
    if scenario.queue.factory is not None:
        own: QueueUnderTest = load_factory(scenario.queue.factory)(testbed, scenario)
        return own
    made: QueueUnderTest = pkgutil.resolve_name(shipped(scenario.queue).make)(testbed, scenario, naming)
    return made
