"""The classes of faults that the guarantee matrix and the ablation table run through, each with a short scenario.

A seed decides what is pushed and when, the same at every level and in every class and mode, and where, when and for how
long the faults of a class happen. Times are those of a real cluster made short: time-outs are a tenth of Dynomite's and
leases last a fifth of a second.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import product
from random import Random
from typing import Any

from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.cluster.random_streams import Streams
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import Links
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.fault_draws.loads import LOAD_S, POISON_MAX, ZONES, happens, load_of, poisoned, retried, swept
from zonelab.scenarios.fault_draws.ordered import in_order, loss_and_takeover
from zonelab.scenarios.fault_draws.slowed import slowed
from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.faults.clocks import ClockFault, OfClock
from zonelab.scenarios.faults.links import CutFault, CutMode
from zonelab.scenarios.faults.programs import ConsumerCrash, CoordinatorCrash, ProducerCrash, ServiceCrash
from zonelab.scenarios.faults.traffic import DuplicateFault, LagFault
from zonelab.scenarios.faults.zones import Kill, Pause, Wipe
from zonelab.scenarios.spec import scenario as spec
from zonelab.scenarios.spec.engines import ENGINES, queue_settings
from zonelab.scenarios.spec.queue_settings import QueueMode
from zonelab.scenarios.spec.scenario import Scenario

LEASE_MS = 200
CLOCK_MS = 9
"""Two clocks differ by at most twice this, which is below the margin of hardened mode: a tenth of the lease."""

_LAG = "lognormal:1ms:5ms"
_HEAVY_LAG = f"0.9*{_LAG} + 0.1*uniform:20ms:100ms"
_SLOW_LAG = "lognormal:15ms:40ms"
_WORK = "exponential:3ms"
_CONSUMERS_PER_ZONE = 2
_DRAIN_S = 4.0
_DRAIN_OVERLONG_S = 15.0
"""Work that outlasts its lease is often done twice or more, one after the other."""
_CRASH_SLOTS = 4
_CRASH_COMMANDS_LOG2 = 4.5
_DELIVERIES_MAX = 3


class FaultClass(StrEnum):
    """One kind of trouble, alone."""

    NONE = "none"
    LAG_HEAVY = "lag-heavy"
    ZONE_SLOW = "zone-slow"
    WORK_OVERLONG = "work-overlong"
    CONSUMER_CRASH = "consumer-crash"
    CRASH_OVERLONG = "crash-overlong"
    ZONE_PAUSED = "zone-paused"
    ZONE_PAUSED_LONG = "zone-paused-long"
    ZONE_KILLED_WARM = "zone-killed-warm"
    ZONE_KILLED_KEEP = "zone-killed-keep"
    ZONE_WIPED = "zone-wiped"
    CUT_HOLD = "cut-hold"
    CUT_DROP = "cut-drop"
    CUT_ONE_WAY = "cut-one-way"
    LINKS_DUPLICATE = "links-duplicate"
    ZONE_UNSERVED = "zone-unserved"
    CLOCKS_WRONG = "clocks-wrong"
    POISON = "poison"
    V1_PRODUCERS_CRASH = "v1-producers-crash"
    SERVICE_CRASH = "service-crash"
    ANY_OF_ONE_ZONE = "any-of-one-zone"
    COORDINATOR_LOST = "coordinator-lost"
    LOSS_AND_TAKEOVER = "loss-and-takeover"
    RESIZED = "resized"
    DELAYED = "delayed"
    GROUPED = "grouped"


class EngineMode(StrEnum):
    """A queue as it is, with the defects of the original, or hardened (docs/hardened.md); or ordered (docs/fifo.md)."""

    DEFAULT = "default"
    COMPAT = "compat"
    HARDENED = "hardened"
    ROCKETMQ_4_9 = "rocketmq-4.9"
    ROCKETMQ_5_3 = "rocketmq-5.3"
    FENCED = "fenced"


ABOUT: Mapping[FaultClass, str] = {
    FaultClass.NONE: "no fault",
    FaultClass.LAG_HEAVY: "one in ten lags on every link is 20 to 100 ms, below every time-out",
    FaultClass.ZONE_SLOW: "the links from and to one zone take 15 ms (99th percentile 40 ms) for a while",
    FaultClass.WORK_OVERLONG: "30 % of the messages take one and a half leases to work on",
    FaultClass.CONSUMER_CRASH: "8 to 16 times a consumer ends just before a drawn command; another takes its place",
    FaultClass.CRASH_OVERLONG: (
        "30 % of the messages take one and a half leases to work on, and 8 to 16 times a consumer ends just before a "
        "drawn command"
    ),
    FaultClass.ZONE_PAUSED: "one zone's server is frozen (SIGSTOP) for 50 to 450 ms, below every time-out",
    FaultClass.ZONE_PAUSED_LONG: "one zone's server is frozen for 600 to 800 ms; coordinators give up after 500",
    FaultClass.ZONE_KILLED_WARM: "one zone's server is killed and comes back with a copy of a live zone's data",
    FaultClass.ZONE_KILLED_KEEP: "one zone's server is killed and comes back with its own files",
    FaultClass.ZONE_WIPED: "one zone's server is killed and comes back empty",
    FaultClass.CUT_HOLD: "one zone is cut off for 100 to 800 ms; what is sent is kept until the cut is mended",
    FaultClass.CUT_DROP: "one zone is cut off; connections are reset and what is sent is lost",
    FaultClass.CUT_ONE_WAY: "one link, in one direction, keeps or loses what is sent",
    FaultClass.LINKS_DUPLICATE: "a third of what the links carry arrives a second time, 50 to 400 ms later",
    FaultClass.ZONE_UNSERVED: "all consumers of one zone are gone for 800 ms",
    FaultClass.CLOCKS_WRONG: f"the clock of each zone is wrong, by up to {CLOCK_MS} ms, while the load lasts",
    FaultClass.POISON: (
        f"1 to {POISON_MAX} messages kill every consumer that gets them, which takes one at a time; hardened mode "
        f"sets aside what was delivered {_DELIVERIES_MAX} times"
    ),
    FaultClass.V1_PRODUCERS_CRASH: (
        "the producer of each zone, a client of V1 in hardened mode, too, ends just before its second command from a "
        "drawn time on; another takes its place; orphans are forbidden as well"
    ),
    FaultClass.SERVICE_CRASH: (
        "up to 4 times each background program of the queue is killed or stopped at a drawn command; another takes its "
        "place"
    ),
    FaultClass.ANY_OF_ONE_ZONE: (
        "one of the faults of a zone or link above; with it, each in half of the runs, wrong clocks, crashing "
        "consumers and producers that push again what was not confirmed, and now and then heavy lags and overlong "
        "work; background programs crash as above"
    ),
    FaultClass.COORDINATOR_LOST: "one zone's coordinator ends, and comes back after 300 to 700 ms",
    FaultClass.LOSS_AND_TAKEOVER: (
        "a zone is cut off for a while, at its end another is wiped or warmed, and then the third is cut off until its "
        "partitions are taken over"
    ),
    FaultClass.RESIZED: "as any-of-one-zone, and the number of partitions changes once or twice, with a barrier",
    FaultClass.DELAYED: (
        "as any-of-one-zone, half of the messages are delayed by 20 to 300 ms, and in a quarter of the runs the number "
        "of partitions changes as in resized"
    ),
    FaultClass.GROUPED: (
        "as any-of-one-zone, with a second group, and logs keep 3 records behind the slower one; in a quarter of the "
        "runs the number of partitions changes as in resized"
    ),
}

TRUE_CLOCKS = tuple(name for name in FORBIDDEN_DEFAULT if name is not MessageClass.EARLY)
"""Classes that are forbidden where clocks are wrong: whether a message was early depends on whose clock one believes.
"""

_ALSO_OF_ORDER = (FaultClass.RESIZED, FaultClass.DELAYED, FaultClass.GROUPED)
"""Classes of ordered messages that are drawn like any-of-one-zone."""

_MIXED = (FaultClass.ANY_OF_ONE_ZONE, *_ALSO_OF_ORDER)
_OF_ORDER = (FaultClass.LOSS_AND_TAKEOVER, *_ALSO_OF_ORDER)

WRONG_CLOCKS = (FaultClass.CLOCKS_WRONG, *_MIXED)
"""Classes with runs in which clocks are wrong."""


def classes_of(engine: str) -> tuple[FaultClass, ...]:
    """Those that ``engine`` can be tried with; what a lost coordinator costs is up to the policy of programs."""
    idle = spec.Load(duration_s=LOAD_S, rate_per_s=0)
    services = Scenario(name=engine, load=idle, queue=queue_settings(engine)).services
    v1 = "v1_producers" in ENGINES[engine].settings.model_fields
    has = {FaultClass.COORDINATOR_LOST: False, FaultClass.SERVICE_CRASH: bool(services)}
    has |= {FaultClass.V1_PRODUCERS_CRASH: v1, **dict.fromkeys(_OF_ORDER, engine == "fifo")}
    return tuple(one for one in FaultClass if has.get(one, True))


def scenario_of_class(
    fault_class: FaultClass, *, level: Level, mode: EngineMode, seed: int, engine: str = "dyno"
) -> Scenario:
    """The run of ``seed``. Equal arguments give equal scenarios; the load depends on ``seed`` alone.

    Times of an engine that counts in seconds are longer: its lease lasts a second, and the rest is in proportion.
    """
    drawn = _DRAW[fault_class](Streams(seed).stream(f"faults {fault_class}"))
    any_of = Streams(seed).stream("surroundings") if fault_class in _MIXED else None
    overlong = fault_class in (FaultClass.WORK_OVERLONG, FaultClass.CRASH_OVERLONG) or happens(any_of, 0.2)
    heavy = fault_class is FaultClass.LAG_HEAVY or happens(any_of, 0.2)
    poison = fault_class is FaultClass.POISON
    factor = max(1, -(-ENGINES[engine].modes[mode].features.time_unit_ms // LEASE_MS))
    ordered = ENGINES[engine].modes[mode].features.order
    scenario = Scenario(
        name=(f"{fault_class}-{mode}" if engine == "dyno" else f"{engine}-{fault_class}-{mode}").replace(".", "-"),
        about=f"{ABOUT[fault_class]}; drawn by seed {seed}",
        arm=Arm.SIM,
        seed=seed,
        level=level,
        links=Links(lag=_HEAVY_LAG if heavy else _LAG),
        queue=queue_settings("dyno" if ordered else engine, **_queue(mode, fault_class)),
        load=_LOADS.get(fault_class, load_of)(seed),
        consumers=spec.ConsumerSection(
            per_zone=_CONSUMERS_PER_ZONE,
            batch=1 if poison else 5,
            wait_ms=50,
            processing=_overlong_work(LEASE_MS * factor) if overlong else _WORK,
        ),
        faults=drawn,
        drain=spec.Drain(bound_s=_DRAIN_OVERLONG_S if overlong else _DRAIN_S),
        checks=_checks(fault_class, drawn),
    )
    if fault_class in (FaultClass.SERVICE_CRASH, FaultClass.ANY_OF_ONE_ZONE):
        crashes = _service_crashes(scenario.services, Streams(seed).stream("services"))
        scenario = scenario.model_copy(update={"faults": (*scenario.faults, *crashes)})
    if ordered:
        scenario = in_order(
            scenario, mode=QueueMode(mode), lease_ms=LEASE_MS, clock_ms=CLOCK_MS, fault_class=fault_class
        )
    return slowed(scenario, factor)


def _queue(mode: EngineMode, fault_class: FaultClass) -> dict[str, Any]:
    hardened = mode is EngineMode.HARDENED
    return {
        "mode": QueueMode.HARDENED if hardened else QueueMode.DEFAULT,
        "unack_ms": LEASE_MS,
        "unack_interval_ms": LEASE_MS // 2,
        "compat": mode is EngineMode.COMPAT,
        "deliveries_max": _DELIVERIES_MAX if hardened and fault_class is FaultClass.POISON else None,
        "v1_producers": hardened and fault_class is FaultClass.V1_PRODUCERS_CRASH,
    }


def _overlong_work(lease_ms: int) -> str:
    return f"0.7*{_WORK} + 0.3*constant:{lease_ms * 3 // 2}ms"


def _checks(fault_class: FaultClass, drawn: tuple[AnyFault, ...]) -> spec.Checks:
    if fault_class is FaultClass.V1_PRODUCERS_CRASH:
        return spec.Checks(forbid=(*FORBIDDEN_DEFAULT, MessageClass.ORPHAN))
    clocks = any(isinstance(fault, OfClock) for fault in drawn)
    return spec.Checks(forbid=TRUE_CLOCKS) if clocks else spec.Checks()


def _times(random: Random, *, shortest_s: float = 0.1, longest_s: float = 0.5) -> dict[str, Any]:
    for_s = round(random.uniform(shortest_s, longest_s), 3)
    return {"at_s": round(random.uniform(0.05, LOAD_S - for_s - 0.05), 3), "for_s": for_s}


def _none(random: Random) -> tuple[AnyFault, ...]:
    return ()


def _of_zone(
    make: Callable[..., AnyFault], *, shortest_s: float = 0.1, longest_s: float = 0.5, **settings: Any
) -> Callable[[Random], tuple[AnyFault, ...]]:
    def draw(random: Random) -> tuple[AnyFault, ...]:
        times = _times(random, shortest_s=shortest_s, longest_s=longest_s)
        return (make(**times, zone=random.choice(ZONES), **settings),)

    return draw


def _cut_off(mode: CutMode) -> Callable[[Random], tuple[AnyFault, ...]]:
    longest_s = 0.8 if mode is CutMode.HOLD else 0.5

    def draw(random: Random) -> tuple[AnyFault, ...]:
        times = _times(random, longest_s=longest_s)
        return (CutFault(kind="cut", **times, mode=mode, isolate=random.choice(ZONES)),)

    return draw


def _cut_one_way(random: Random) -> tuple[AnyFault, ...]:
    source, target = random.sample(ZONES, 2)
    mode = random.choice(list(CutMode))
    return (CutFault(kind="cut", **_times(random), mode=mode, one_way=f"{source}>{target}"),)


def _in_slot(slot: int, random: Random) -> dict[str, Any]:
    """Begin, length and command of a crash that ends before the next slot begins."""
    slot_s = LOAD_S / _CRASH_SLOTS
    return {
        "at_s": round(slot * slot_s + random.uniform(0, 0.2 * slot_s), 3),
        "for_s": round(random.uniform(0.5, 0.75) * slot_s, 3),
        "at_command": int(2 ** random.uniform(0, _CRASH_COMMANDS_LOG2)),
    }


def _crashes(random: Random) -> tuple[AnyFault, ...]:
    """Each in a slot of time of one consumer, so that no two of them can overlap."""
    slots = list(product(ZONES, range(_CONSUMERS_PER_ZONE), range(_CRASH_SLOTS)))
    return tuple(
        ConsumerCrash(kind="consumer_crash", zone=zone, consumer=number, **_in_slot(slot, random))
        for zone, number, slot in sorted(random.sample(slots, random.randint(8, 16)))
    )


def _service_crashes(services: Sequence[tuple[str, str]], random: Random) -> tuple[AnyFault, ...]:
    """Each in a slot of time of one program, in half of the slots."""
    return tuple(
        ServiceCrash(
            kind="service_crash",
            zone=zone,
            service=service,
            **_in_slot(slot, random),
            how=random.choice(("kill", "stop")),
        )
        for (service, zone), slot in product(services, range(_CRASH_SLOTS))
        if random.random() < 0.5
    )


def _clocks(random: Random) -> tuple[AnyFault, ...]:
    offsets_ms = [offset_ms for offset_ms in range(-CLOCK_MS, CLOCK_MS + 1) if offset_ms]
    return tuple(
        ClockFault(kind="clock", at_s=0.0, for_s=LOAD_S, zone=zone, offset_ms=random.choice(offsets_ms))
        for zone in ZONES
    )


def _duplicates(random: Random) -> tuple[AnyFault, ...]:
    after_ms = round(random.uniform(50, 400), 1)
    return (DuplicateFault(kind="duplicate", at_s=0.0, for_s=LOAD_S, share=0.33, after_ms=after_ms),)


def _unserved(random: Random) -> tuple[AnyFault, ...]:
    return (ConsumerCrash(kind="consumer_crash", at_s=0.1, for_s=0.8, zone=random.choice(ZONES), consumer="all"),)


def _producer_crashes(random: Random) -> tuple[AnyFault, ...]:
    """The second command of a push of V1 lists what the first has stored."""
    return tuple(
        ProducerCrash(kind="producer_crash", **_times(random, shortest_s=0.3), zone=zone, at_command=2)
        for zone in ZONES
    )


def _any_of_one_zone(random: Random) -> tuple[AnyFault, ...]:
    faults = _DRAW[random.choice(OF_ONE_ZONE)](random)
    if random.random() < 0.5:
        faults += _clocks(random)
    if random.random() < 0.5:
        faults += _crashes(random)
    return faults


OF_ONE_ZONE = (
    FaultClass.ZONE_SLOW,
    FaultClass.ZONE_PAUSED,
    FaultClass.ZONE_PAUSED_LONG,
    FaultClass.ZONE_KILLED_WARM,
    FaultClass.ZONE_KILLED_KEEP,
    FaultClass.ZONE_WIPED,
    FaultClass.CUT_HOLD,
    FaultClass.CUT_DROP,
    FaultClass.CUT_ONE_WAY,
)

_DRAW: Mapping[FaultClass, Callable[[Random], tuple[AnyFault, ...]]] = {
    FaultClass.NONE: _none,
    FaultClass.LAG_HEAVY: _none,
    FaultClass.ZONE_SLOW: _of_zone(LagFault, kind="lag", lag=_SLOW_LAG),
    FaultClass.WORK_OVERLONG: _none,
    FaultClass.CONSUMER_CRASH: _crashes,
    FaultClass.CRASH_OVERLONG: _crashes,
    FaultClass.ZONE_PAUSED: _of_zone(Pause, kind="pause", shortest_s=0.05, longest_s=0.45),
    FaultClass.ZONE_PAUSED_LONG: _of_zone(Pause, kind="pause", shortest_s=0.6, longest_s=0.8),
    FaultClass.ZONE_KILLED_WARM: _of_zone(Kill, kind="kill", restart="warm"),
    FaultClass.ZONE_KILLED_KEEP: _of_zone(Kill, kind="kill", restart="keep"),
    FaultClass.ZONE_WIPED: _of_zone(Wipe, kind="wipe"),
    FaultClass.CUT_HOLD: _cut_off(CutMode.HOLD),
    FaultClass.CUT_DROP: _cut_off(CutMode.DROP),
    FaultClass.CUT_ONE_WAY: _cut_one_way,
    FaultClass.LINKS_DUPLICATE: _duplicates,
    FaultClass.ZONE_UNSERVED: _unserved,
    FaultClass.CLOCKS_WRONG: _clocks,
    FaultClass.POISON: _none,
    FaultClass.V1_PRODUCERS_CRASH: _producer_crashes,
    FaultClass.SERVICE_CRASH: _none,
    FaultClass.ANY_OF_ONE_ZONE: _any_of_one_zone,
    **dict.fromkeys(_ALSO_OF_ORDER, _any_of_one_zone),
    FaultClass.LOSS_AND_TAKEOVER: partial(loss_and_takeover, zones=ZONES),
    FaultClass.COORDINATOR_LOST: _of_zone(CoordinatorCrash, kind="coordinator_crash", shortest_s=0.3, longest_s=0.7),
}

_LOADS: Mapping[FaultClass, Callable[[int], spec.Load]] = {
    FaultClass.POISON: poisoned,
    FaultClass.V1_PRODUCERS_CRASH: swept,
    FaultClass.ANY_OF_ONE_ZONE: retried,
    **dict.fromkeys(_ALSO_OF_ORDER, retried),
}
"""Loads of the classes that change something about it."""
