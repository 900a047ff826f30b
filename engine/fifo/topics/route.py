"""Routes of topics: the partitions that are written to, and those that are read. No input or output."""

import json
from dataclasses import dataclass
from typing import Self

from zonelab.engine.fifo.partition import Partition, partitions_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Predecessors:
    """The sealed partitions of a ``series``, by number: where each ended. ``selector``: of the keys in them."""

    series: int
    ends: tuple[int, ...]
    selector: str

    def of(self, number: int, *, count: int) -> list[int]:
        """Those that may hold keys of partition ``number`` of the ``count`` that follow.

        The remainder of a multiple has one; what consistent hashing leaves where it is has one, too. Otherwise all.
        """
        old = len(self.ends)
        if self.selector == "hash" and count % old == 0:
            return [number % old]
        if self.selector == "consistent-hash" and number < old <= count:
            return [number]
        return list(range(old))


@dataclass(frozen=True, kw_only=True, slots=True)
class TopicRoute:
    """``write``, ``read``: how many partitions of ``series`` producers and consumers go by.

    ``epoch``: how often that changed. ``sealing``: a resize to so many is under way, and the partitions take no more;
    ``old``: those that were sealed last, which groups finish before others; they stay for groups that begin late.
    ``drained``: every group that had begun with them has finished them, so another resize may begin.
    """

    topic: str
    zones: tuple[str, ...]
    write: int
    read: int
    epoch: int = 0
    series: int = 0
    sealing: int | None = None
    old: Predecessors | None = None
    drained: bool = True

    def __post_init__(self) -> None:
        for name in ("write", "read"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} partitions must be at least 1, got {getattr(self, name)}")

    @property
    def written(self) -> list[Partition]:
        return partitions_of(self.topic, self.write, self.zones, series=self.series)

    @property
    def consumed(self) -> list[Partition]:
        """Sealed ones come first."""
        return self.sealed + partitions_of(self.topic, self.read, self.zones, series=self.series)

    @property
    def sealed(self) -> list[Partition]:
        if self.old is None:
            return []
        return partitions_of(self.topic, len(self.old.ends), self.zones, series=self.old.series)

    @property
    def resizing(self) -> int | None:
        """To how many partitions a resize is under way; None: there is none."""
        return self.sealing or (None if self.drained else self.write)

    def in_front_of(self, partition: Partition) -> list[tuple[Partition, int]]:
        """The sealed partitions that a group has to finish first, and where each ends."""
        if self.old is None or partition.series != self.series:
            return []
        return [
            (self.sealed[number], self.old.ends[number]) for number in self.old.of(partition.number, count=self.read)
        ]

    def text(self) -> str:
        old = None if self.old is None else [self.old.series, self.old.ends, self.old.selector]
        return json.dumps([self.write, self.read, self.epoch, self.series, self.sealing, self.drained, old])

    @classmethod
    def parse(cls, text: str, *, topic: str, zones: tuple[str, ...]) -> Self:
        """Parse the route of ``topic`` from ``text``, as zones store it."""
        write, read, epoch, series, sealing, drained, old = json.loads(text)
        known = None if old is None else Predecessors(series=old[0], ends=tuple(old[1]), selector=old[2])
        counts = {"write": write, "read": read, "epoch": epoch, "series": series, "sealing": sealing}
        return cls(topic=topic, zones=zones, **counts, drained=drained, old=known)
