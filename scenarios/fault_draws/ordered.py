"""Classes of faults for ordered messages: keys instead of delays, a sink, and programs that stand still."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Literal

from zonelab.cluster.random_streams import Streams
from zonelab.engine.fifo.settings import Times
from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.faults.clocks import ClockFault
from zonelab.scenarios.faults.links import CutFault, CutMode
from zonelab.scenarios.faults.programs import ConsumerCrash, ServiceCrash
from zonelab.scenarios.faults.seen import MemberHidden, ProgramPause
from zonelab.scenarios.faults.zones import Kill, Wipe
from zonelab.scenarios.spec.engines import queue_settings
from zonelab.scenarios.spec.ordered.resizes import Resize
from zonelab.scenarios.spec.ordered.sections import SinkKind, SinkSettings
from zonelab.scenarios.spec.queue_settings import QueueMode
from zonelab.scenarios.spec.scenario import Load, Scenario

_PARTITIONS = 3
_KEYS = 4
_PAUSES_MAX = 3
_PAUSES_SHARE = 0.5
_SHORTEST, _SEEN, _LONGEST = 0.5, 1.25, 3.5
"""In leases."""
_RESIZED_MOST = 5
_RESIZED_SHARES = {"resized": 1, "delayed": 0.25, "grouped": 0.25}
"""Class of faults → in how many of its seeds the number of partitions changes."""
_FAILING_SHARE = 0.25
_FAILING_MAX = 3
_FAILS_MAX = 12
_CLOCKS_WRONG = 3
_GROUPED = {"more_groups": ("second",), "kept": 3}


def in_order(scenario: Scenario, *, mode: QueueMode, lease_ms: int, clock_ms: int, fault_class: str) -> Scenario:
    """``scenario`` with ordered messages. ``clock_ms``: by so much a clock may be wrong.

    Where ``fault_class`` says so, consumers stand still in half of the seeds. Where only clocks are wrong, an owner
    does in all seeds, and they are so wrong, and the margin so wide, that a takeover, some 20 ms, could be early.

    All times of a group are RocketMQ's, divided by what makes its lease one of this study.
    """
    random = Streams(scenario.seed).stream("order")
    factor, wrong = Times().lease // lease_ms, _CLOCKS_WRONG if fault_class == "clocks-wrong" else 1
    faults = tuple(
        each.model_copy(update={"offset_ms": wrong * each.offset_ms}) if isinstance(each, ClockFault) else each
        for each in scenario.faults
    )
    still = _STANDS_STILL.get(fault_class)
    if still is not None and (wrong > 1 or random.random() < _PAUSES_SHARE):
        faults += tuple(still(random, scenario, lease_ms / 1_000))
    margin_ms = 2 * wrong * clock_ms + 2
    resizes: tuple[Resize, ...] = ()
    drawn = Streams(scenario.seed).stream("resizes")
    share = _RESIZED_SHARES.get(fault_class, 0)
    if share == 1 or drawn.random() < share:
        resizes, crashes = _resizes(drawn, scenario)
        faults += crashes
    load = _keyed(scenario.load, random, delays=fault_class == "delayed")
    return scenario.model_copy(
        update={
            "queue": queue_settings(
                "fifo",
                mode=mode,
                factor=factor,
                partitions=_PARTITIONS,
                margin_ms=margin_ms,
                reconsumed_max=16,
                resizes=resizes,
                **(_GROUPED if fault_class == "grouped" else {}),
            ),
            "load": _failing(load, Streams(scenario.seed).stream("failing listeners")),
            "consumers": scenario.consumers.model_copy(update={"batch": random.choice((1, 1, 3))}),
            "sink": SinkSettings(kind=SinkKind.LIST),
            "faults": faults,
        }
    )


def _keyed(load: Load, random: Random, *, delays: bool) -> Load:
    """Each producer has some keys of its own. Without ``delays`` messages are not delayed."""
    operations = tuple(
        one.model_copy(
            update={
                "delay_ms": one.delay_ms if delays else 0,
                "priority": 0,
                "key": f"{one.zone}-k{random.randrange(_KEYS)}",
            }
        )
        for one in load.operations or ()
    )
    return load.model_copy(update={"operations": operations})


def _failing(load: Load, random: Random) -> Load:
    """In a quarter of the seeds the first attempts at a few messages fail."""
    operations = list(load.operations or ())
    if random.random() < _FAILING_SHARE:
        for index in random.sample(range(len(operations)), min(len(operations), random.randint(1, _FAILING_MAX))):
            operations[index] = operations[index].model_copy(update={"fails": random.randint(1, _FAILS_MAX)})
    return load.model_copy(update={"operations": tuple(operations)})


def _resizes(random: Random, scenario: Scenario) -> tuple[tuple[Resize, ...], tuple[AnyFault, ...]]:
    """One or two, of which the second is refused if the first goes on; in half of the seeds who resizes is killed."""
    times = sorted(round(random.uniform(0.05, 0.8) * scenario.load.duration_s, 3) for _ in range(random.randint(1, 2)))
    counts = random.sample([count for count in range(1, _RESIZED_MOST + 1) if count != _PARTITIONS], len(times))
    resizes = tuple(Resize(at_s=at_s, to=count) for at_s, count in zip(times, counts, strict=True))
    if random.random() < 0.5:
        return resizes, ()
    at_s, for_s = round(times[0] + random.uniform(0, 0.2), 3), round(random.uniform(0.05, 0.3), 3)
    crash = ServiceCrash(kind="service_crash", zone=scenario.zones[0], service="resize", at_s=at_s, for_s=for_s)
    return resizes, (crash,)


def loss_and_takeover(random: Random, *, zones: Sequence[str]) -> tuple[AnyFault, ...]:
    """The second zone may not count until it is let in: the only other that answers has missed what was decided."""
    misses, loses, away = random.sample(zones, 3)
    begins_s, for_s = round(random.uniform(0.05, 0.15), 3), round(random.uniform(0.1, 0.25), 3)
    mended_s = round(begins_s + for_s, 3)
    lost = {"at_s": round(mended_s - random.uniform(0.01, 0.06), 3), "for_s": round(random.uniform(0.02, 0.07), 3)}
    modes = list(CutMode)
    return (
        CutFault(kind="cut", at_s=begins_s, for_s=for_s, mode=random.choice(modes), isolate=misses),
        Wipe(kind="wipe", zone=loses, **lost)
        if random.random() < 0.5
        else Kill(kind="kill", zone=loses, restart="warm", **lost),
        CutFault(
            kind="cut",
            at_s=round(mended_s + random.uniform(0.001, 0.02), 3),
            for_s=round(random.uniform(0.35, 0.5), 3),
            mode=random.choice(modes),
            isolate=away,
        ),
    )


def _pause_of_an_owner(random: Random, scenario: Scenario, lease_s: float) -> Iterator[AnyFault]:
    """A consumer whose partition goes to another zone stands still beyond its lease; the others take it for gone."""
    names = [(zone, number) for zone in scenario.zones for number in range(scenario.consumers.per_zone)]
    zone, number = owner = names[scenario.consumers.per_zone - 1]
    for_s = round(random.uniform(_SEEN, _LONGEST / 2) * lease_s, 3)
    at_s = round(random.uniform(0.1, scenario.load.duration_s - for_s - 0.05), 3)
    yield ProgramPause(kind="program_pause", zone=zone, consumer=number, at_s=at_s, for_s=for_s)
    for where, other in names:
        if (where, other) != owner:
            hidden = f"{zone}-{number}"
            yield MemberHidden(kind="member_hidden", zone=where, consumer=other, hidden=hidden, at_s=at_s, for_s=for_s)


def _pauses(random: Random, scenario: Scenario, lease_s: float) -> Iterator[AnyFault]:
    """Yield one pause, up to some leases, for each consumer that no other fault hits meanwhile."""
    consumers = [(zone, number) for zone in scenario.zones for number in range(scenario.consumers.per_zone)]
    for zone, number in random.sample(consumers, random.randint(1, _PAUSES_MAX)):
        for_s = round(random.uniform(_SHORTEST, _LONGEST) * lease_s, 3)
        at_s = round(random.uniform(0.05, scenario.load.duration_s - for_s - 0.05), 3)
        at_command = random.choice((None, *range(1, 11)))
        point: Literal["before-effect", "after-effect"] = random.choice(("before-effect", "after-effect"))
        pause = ProgramPause(
            kind="program_pause", zone=zone, consumer=number, at_s=at_s, for_s=for_s, at_command=at_command, point=point
        )
        if not any(_meet(pause, fault) for fault in scenario.faults):
            yield pause


def _meet(pause: ProgramPause, other: AnyFault) -> bool:
    same = isinstance(other, ConsumerCrash) and (other.zone, other.consumer) == (pause.zone, pause.consumer)
    return same and pause.at_s <= other.at_s + other.for_s and other.at_s <= pause.at_s + pause.for_s


_STANDS_STILL: Mapping[str, Callable[[Random, Scenario, float], Iterator[AnyFault]]] = {
    "any-of-one-zone": _pauses,
    "resized": _pauses,
    "delayed": _pauses,
    "grouped": _pauses,
    "clocks-wrong": _pause_of_an_owner,
}
"""Class of faults → consumers that stand still, of a scenario whose lease is so many seconds."""
