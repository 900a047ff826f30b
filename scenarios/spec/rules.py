"""Rules of a scenario that span its sections: each refuses what could only give a run without meaning."""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from inspect import getattr_static, isfunction
from itertools import combinations
from random import Random

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.workloads import OPERATIONS_OF
from zonelab.cluster.fields import Problem
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.random_streams import Streams
from zonelab.cluster.topology.topology import TopologyError
from zonelab.cluster.zone import ClusterError, Persistence
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.faults.fault import no_link, no_zone
from zonelab.scenarios.spec.engines import ENGINES
from zonelab.scenarios.spec.load_times import load_times, settle_s
from zonelab.scenarios.spec.order_rules import order_problems
from zonelab.scenarios.spec.own_process import Reacts, process_of
from zonelab.scenarios.spec.program_rules import program_problems
from zonelab.scenarios.spec.push_plan import plan_pushes
from zonelab.scenarios.spec.queue_factory import load_factory
from zonelab.scenarios.spec.queue_settings import DynoQueueSettings, QueueMode, ShardedSettings
from zonelab.scenarios.spec.scenario import Scenario

_DRAWS = 200

MESSAGES_MAX = 10_000_000
"""The most messages of a run."""


def path_of(steps: Sequence[int | str]) -> str:
    """``faults[1].zone`` of ``faults, 1, zone``."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text


def problems(scenario: Scenario) -> list[Problem]:
    try:
        _ = scenario.servers
    except TopologyError as error:
        return [Problem("topology.data_centres", str(error))]
    if MessageClass.LATE in scenario.checks.forbid and scenario.checks.late_ms is None:
        return [Problem("checks.forbid", "late needs checks.late_ms, how late is too late")]
    if scenario.programs:
        return (
            list(program_problems(scenario))
            or [*_shared_zones(scenario), *_links(scenario), *_of_faults(scenario)]
            or [*_overlaps(scenario)]
        )
    if unknown := [*_own_queue(scenario), *_own_processes(scenario)]:
        return unknown
    found = [*_shared_zones(scenario), *_links(scenario), *_load(scenario), *_clients(scenario), *_workload(scenario)]
    found += _of_faults(scenario)
    if scenario.evaluate is not None:
        found += scenario.evaluate.problems(
            times=load_times(scenario), features=scenario.features, late_ms=scenario.checks.late_ms
        )
    if not found:
        found += [*_overlaps(scenario), *_drain(scenario)]
    return found


def _of_faults(scenario: Scenario) -> Iterator[Problem]:
    for index, fault in enumerate(scenario.faults):
        yield from _of_run(scenario, f"faults[{index}]", fault)
        yield from fault.problems(scenario, f"faults[{index}]")


def with_fitted_faults(scenario: Scenario) -> Scenario:
    """``scenario`` with each fault whose place its topology lacks in another place; without those that fit nowhere.

    For runs whose faults are drawn, of which a scenario gives the kinds and the extents.
    """
    fitted = scenario.model_copy(update={"faults": ()})
    for fault in scenario.faults:
        for one in _elsewhere(scenario, fault):
            longer = scenario.model_copy(update={"faults": (*fitted.faults, one)})
            if not any(one.problems(scenario, "faults")) and not any(_overlaps(longer)):
                fitted = longer
                break
    return fitted


def _elsewhere(scenario: Scenario, fault: AnyFault) -> Iterator[AnyFault]:
    yield fault
    for place, choices in type(fault).places(scenario).items():
        if getattr(fault, place) is not None:
            yield from (fault.model_copy(update={place: choice}) for choice in choices)


def _shared_zones(scenario: Scenario) -> Iterator[Problem]:
    try:
        scenario.replication.fit(scenario.topology.layout)
    except ClusterError as error:
        yield Problem("replication", str(error))
    if scenario.queue.mode is QueueMode.HARDENED and scenario.servers != scenario.zones:
        yield Problem.of("queue.mode", scenario.queue.mode.value, "default; hardened needs zones of one server")


def _own_queue(scenario: Scenario) -> Iterator[Problem]:
    if scenario.queue.factory is not None:
        try:
            factory = load_factory(scenario.queue.factory)
        except ValueError as error:
            yield Problem("queue.factory", str(error))
            return
        services = getattr_static(factory, "services", None)
        if isinstance(factory, type) and isfunction(services):
            accepted = "a class whose services is a @staticmethod, since there is no instance yet"
            yield Problem.of("queue.factory", scenario.queue.factory, accepted)


def _own_processes(scenario: Scenario) -> Iterator[Problem]:
    named = {"load.arrivals": scenario.load.arrivals, "consumers.work": scenario.consumers.work}
    for path, text in named.items():
        if text is None:
            continue
        try:
            process_of(text)
        except ValueError as error:
            yield Problem(path, str(error))
            continue
        if scenario.workload is not None:
            yield Problem.of(path, text, "nothing beside a workload, which has no queue")
        elif scenario.arm is Arm.REAL:
            yield from _on_servers(scenario, path, text)


def _on_servers(scenario: Scenario, path: str, text: str) -> Iterator[Problem]:
    """There arrivals are played as they are drawn beforehand."""
    if path != "load.arrivals":
        yield Problem.of(path, text, "nothing on real servers, which cannot wait for virtual time; with arm: sim it is")
        return
    try:
        for zone in scenario.zones:
            deque(plan_pushes(scenario.load, zone=zone, random=Streams(scenario.seed).stream), maxlen=0)
    except Reacts as reacts:
        accepted = f"on real servers a process that does not react to the run; this one asks for {reacts}"
        yield Problem.of(path, text, accepted)
    except Exception as error:  # whatever the user's process raises
        yield Problem.of(path, text, f"a process that works: {type(error).__name__}: {' '.join(str(error).split())}")


def _links(scenario: Scenario) -> Iterator[Problem]:
    for text in scenario.links.overrides:
        yield from no_link(scenario, path_of(["links", "overrides", text]), text)


def _load(scenario: Scenario) -> Iterator[Problem]:
    load, queue = scenario.load, scenario.queue
    explicit = scenario.workload is not None and scenario.workload.operations is not None
    pushed = scenario.rate_per_s * load.duration_s
    if pushed > MESSAGES_MAX:
        yield Problem.of("load", f"about {pushed:.3g} messages", f"rates and a duration for at most {MESSAGES_MAX}")
    if load.operations is not None:
        yield from _operations(scenario)
    elif not explicit and load.arrivals is None and "rate_per_s" not in load.model_fields_set:
        yield Problem("load.rate_per_s", "missing; it has no default, unless load.operations or load.arrivals is given")
    if load.arrivals is not None and (load.rate_per_s or load.operations is not None):
        yield Problem.of("load.arrivals", load.arrivals, "nothing beside load.rate_per_s or load.operations")
    if isinstance(load.rate_per_s, dict):
        for zone in load.rate_per_s:
            yield from no_zone(scenario, path_of(["load", "rate_per_s", zone]), zone)
    if load.priority.min > load.priority.max:
        yield Problem.of("load.priority.min", load.priority.min, f"at most load.priority.max ({load.priority.max})")
    modes = ENGINES[queue.engine].modes
    if queue.compat and "compat" not in modes:
        yield Problem.of("queue.compat", queue.compat, f"false with queue.engine {queue.engine}, which is no copy")
    if queue.mode not in modes:
        accepted = f"{', '.join(mode for mode in QueueMode if mode in modes)} with queue.engine {queue.engine}"
        yield Problem.of("queue.mode", queue.mode.value, accepted)
    if queue.compat and queue.mode is QueueMode.HARDENED:
        yield Problem.of("queue.compat", queue.compat, "false with queue.mode hardened, which has no such defects")
    yield from _hardened_only(scenario)
    yield from _of_engine(scenario)
    yield from order_problems(scenario)
    if load.retries * load.retry_after_ms > scenario.drain.bound_s * 1000:
        accepted = f"so little that {load.retries} retries end within drain.bound_s ({scenario.drain.bound_s:g} s)"
        yield Problem.of("load.retry_after_ms", load.retry_after_ms, accepted)
    shortest_ms = shortest_ns(scenario.consumers.processing) / 1e6
    if queue.unack_ms <= shortest_ms:
        accepted = f"more than the shortest processing time ({shortest_ms:g} ms), or no ack could come in time"
        yield Problem.of("queue.unack_ms", queue.unack_ms, accepted)


def _clients(scenario: Scenario) -> Iterator[Problem]:
    if scenario.clients.failover and len(scenario.zones) == 1:
        yield Problem.of(
            "clients.failover", scenario.clients.failover, "false with one zone: there is no other to go to"
        )


def _hardened_only(scenario: Scenario) -> Iterator[Problem]:
    queue = scenario.queue
    if queue.mode is QueueMode.HARDENED:
        return
    if isinstance(queue, ShardedSettings) and queue.deliveries_max is not None:
        accepted = "nothing unless queue.mode is hardened: the original has no dead letters"
        yield Problem.of("queue.deliveries_max", queue.deliveries_max, accepted)
    if isinstance(queue, DynoQueueSettings) and queue.v1_producers:
        accepted = "false unless queue.mode is hardened; or else queue.engine says what producers are"
        yield Problem.of("queue.v1_producers", queue.v1_producers, accepted)


def _of_engine(scenario: Scenario) -> Iterator[Problem]:
    """Yield what the model of the engine cannot say, because other sections have a part in it."""
    queue, load = scenario.queue, scenario.load
    yield from _routed(scenario)
    if scenario.consumers.extend and not scenario.extends:
        accepted = f"0 with queue.engine {queue.engine}, {queue.mode}, whose consumers extend no lease"
        yield Problem.of("consumers.extend", scenario.consumers.extend, accepted)
    if not scenario.features.delays:
        yield from _no_delays(scenario)
    longest_ms = queue.delay_ms_max
    if longest_ms is None:
        return
    accepted = f"at most {longest_ms} ms with queue.engine {queue.engine}"
    if shortest_ns(load.delay) / 1e6 > longest_ms:
        yield Problem.of("load.delay", load.delay, accepted)
    for index, operation in enumerate(load.operations or ()):
        if operation.delay_ms > longest_ms:
            yield Problem.of(f"load.operations[{index}].delay_ms", operation.delay_ms, accepted)


def _no_delays(scenario: Scenario) -> Iterator[Problem]:
    queue, load = scenario.queue, scenario.load
    accepted = f"0 with {queue.factory or f'queue.engine {queue.engine}, {queue.mode}'}, which has no delays"
    if load.operations is None and load.delay not in _NO_DELAY:
        yield Problem.of("load.delay", load.delay, accepted)
    for index, operation in enumerate(load.operations or ()):
        if operation.delay_ms:
            yield Problem.of(f"load.operations[{index}].delay_ms", operation.delay_ms, accepted)


_NO_DELAY = ("0", "0ms", "constant:0ms")


def _routed(scenario: Scenario) -> Iterator[Problem]:
    """Topics and leases of messages, which not every queue has. A queue of the user's own may have any."""
    queue, load = scenario.queue, scenario.load
    if queue.factory is not None:
        return
    with_queue = f"with queue.engine {queue.engine}"
    topics: tuple[str, ...] = getattr(queue, "topics", ())
    accepted = f"of queue.topics ({', '.join(topics)})" if topics else f"none {with_queue}, which has no topics"
    if load.topics is not None and not set(load.topics) <= set(topics):
        yield Problem.of("load.topics", list(load.topics), accepted)
    leases = queue.lease_ms_own
    if load.at_most_once and (leases is None or 0 not in leases):
        yield Problem.of("load.at_most_once", load.at_most_once, f"0 {with_queue}, {queue.mode}")
    for index, operation in enumerate(load.operations or ()):
        path = f"load.operations[{index}]"
        if operation.topic is not None and operation.topic not in topics:
            yield Problem.of(f"{path}.topic", operation.topic, accepted)
        if operation.lease_ms is not None and (leases is None or operation.lease_ms not in leases):
            lengths = f"{leases[0]}..{leases[-1]}" if leases else "nothing"
            yield Problem.of(f"{path}.lease_ms", operation.lease_ms, f"{lengths} {with_queue}, {queue.mode}")


def _operations(scenario: Scenario) -> Iterator[Problem]:
    load = scenario.load
    seen: dict[str, int] = {}
    if load.rate_per_s:
        yield Problem.of("load.rate_per_s", load.rate_per_s, "nothing beside load.operations")
    for index, operation in enumerate(load.operations or ()):
        path = f"load.operations[{index}]"
        yield from no_zone(scenario, f"{path}.zone", operation.zone)
        if operation.at_ms >= load.duration_s * 1000:
            yield Problem.of(f"{path}.at_ms", operation.at_ms, f"less than load.duration_s ({load.duration_s:g} s)")
        if seen.setdefault(operation.id, index) != index:
            yield Problem.of(f"{path}.id", operation.id, f"an id other than that of operations[{seen[operation.id]}]")


def _workload(scenario: Scenario) -> Iterator[Problem]:
    workload, load = scenario.workload, scenario.load
    if workload is None:
        return
    accepted = OPERATIONS_OF[workload.kind]
    words = f"an operation of a {workload.kind} ({', '.join(accepted)})"
    for f in workload.mix:
        if f not in accepted:
            yield Problem.of(path_of(["workload", "mix", f]), f, words)
    if workload.mix and not sum(workload.mix.values()):
        yield Problem.of("workload.mix", dict(workload.mix), "weights of which one is more than 0")
    if load.operations is not None:
        yield Problem("load.operations", "got pushes to a queue; accepted: workload.operations, beside a workload")
    if workload.operations is not None and load.rate_per_s:
        yield Problem.of("load.rate_per_s", load.rate_per_s, "nothing beside workload.operations")
    for index, op in enumerate(workload.operations or ()):
        path = f"workload.operations[{index}]"
        yield from no_zone(scenario, f"{path}.zone", op.zone)
        if op.f not in accepted:
            yield Problem.of(f"{path}.f", op.f, words)
        if op.client >= workload.clients_per_zone:
            yield Problem.of(f"{path}.client", op.client, f"less than clients_per_zone ({workload.clients_per_zone})")
        if op.at_ms >= load.duration_s * 1000:
            yield Problem.of(f"{path}.at_ms", op.at_ms, f"less than load.duration_s ({load.duration_s:g} s)")
    for index, fault in enumerate(scenario.faults):
        if fault.of_clients:
            yield Problem.of(f"faults[{index}].kind", fault.kind, "faults of servers and links, beside a workload")


@lru_cache(maxsize=256)  # each of a hunt's runs has one of a few
def shortest_ns(text: str) -> int:
    """The shortest of a fixed sample of a distribution's draws."""
    draw = parse_lag(text).sampler(Random(0))
    return min(draw() for _ in range(_DRAWS))


def _of_run(scenario: Scenario, path: str, fault: AnyFault) -> Iterator[Problem]:
    """Yield what is wrong with the times of ``fault``, or with having it here at all."""
    duration_s = scenario.load.duration_s
    if fault.at_s >= duration_s:
        yield Problem.of(f"{path}.at_s", fault.at_s, f"less than load.duration_s ({duration_s:g})")
    elif fault.at_s + fault.for_s > duration_s:
        yield Problem.of(f"{path}.for_s", fault.for_s, f"at most {duration_s - fault.at_s:g}: all heals with the load")
    if scenario.arm is Arm.REAL and fault.simulated_only:
        yield Problem.of(f"{path}.kind", fault.kind, "on real servers any other kind; this one needs arm: sim")
    if scenario.persistence is Persistence.NONE and fault.of_files:
        yield Problem.of("persistence", "none", f"any that writes files, as {path} ({fault.kind}) is about these")


def _overlaps(scenario: Scenario) -> Iterator[Problem]:
    for (first, one), (second, other) in combinations(enumerate(scenario.faults), 2):
        (one_ns, one_end_ns), (other_ns, other_end_ns) = _span_ns(one), _span_ns(other)
        if not (one_ns < other_end_ns and other_ns < one_end_ns):
            continue
        shared = one.holds(scenario) & other.holds(scenario)
        if shared:
            mine = f"{other.kind} at {other.at_s:g} s for {other.for_s:g} s"
            theirs = f"faults[{first}] ({one.kind}, {one.at_s:g} to {one.at_s + one.for_s:g} s)"
            taken = ", ".join(sorted(shared))
            yield Problem(
                f"faults[{second}].at_s", f"got {mine}; accepted: a time when {theirs} does not already hold {taken}"
            )


def _span_ns(fault: AnyFault) -> tuple[int, int]:
    """Whole nanoseconds, so that a fault may begin when another ends, whatever floats make of the sum."""
    begin_ns = round(fault.at_s * 1e9)
    return begin_ns, begin_ns + round(fault.for_s * 1e9)


def _drain(scenario: Scenario) -> Iterator[Problem]:
    lease_s, all_s = (settle_s(scenario, reconnects=each) for each in (False, bool(scenario.faults)))
    if scenario.drain.bound_s < all_s:
        accepted = (
            f"at least {all_s:g}: one lease and one look for ended leases ({lease_s:g} s)"
            f" after the longest reconnection ({all_s - lease_s:g} s)"
        )
        yield Problem.of("drain.bound_s", scenario.drain.bound_s, accepted)
