"""Rules of a scenario that span its sections: each refuses what could only give a run without meaning."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from random import Random
from typing import Any

from analysis.runs.accesses import OPERATIONS_OF
from cluster.links.lag import parse_lag
from cluster.topology.topology import TopologyError
from scenarios.spec.scenario import (
    SIM_ONLY,
    AnyFault,
    Arm,
    ClockFault,
    Clog,
    ConsumerCrash,
    CoordinatorCrash,
    CutFault,
    Kill,
    LinksFault,
    Mode,
    Pause,
    PowerFailure,
    ProducerCrash,
    Scenario,
    SlowZone,
    SwizzleClog,
    Wipe,
    parse_link,
)

RECONNECT_MAX_S = 10.0
"""Dynomite's longest back-off before it tries again to connect; scaled by ``replication.time_factor``."""

_DRAWS = 200


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one value of a scenario: where it is, the value, and what would be accepted."""

    path: str
    text: str

    @classmethod
    def of(cls, path: str, value: Any, accepted: str) -> "Problem":
        return cls(path, f"got {value!r}; accepted: {accepted}")


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
    found = [*_shared_zones(scenario), *_links(scenario), *_load(scenario), *_workload(scenario)]
    for index, fault in enumerate(scenario.faults):
        found += _fault(scenario, f"faults[{index}]", fault)
    if not found:
        found += [*_overlaps(scenario), *_drain(scenario)]
    return found


OfLinks = LinksFault | SwizzleClog | CutFault | CoordinatorCrash
"""What changes links."""


def fault_links(scenario: Scenario, fault: OfLinks) -> tuple[tuple[str, str], ...]:
    """The links that ``fault`` changes, in the order of the topology."""
    if isinstance(fault, LinksFault) and fault.link is not None:
        return (parse_link(fault.link),)
    if not isinstance(fault, CutFault):
        return tuple(link for link in scenario.links_all if fault.zone is None or fault.zone in link)
    if fault.one_way is not None:
        return (parse_link(fault.one_way),)
    side = (fault.isolate,) if fault.isolate is not None else fault.halves or ()
    return tuple(link for link in scenario.links_all if (link[0] in side) != (link[1] in side))


def _zone(scenario: Scenario, path: str, zone: str | None) -> Iterator[Problem]:
    if zone is not None and zone not in scenario.zones:
        yield Problem.of(path, zone, f"a zone of the topology ({', '.join(scenario.zones)})")


def _server(scenario: Scenario, path: str, server: str | None) -> Iterator[Problem]:
    servers = scenario.servers
    if servers == scenario.zones:
        yield from _zone(scenario, path, server)
    elif server is not None and server not in servers:
        yield Problem.of(path, server, f"a server of the topology ({', '.join(servers)})")


def _link(scenario: Scenario, path: str, text: str | None) -> Iterator[Problem]:
    links = ", ".join(f"{source}>{target}" for source, target in scenario.links_all) or "none, there is one zone"
    if text is None:
        return
    try:
        pair = parse_link(text)
    except ValueError as error:
        yield Problem(path, str(error))
        return
    if pair not in scenario.links_all:
        yield Problem.of(path, text, f"a link of the topology ({links})")


def _shared_zones(scenario: Scenario) -> Iterator[Problem]:
    if scenario.replication.anti_entropy is not None and (
        scenario.servers != scenario.zones or scenario.topology.data_centres
    ):
        accepted = "null, or one data centre (topology.zones)"
        yield Problem.of("replication.anti_entropy", "a section", accepted)
    if scenario.queue.mode is Mode.HARDENED and scenario.servers != scenario.zones:
        yield Problem.of("queue.mode", scenario.queue.mode.value, "default; hardened needs zones of one server")


def _links(scenario: Scenario) -> Iterator[Problem]:
    for text in scenario.links.overrides:
        yield from _link(scenario, path_of(["links", "overrides", text]), text)


def _load(scenario: Scenario) -> Iterator[Problem]:
    load, queue = scenario.load, scenario.queue
    told = scenario.workload is not None and scenario.workload.operations is not None
    if load.operations is not None:
        yield from _operations(scenario)
    elif not told and "rate_per_s" not in load.model_fields_set:
        yield Problem("load.rate_per_s", "missing; it has no default, unless load.operations is given")
    if isinstance(load.rate_per_s, dict):
        for zone in load.rate_per_s:
            yield from _zone(scenario, path_of(["load", "rate_per_s", zone]), zone)
    if load.priority.min > load.priority.max:
        yield Problem.of("load.priority.min", load.priority.min, f"at most load.priority.max ({load.priority.max})")
    if queue.compat and queue.mode is Mode.HARDENED:
        yield Problem.of("queue.compat", queue.compat, "false with queue.mode hardened, which has no such defects")
    yield from _hardened_only(scenario)
    if load.retries * load.retry_after_ms > scenario.drain.bound_s * 1000:
        accepted = f"so little that {load.retries} retries end within drain.bound_s ({scenario.drain.bound_s:g} s)"
        yield Problem.of("load.retry_after_ms", load.retry_after_ms, accepted)
    shortest_ms = shortest_ns(scenario.consumers.processing) / 1e6
    if queue.unack_ms <= shortest_ms:
        accepted = f"more than the shortest processing time ({shortest_ms:g} ms), or no ack could come in time"
        yield Problem.of("queue.unack_ms", queue.unack_ms, accepted)


def _hardened_only(scenario: Scenario) -> Iterator[Problem]:
    queue = scenario.queue
    if queue.mode is Mode.HARDENED:
        return
    if queue.deliveries_max is not None:
        accepted = "nothing unless queue.mode is hardened: the original has no dead letters"
        yield Problem.of("queue.deliveries_max", queue.deliveries_max, accepted)
    if queue.v1_producers:
        accepted = "false unless queue.mode is hardened; or else queue.engine says what producers are"
        yield Problem.of("queue.v1_producers", queue.v1_producers, accepted)


def _operations(scenario: Scenario) -> Iterator[Problem]:
    load = scenario.load
    seen: dict[str, int] = {}
    if load.rate_per_s:
        yield Problem.of("load.rate_per_s", load.rate_per_s, "nothing beside load.operations")
    for index, operation in enumerate(load.operations or ()):
        path = f"load.operations[{index}]"
        yield from _zone(scenario, f"{path}.zone", operation.zone)
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
    for index, told in enumerate(workload.operations or ()):
        path = f"workload.operations[{index}]"
        yield from _zone(scenario, f"{path}.zone", told.zone)
        if told.f not in accepted:
            yield Problem.of(f"{path}.f", told.f, words)
        if told.client >= workload.clients_per_zone:
            yield Problem.of(f"{path}.client", told.client, f"less than clients_per_zone ({workload.clients_per_zone})")
        if told.at_ms >= load.duration_s * 1000:
            yield Problem.of(f"{path}.at_ms", told.at_ms, f"less than load.duration_s ({load.duration_s:g} s)")
    for index, fault in enumerate(scenario.faults):
        if isinstance(fault, ConsumerCrash | ProducerCrash):
            yield Problem.of(f"faults[{index}].kind", fault.kind, "faults of servers and links, beside a workload")


@lru_cache(maxsize=256)  # each of a hunt's runs has one of a few
def shortest_ns(text: str) -> int:
    """The shortest of a fixed sample of a distribution's draws."""
    draw = parse_lag(text).sampler(Random(0))
    return min(draw() for _ in range(_DRAWS))


def _fault(scenario: Scenario, path: str, fault: AnyFault) -> Iterator[Problem]:
    duration_s = scenario.load.duration_s
    if fault.at_s >= duration_s:
        yield Problem.of(f"{path}.at_s", fault.at_s, f"less than load.duration_s ({duration_s:g})")
    elif fault.at_s + fault.for_s > duration_s:
        yield Problem.of(f"{path}.for_s", fault.for_s, f"at most {duration_s - fault.at_s:g}: all heals with the load")
    if scenario.arm is Arm.REAL and isinstance(fault, SIM_ONLY):
        yield Problem.of(f"{path}.kind", fault.kind, "on real servers any other kind; this one needs arm: sim")
    if isinstance(fault, LinksFault):
        yield from _links_target(scenario, path, fault)
    elif isinstance(fault, CutFault):
        yield from _cut_target(scenario, path, fault)
    else:
        of_clients = isinstance(fault, ConsumerCrash | ProducerCrash)
        yield from (_zone if of_clients else _server)(scenario, f"{path}.zone", fault.zone)
    if isinstance(fault, Kill | PowerFailure) and fault.restart == "warm":
        if len(scenario.zones) == 1:
            yield Problem.of(f"{path}.restart", fault.restart, "keep, as there is no other zone to copy from")
        elif scenario.servers != scenario.zones:
            yield Problem.of(f"{path}.restart", fault.restart, "keep, as no other server holds the same keys")
    if isinstance(fault, ConsumerCrash):
        yield from _consumer(scenario, path, fault)
    if isinstance(fault, ClockFault) and fault.offset_ms == fault.drift_ppm == 0:
        yield Problem(path, "got neither offset_ms nor drift_ppm; accepted: one of them, or both, other than 0")


def _links_target(scenario: Scenario, path: str, fault: LinksFault) -> Iterator[Problem]:
    if fault.zone is not None and fault.link is not None:
        yield Problem.of(f"{path}.link", fault.link, "zone or link, not both")
    yield from _server(scenario, f"{path}.zone", fault.zone)
    yield from _link(scenario, f"{path}.link", fault.link)


def _cut_target(scenario: Scenario, path: str, fault: CutFault) -> Iterator[Problem]:
    given = [name for name in ("isolate", "halves", "one_way") if getattr(fault, name) is not None]
    if len(given) != 1:
        yield Problem(path, f"got {' and '.join(given) or 'no target'}; accepted: one of isolate, halves, one_way")
    yield from _server(scenario, f"{path}.isolate", fault.isolate)
    yield from _link(scenario, f"{path}.one_way", fault.one_way)
    for index, zone in enumerate(fault.halves or ()):
        yield from _server(scenario, f"{path}.halves[{index}]", zone)
    if fault.halves is not None and not 0 < len(set(fault.halves) & set(scenario.servers)) < len(scenario.servers):
        yield Problem.of(f"{path}.halves", list(fault.halves), "some zones, but not all")


def _consumer(scenario: Scenario, path: str, fault: ConsumerCrash) -> Iterator[Problem]:
    count = scenario.consumers.per_zone
    if count == 0:
        yield Problem.of("consumers.per_zone", count, f"at least 1, as {path} crashes a consumer")
    elif isinstance(fault.consumer, int) and fault.consumer >= count:
        yield Problem.of(f"{path}.consumer", fault.consumer, f"0..{count - 1} or all")


def _overlaps(scenario: Scenario) -> Iterator[Problem]:
    for (first, one), (second, other) in combinations(enumerate(scenario.faults), 2):
        (one_ns, one_end_ns), (other_ns, other_end_ns) = _span_ns(one), _span_ns(other)
        if not (one_ns < other_end_ns and other_ns < one_end_ns):
            continue
        shared = grip(scenario, one) & grip(scenario, other)
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


def grip(scenario: Scenario, fault: AnyFault) -> set[str]:
    """What only one fault can hold at a time."""
    if isinstance(fault, Kill | Wipe | PowerFailure | Pause):
        return {f"zone {fault.zone}"}
    if isinstance(fault, SlowZone):
        return {f"speed of {fault.zone}"}
    if isinstance(fault, ClockFault):
        return {f"clock of {fault.zone}"}
    if isinstance(fault, ProducerCrash):
        return {f"producer {fault.zone}"}
    if isinstance(fault, ConsumerCrash):
        numbers: Iterable[int] = range(scenario.consumers.per_zone) if fault.consumer == "all" else (fault.consumer,)
        return {f"consumer {fault.zone}-{number}" for number in numbers}
    # However a link comes to be cut, mending it undoes all of that.
    cuts = isinstance(fault, CutFault | Clog | SwizzleClog | CoordinatorCrash)
    held = {f"{'cut' if cuts else fault.kind} of {source}>{target}" for source, target in fault_links(scenario, fault)}
    return {*held, f"coordinator {fault.zone}"} if isinstance(fault, CoordinatorCrash) else held


def _drain(scenario: Scenario) -> Iterator[Problem]:
    queue = scenario.queue
    lease_s = (queue.unack_ms + queue.unack_interval_ms) / 1000
    reconnect_s = RECONNECT_MAX_S * scenario.replication.time_factor if scenario.faults else 0.0
    if scenario.drain.bound_s < lease_s + reconnect_s:
        accepted = (
            f"at least {lease_s + reconnect_s:g}: one lease and one look for ended leases ({lease_s:g} s)"
            f" after the longest reconnection ({reconnect_s:g} s)"
        )
        yield Problem.of("drain.bound_s", scenario.drain.bound_s, accepted)
