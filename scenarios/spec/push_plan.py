"""The load of producers, fixed beforehand by the seed: which messages are pushed when.

Times, ids, delays and priorities are the same at every level and under every fault.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count as count_up
from itertools import groupby, islice
from operator import attrgetter
from random import Random
from typing import Any, Protocol

from zonelab.cluster.links.lag_text import parse_lag
from zonelab.engine.message import Message
from zonelab.engine.units import NS_PER_MS, NS_PER_S
from zonelab.scenarios.spec.ordered.keys import keying, payload_of, state_of
from zonelab.scenarios.spec.own_process import drawn_beforehand, process_of
from zonelab.scenarios.spec.scenario import Arrival, Load, PushOperation


@dataclass(frozen=True, slots=True)
class PlannedPush:
    """A push that is to begin ``offset_ns`` after the load begins."""

    offset_ns: int
    messages: tuple[Message, ...]


def plan_pushes(load: Load, *, zone: str, random: Callable[[str], Random]) -> Iterator[PlannedPush]:
    """The pushes of the producer of ``zone``, in order; drawn as they are asked for, so a long run costs no memory.

    ``random`` gives the stream of a name. Times and contents have streams of their own.
    """
    if load.operations is not None:
        yield from _explicit(load, load.operations, zone)
        return
    times, compose = random(f"arrivals {zone}"), composer(load, zone=zone, random=random)
    if load.arrivals is not None:
        until_ns = round(load.duration_s * NS_PER_S)
        process = process_of(load.arrivals)
        for offset_ns, (count, drawn) in drawn_beforehand(process, zone=zone, random=times, until_ns=until_ns):
            yield PlannedPush(offset_ns, compose(count, **drawn))
        return
    rate_per_s = load.rate_of(zone) / load.batch
    if rate_per_s == 0:
        return
    for offset_ns in arrivals(load, rate_per_s, times):
        yield PlannedPush(offset_ns, compose(load.batch))


class Compose(Protocol):
    """Make the messages of a push. What is not given is drawn."""

    def __call__(
        self, count: int, *, delay_ms: int | None = None, priority: int | None = None
    ) -> tuple[Message, ...]: ...


def composer(load: Load, *, zone: str, random: Callable[[str], Random]) -> Compose:
    """Return what the producer of ``zone`` pushes, message by message, with ids that count up."""
    contents = random(f"messages {zone}")
    draw_delay_ns, route = parse_lag(load.delay).sampler(contents), _router(load, random(f"routes {zone}"))
    keyed = keying(load.keys, load.payload_bytes, zone, random(f"keys {zone}"))
    numbers = count_up()

    def compose(count: int, *, delay_ms: int | None = None, priority: int | None = None) -> tuple[Message, ...]:
        given = {"timeout_ms": delay_ms, "priority": priority}
        chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        messages = []
        for number in islice(numbers, count):
            name = f"{zone}-{number:06d}"
            fields = _fields(load, name, contents, draw_delay_ns)
            messages.append(Message(id=name, **{**fields, **route(), **keyed(name), **chosen}))
        return tuple(messages)

    return compose


def _explicit(load: Load, operations: Sequence[PushOperation], zone: str) -> Iterator[PlannedPush]:
    own = sorted((operation for operation in operations if operation.zone == zone), key=attrgetter("at_ms"))
    for at_ms, together in groupby(own, key=attrgetter("at_ms")):
        messages = tuple(
            Message(
                id=operation.id,
                payload=payload_of(operation.id, size=load.payload_bytes, state=operation.state),
                key=operation.key,
                timeout_ms=operation.delay_ms,
                priority=operation.priority,
                topic=operation.topic,
                lease_ms=operation.lease_ms,
            )
            for operation in together
        )
        yield PlannedPush(round(at_ms * NS_PER_MS), messages)


def explicit_operations(
    load: Load, *, zones: Sequence[str], random: Callable[[str], Random]
) -> tuple[PushOperation, ...]:
    """Return what ``plan_pushes`` would push, message by message, in the order of the times."""
    operations = [
        PushOperation(
            at_ms=planned.offset_ns / NS_PER_MS,
            zone=zone,
            id=message.id,
            delay_ms=message.timeout_ms,
            priority=message.priority,
            topic=message.topic,
            lease_ms=message.lease_ms,
            key=message.key,
            state=state_of(message.payload) if load.keys is not None and load.keys.states else None,
        )
        for zone in zones
        for planned in plan_pushes(load, zone=zone, random=random)
        for message in planned.messages
    ]
    return tuple(sorted(operations, key=attrgetter("at_ms")))


def arrivals(load: Load, rate_per_s: float, random: Random) -> Iterator[int]:
    """Times in ns, until the load ends.

    Poisson: independent exponential gaps. Constant: equal gaps, from a drawn start, so zones do not beat as one.
    """
    poisson = load.arrival is Arrival.POISSON
    gap_s = 1 / rate_per_s
    time_s = random.expovariate(rate_per_s) if poisson else random.uniform(0, gap_s)
    while time_s < load.duration_s:
        yield int(time_s * NS_PER_S)
        time_s += random.expovariate(rate_per_s) if poisson else gap_s


def _fields(load: Load, name: str, random: Random, draw_delay_ns: Callable[[], int]) -> dict[str, Any]:
    return {
        "payload": payload_of(name, size=load.payload_bytes),
        "timeout_ms": round(draw_delay_ns() / NS_PER_MS),
        "priority": random.randint(load.priority.min, load.priority.max),
    }


def _router(load: Load, random: Random) -> Callable[[], dict[str, Any]]:
    """Draws the fields of a message that only some queues heed; from a stream of its own, so that the rest stays."""

    def route() -> dict[str, Any]:
        drawn: dict[str, Any] = {"topic": random.choice(load.topics)} if load.topics else {}
        return drawn | {"lease_ms": 0} if random.random() < load.at_most_once else drawn

    return route if load.topics or load.at_most_once else dict
