"""Swarm testing: each seed draws its own variation of a scenario, with some faults off and others extreme.

After Groce, Zhang, Eide, Chen and Regehr, "Swarm Testing", ISSTA 2012: many unlike configurations, each of which leaves
something out, find more than one configuration that includes everything.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from zonelab.cluster.random_streams import Streams
from zonelab.cluster.sim.schedule import TieBreak
from zonelab.cluster.wiring.settings import Links
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.faults.programs import ConsumerCrash, ServiceCrash
from zonelab.scenarios.faults.seen import ANY_COMMAND, ANY_WRITE, LATE_MS_MAX, CommandDelay, ProgramPause
from zonelab.scenarios.spec.push_plan import explicit_operations
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import ConsumerSection, Drain, Load, Scenario

LAGS = ("0", "constant:1ms", "exponential:5ms", "lognormal:2ms:15ms", "0.9*constant:1ms + 0.1*exponential:50ms")

SLOW_SHARE = 0.05
SLOW_LEASES = 1.2
"""In some runs this share of the messages takes so many leases to process."""

EXTEND_SHARE = 0.05
"""In half of the runs of a queue of the user's own this share of the deliveries have their lease extended."""

EXTENDED_LEASES = 3
"""Which takes at most so many leases."""

LATE_LEASES_MAX = 2
"""A command of a service is at most so many leases late."""

LOAD_LEASES = 4
"""The longest load, in leases, of a queue of the user's own with services that faults hit, if the scenario's is longer.
The load of shipped engines is left as it is."""

_SHORTEST_S = 0.001

FAULTS_MORE = 2
"""A drawn run has at most so many faults more than its scenario."""


def drawn(base: Scenario, *, seed: int, messages: int) -> Scenario:
    """The run of ``seed``: ``base`` in simulation, with its load listed message by message and everything else drawn.

    About ``messages`` messages are pushed, at the rate of ``base``, so the load lasts as long as that takes but no
    longer than that of ``base``; where services of the user's own have faults it may, at a lower rate. Faults are of
    the kinds that ``base`` has, and those of services; their number, times and targets are drawn, and some kinds are
    left out. The same ``base``, ``seed`` and ``messages`` give the same scenario.
    """
    streams = Streams(seed)
    random = streams.stream("swarm")
    load, consumers = _load(base, streams, messages), _extending(base, _consumers(base, random), streams)
    scenario = base.model_copy(
        update={
            "arm": Arm.SIM,
            "seed": seed,
            "load": load,
            "consumers": consumers,
            "drain": Drain(bound_s=_bound_s(base, load, consumers)),
            "links": Links(lag=random.choice((base.links.lag, *LAGS)), overrides=base.links.overrides),
            "simulation": base.simulation.model_copy(update={"tie_break": random.choice(list(TieBreak))}),
            "faults": (),
        }
    )
    return scenario.model_copy(update={"faults": _faults(base, scenario, random)})


def _load(base: Scenario, streams: Streams, messages: int) -> Load:
    load = base.load
    explicit = base.workload is not None and base.workload.operations is not None
    if explicit or load.operations is not None:
        return load
    rate_per_s = base.rate_per_s
    duration_s = min(load.duration_s, round(messages / rate_per_s, 3)) if rate_per_s else load.duration_s
    shortened = load.model_copy(update={"duration_s": duration_s})
    if base.queue.factory is not None and any(_service_faults(base)):
        shortened = _over_leases(base, shortened)
        duration_s = shortened.duration_s
    if base.workload is not None:
        return shortened  # its seed draws the same operations again
    operations = explicit_operations(shortened, zones=base.zones, random=streams.stream)
    return Load(
        duration_s=duration_s,
        operations=operations,
        payload_bytes=load.payload_bytes,
        retries=load.retries,
        retry_after_ms=load.retry_after_ms,
    )


def _over_leases(base: Scenario, load: Load) -> Load:
    """The same messages, at a lower rate, for as long as leases end meanwhile: services look for those that have."""
    wanted_s = min(base.load.duration_s, base.queue.unack_ms * LOAD_LEASES / 1000)
    if load.duration_s >= wanted_s:
        return load
    part = load.duration_s / wanted_s
    return load.at_rates(lambda rate: rate * part).model_copy(update={"duration_s": wanted_s})


def _consumers(base: Scenario, random: Random) -> ConsumerSection:
    """Now and then a message takes longer than its lease."""
    settings = base.consumers
    slow = f"{1 - SLOW_SHARE}*constant:1ms + {SLOW_SHARE}*constant:{round(_slow_s(base) * 1000)}ms"
    return settings.model_copy(
        update={
            "per_zone": random.randint(min(1, settings.per_zone), settings.per_zone),
            "batch": random.randint(1, settings.batch),
            "processing": random.choice((settings.processing, settings.processing, slow)),
        }
    )


def _extending(base: Scenario, consumers: ConsumerSection, streams: Streams) -> ConsumerSection:
    """Those of shipped engines extend as the scenario says; a queue of the user's own may extend no lease at all."""
    if base.queue.factory is None or base.consumers.extend or streams.stream("extend").random() < 0.5:
        return consumers
    return consumers.model_copy(update={"extend": EXTEND_SHARE})


def _slow_s(base: Scenario) -> float:
    return base.queue.unack_ms * SLOW_LEASES / 1000


def _bound_s(base: Scenario, load: Load, consumers: ConsumerSection) -> float:
    """Room for the slow messages, each of which is delivered again and may be slow again: they are no violation."""
    programs = max(1, len(base.zones) * consumers.per_zone)
    slow = SLOW_SHARE * len(load.operations or ()) / programs
    bound_s = base.drain.bound_s + _slow_s(base) * (2 + 4 * slow)
    if consumers.extend:
        extended = consumers.extend * len(load.operations or ()) / programs
        bound_s += base.queue.unack_ms * EXTENDED_LEASES / 1000 * (2 + 4 * extended)
    return round(bound_s, 3)


def _faults(base: Scenario, scenario: Scenario, random: Random) -> tuple[AnyFault, ...]:
    known = (*base.faults, *_service_faults(base))
    kinds = dict.fromkeys(fault.kind for fault in known)
    on = [kind for kind in kinds if random.random() < 0.75]
    templates = [fault for fault in known if fault.kind in on]
    wanted = random.randint(0, len(known) + FAULTS_MORE) if templates else 0
    chosen: tuple[AnyFault, ...] = ()
    for _ in range(wanted):
        candidate = (*chosen, _fault(random.choice(templates), scenario, random))
        # What two faults cannot hold together is left out, not repaired: the draw stays simple.
        if not problems(scenario.model_copy(update={"faults": candidate, "load": _silent(scenario)})):
            chosen = candidate
    return chosen


def _service_faults(base: Scenario) -> Iterator[AnyFault]:
    """Yield where consumers crash, the background programs of the queue do, too, and stand still, or send late.

    Not every queue has any.
    """
    if not base.services or not any(isinstance(fault, ConsumerCrash) for fault in base.faults):
        return
    service, zone = base.services[0]
    at: dict[str, Any] = {"at_s": 0.0, "for_s": _SHORTEST_S, "zone": zone, "service": service}
    yield ServiceCrash(kind="service_crash", **at)
    yield ProgramPause(kind="program_pause", program="service", **at)
    late_ms = min(LATE_LEASES_MAX * base.queue.unack_ms, LATE_MS_MAX)
    script = ANY_COMMAND if base.queue.factory is None else ANY_WRITE
    yield CommandDelay(kind="command_delay", program="service", script=script, late_ms=late_ms, **at)


def _silent(scenario: Scenario) -> Load:
    return Load(duration_s=scenario.load.duration_s, rate_per_s=0.0)


def _fault(template: AnyFault, scenario: Scenario, random: Random) -> AnyFault:
    duration_s = scenario.load.duration_s
    for_s = max(0.001, round(duration_s * 0.6 * 2 ** -random.uniform(0, 5), 3))
    at_s = round(random.uniform(0, max(0.0, duration_s - for_s - 0.001)), 3)
    fresh = template.model_copy(update={"for_s": for_s, "at_s": at_s})
    return fresh.model_copy(update=fresh.drawn(scenario, random))
