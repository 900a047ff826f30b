"""Shrinking: a failing simulated run of a queue made as small as it can be while it still violates the same class."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.sim.schedule import TieBreak
from zonelab.cluster.wiring.settings import Links
from zonelab.cluster.zone import Persistence
from zonelab.scenarios.faults.programs import ClientCrash, ConsumerCrash, ProducerCrash, ServiceCrash
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.queue_settings import QueueMode, ShardedSettings, Sharding
from zonelab.scenarios.spec.scenario import PushOperation, Scenario
from zonelab.studies.shrink.search import (
    RUNS_MAX,
    NotFailing,
    OnSmaller,
    Reduction,
    Shrunk,
    changed,
    earlier,
    ignore,
    less_chance,
    lower_times,
    operations_of,
    plainer_faults,
    plainer_operations,
    plainer_values,
    with_load,
    with_operations,
)

_CRASH_COMMANDS = 32
_CRASH_S = 0.5
_LAGS = ("0", "constant:1ms", "constant:5ms")
_PROCESSING = "constant:1ms"
_EXTEND = (0.0, 1.0)
"""None, or all of them: others than those that are drawn, whenever a delivery has gone."""


def shrink(
    scenario: Scenario,
    violation: CaseClass,
    *,
    make_queue: MakeQueue = queue_under_test,
    runs_max: int = RUNS_MAX,
    on_smaller: OnSmaller = ignore,
) -> Shrunk:
    """Reduce ``scenario``, whose load lists every message. ``on_smaller`` is called with each smaller run that fails.

    Raises ``NotFailing``. The same arguments give the same result.
    """
    if scenario.load.operations is None:
        raise NotFailing("the load is drawn by a rate; accepted: load.operations, as in the files that a hunt writes")
    search: Reduction = Reduction(
        changed(scenario, found=None),
        violation,
        attempt=partial(attempt, make_queue=make_queue),
        runs_max=runs_max,
        on_smaller=on_smaller,
    )
    search.repeat(
        search.fewer_faults,
        lambda: search.settle(_plainer_settings),  # while there are many operations, any of which may show it
        lambda: search.settle(less_chance),
        lambda: _only_offenders(search),
        search.fewer_operations,
        lambda: search.settle(plainer_faults),
        lambda: search.settle(lambda one: plainer_operations(one, _operation_changes)),
        lambda: search.settle(partial(_lower_times, violation)),
    )
    return search.shrunk


def _lower_times(violation: CaseClass, scenario: Scenario) -> Iterator[Scenario]:
    """An orphan that hardened mode had no time to find is no violation of its promises: the load stays as long."""
    swept = violation is MessageClass.ORPHAN and scenario.queue.mode is QueueMode.HARDENED
    for candidate in lower_times(scenario):
        if not swept or candidate.load.duration_s == scenario.load.duration_s:
            yield candidate


def _only_offenders(search: Reduction) -> None:
    """Try the messages that the verdict names by themselves, with every crash point.

    Messages that merely push the crash to its command cannot be left out one by one.
    """
    verdict = search.best.verdict
    assert verdict is not None
    names = [offender.message_id for offender in verdict.cases[search.violation]]
    operations = operations_of(search.scenario)
    offending = tuple(operation for operation in operations if operation.id in names)
    for kept in (offending[:1], offending):
        if 0 < len(kept) < len(operations) and any(
            map(search.holds, _crash_points(with_operations(search.scenario, kept)))
        ):
            return


def _plainer_settings(scenario: Scenario) -> Iterator[Scenario]:
    consumers = scenario.consumers
    for per_zone in dict.fromkeys((1, consumers.per_zone // 2, consumers.per_zone - 1)):
        if 0 < per_zone < consumers.per_zone:
            yield changed(scenario, consumers=consumers.model_copy(update={"per_zone": per_zone}))
    for batch in dict.fromkeys((1, consumers.batch // 2)):
        if 0 < batch < consumers.batch:
            yield changed(scenario, consumers=consumers.model_copy(update={"batch": batch}))
    if consumers.processing != _PROCESSING:
        yield changed(scenario, consumers=consumers.model_copy(update={"processing": _PROCESSING}))
    for extend in plainer_values(consumers.extend, _EXTEND):
        yield changed(scenario, consumers=consumers.model_copy(update={"extend": extend}))
    for lag in plainer_values(scenario.links.lag, _LAGS):
        yield changed(scenario, links=Links(lag=lag))
    if scenario.links.overrides:
        yield changed(scenario, links=Links(lag=scenario.links.lag))
    if (local := _locally(scenario)) != scenario:
        yield local
    if scenario.simulation.tie_break is not TieBreak.FIFO:
        yield changed(scenario, simulation=scenario.simulation.model_copy(update={"tie_break": TieBreak.FIFO}))
    if scenario.persistence is not Persistence.NONE and not any(fault.of_files for fault in scenario.faults):
        yield changed(scenario, persistence=Persistence.NONE)
    for retries in range(min(2, scenario.load.retries)):
        yield with_load(scenario, retries=retries)
    if scenario.load.payload_bytes:
        yield with_load(scenario, payload_bytes=0)


def _crash_points(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario; then with each crash of a consumer, producer or service at each of its first commands.

    Last with the first message pushed at once in the zone of that program, and the commands counted from then on.
    """
    yield scenario
    for index, fault in enumerate(scenario.faults):
        if isinstance(fault, ClientCrash):
            yield from _crashing(scenario, index, fault)
            first = operations_of(scenario)[0]
            at_once = first.model_copy(update={"at_ms": 0.0, "delay_ms": 0, "zone": fault.zone})
            begun = fault.model_copy(update={"at_s": 0.0, "for_s": min(_CRASH_S, scenario.load.duration_s)})
            yield from _crashing(_locally(with_operations(scenario, (at_once,))), index, begun)


def _locally(scenario: Scenario) -> Scenario:
    """Messages go to the shard of their producer's zone, if the engine has shards."""
    if not isinstance(scenario.queue, ShardedSettings):
        return scenario
    return changed(scenario, queue=scenario.queue.model_copy(update={"sharding": Sharding.LOCAL_ONLY}))


def _crashing(
    scenario: Scenario, index: int, fault: ConsumerCrash | ProducerCrash | ServiceCrash
) -> Iterator[Scenario]:
    for at_command in range(1, _CRASH_COMMANDS + 1):
        crash = fault.model_copy(update={"at_command": at_command})
        yield changed(scenario, faults=(*scenario.faults[:index], crash, *scenario.faults[index + 1 :]))


def _operation_changes(operation: PushOperation) -> Iterator[dict[str, Any]]:
    if operation.poison:
        yield {"poison": False}
    for fails in dict.fromkeys((0, 1, operation.fails // 2)):
        if fails < operation.fails:
            yield {"fails": fails}
    if operation.priority:
        yield {"priority": 0}
    for delay_ms in dict.fromkeys((0, operation.delay_ms // 2)):
        if delay_ms < operation.delay_ms:
            yield {"delay_ms": delay_ms}
    yield from earlier(operation)
