"""Changes of the number of partitions while a run goes on."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from zonelab.cluster.fields import NonNegative, Section
from zonelab.engine.fifo.partition import Partition, partitions_of


class Practice(StrEnum):
    """``barrier``: seal, open others, finish first what was there. ``numbers``: two, as RocketMQ has."""

    BARRIER = "barrier"
    NUMBERS = "numbers"


class Resize(Section):
    """One change. It begins when the one before has ended, or, of ``numbers``, at its time."""

    at_s: NonNegative
    """Seconds after the programs of the run began; the load begins a second later at the latest."""
    to: Annotated[int, Field(strict=True, ge=1, le=1_024)]
    """Number of partitions after the resize."""
    practice: Practice = Practice.BARRIER
    read_after_s: NonNegative = 0.0
    """With ``numbers``: delay after which consumers, later than producers, learn the new number."""


def all_partitions(topic: str, first: int, resizes: Sequence[Resize], zones: tuple[str, ...]) -> list[Partition]:
    """All that the topic can have at some time; of which epoch they are depends on which resizes are refused."""
    most = max([first, *(one.to for one in resizes if one.practice is Practice.NUMBERS)])
    found = partitions_of(topic, most, zones)
    barriers = [one.to for one in resizes if one.practice is Practice.BARRIER]
    if barriers:
        most = max(most if len(barriers) < len(resizes) else 0, *barriers)
        for epoch in range(1, 1 + sum(1 if one.practice is Practice.BARRIER else 2 for one in resizes)):
            found += partitions_of(topic, most, zones, series=epoch)
    return found
