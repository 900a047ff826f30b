"""Rules of a scenario that concern ordered messages: what cannot be, and what only they can have."""

from collections.abc import Iterator

from scenarios.fields import Problem
from scenarios.spec.ordered.fifo_settings import FifoQueueSettings
from scenarios.spec.scenario import Scenario


def order_problems(scenario: Scenario) -> Iterator[Problem]:
    queue = scenario.queue
    if queue.factory is not None:
        return
    if isinstance(queue, FifoQueueSettings):
        yield from _times(queue)
    else:
        yield from _only_ordered(scenario)


def _times(queue: FifoQueueSettings) -> Iterator[Problem]:
    renewals = f"more than queue.renew_ms ({queue.renew_ms}), or it ends between two renewals"
    if queue.unack_ms <= queue.renew_ms:
        yield Problem.of("queue.unack_ms", queue.unack_ms, renewals)
    elif queue.client_lease_ms <= queue.renew_ms:
        yield Problem.of("queue.client_lease_ms", queue.client_lease_ms, renewals)


def _only_ordered(scenario: Scenario) -> Iterator[Problem]:
    accepted = f"null with queue.engine {scenario.queue.engine}, which keeps no order"
    for path, value in (("load.keys", scenario.load.keys), ("sink", scenario.sink)):
        if value is not None:
            yield Problem.of(path, value.model_dump(mode="json"), accepted)
