"""Classes of faults for ordered messages: keys instead of delays, a sink, and programs that stand still."""

from collections.abc import Iterator
from random import Random
from typing import Literal

from cluster.random_streams import Streams
from engine.fifo.settings import Times
from scenarios.faults.catalogue import AnyFault
from scenarios.faults.programs import ConsumerCrash
from scenarios.faults.seen import ProgramPause
from scenarios.spec.engines import queue_settings
from scenarios.spec.ordered.sections import SinkKind, SinkSettings
from scenarios.spec.queue_settings import Mode
from scenarios.spec.scenario import Load, Scenario

_PARTITIONS = 3
_KEYS = 4
_PAUSES_MAX = 3
_PAUSES_SHARE = 0.5
_SHORTEST, _LONGEST = 0.5, 3.5
"""In leases."""


def in_order(scenario: Scenario, *, mode: Mode, lease_ms: int, margin_ms: int, pauses: bool) -> Scenario:
    """``scenario`` with ordered messages. ``pauses``: in half of the seeds consumers stand still, up to some leases.

    All times of a group are RocketMQ's, divided by what makes its lease one of this study.
    """
    random = Streams(scenario.seed).stream("order")
    factor = Times().lease // lease_ms
    faults = scenario.faults
    if pauses and random.random() < _PAUSES_SHARE:
        faults += tuple(_pauses(random, scenario, lease_ms / 1_000))
    return scenario.model_copy(
        update={
            "queue": queue_settings(
                "fifo", mode=mode, factor=factor, partitions=_PARTITIONS, margin_ms=margin_ms, reconsumed_max=16
            ),
            "load": _keyed(scenario.load, random),
            "consumers": scenario.consumers.model_copy(update={"batch": random.choice((1, 1, 3))}),
            "sink": SinkSettings(kind=SinkKind.LIST),
            "faults": faults,
        }
    )


def _keyed(load: Load, random: Random) -> Load:
    """Ordered messages are not delayed, and each producer has some keys of its own."""
    operations = tuple(
        one.model_copy(update={"delay_ms": 0, "priority": 0, "key": f"{one.zone}-k{random.randrange(_KEYS)}"})
        for one in load.operations or ()
    )
    return load.model_copy(update={"operations": operations})


def _pauses(random: Random, scenario: Scenario, lease_s: float) -> Iterator[AnyFault]:
    """Of consumers that nothing else happens to meanwhile, one pause each."""
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
