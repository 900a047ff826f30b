"""Rules of a scenario that concern ordered messages: what cannot be, and what only they can have."""

from collections.abc import Iterator

from zonelab.cluster.fields import Problem
from zonelab.engine.fifo.settings import LeaseClock, Order
from zonelab.scenarios.spec.ordered.fifo_settings import FifoQueueSettings
from zonelab.scenarios.spec.ordered.resizes import Practice
from zonelab.scenarios.spec.scenario import Scenario


def order_problems(scenario: Scenario) -> Iterator[Problem]:
    queue = scenario.queue
    if queue.factory is not None:
        return
    if isinstance(queue, FifoQueueSettings):
        yield from _times(queue)
        if queue.fenced:
            yield from _not_fenced(queue)
        elif queue.lease_clock is not LeaseClock.MARGIN:
            yield Problem.of("queue.lease_clock", str(queue.lease_clock), f"margin with queue.mode {queue.mode}")
        if queue.resizes and queue.order is Order.GLOBAL:
            yield Problem.of("queue.resizes", len(queue.resizes), "0 with queue.order global, which is one partition")
        yield from _groups(scenario, queue)
    else:
        yield from _only_ordered(scenario)


def _times(queue: FifoQueueSettings) -> Iterator[Problem]:
    renewals = f"more than queue.renew_ms ({queue.renew_ms}), or it ends between two renewals"
    if queue.unack_ms <= queue.renew_ms:
        yield Problem.of("queue.unack_ms", queue.unack_ms, renewals)
    elif queue.client_lease_ms <= queue.renew_ms:
        yield Problem.of("queue.client_lease_ms", queue.client_lease_ms, renewals)


def _not_fenced(queue: FifoQueueSettings) -> Iterator[Problem]:
    for number, resize in enumerate(queue.resizes):
        if resize.practice is not Practice.BARRIER:
            where, given = f"queue.resizes[{number}].practice", str(resize.practice)
            yield Problem.of(where, given, "barrier with queue.mode fenced")


def _groups(scenario: Scenario, queue: FifoQueueSettings) -> Iterator[Problem]:
    if len(set(queue.groups)) < len(queue.groups):
        yield Problem.of("queue.more_groups", list(queue.more_groups), f"names that differ, also from {queue.group}")
    per_zone, count = scenario.consumers.per_zone, len(queue.groups)
    if count > 1 and per_zone % count:
        accepted = f"a multiple of {count}, the number of groups, to which consumers are dealt in turn"
        yield Problem.of("consumers.per_zone", per_zone, accepted)


def _only_ordered(scenario: Scenario) -> Iterator[Problem]:
    accepted = f"null with queue.engine {scenario.queue.engine}, which keeps no order"
    for path, value in (("load.keys", scenario.load.keys), ("sink", scenario.sink)):
        if value is not None:
            yield Problem.of(path, value.model_dump(mode="json"), accepted)
    for message_id, times in scenario.load.failing.items():
        yield Problem.of(
            f"load.operations: fails of {message_id}", times, f"0 with queue.engine {scenario.queue.engine}"
        )
