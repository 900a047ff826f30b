"""Partitions, into which a topic is divided and which the members of a consumer group share."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class Partition:
    """Partition ``number`` of ``topic``. ``home``: its zone, as a queue of RocketMQ has the name of its broker.

    They are ordered as RocketMQ orders its queues: by topic, home and number. ``series``: the epoch in which the topic
    got it; a resize with a barrier gives it partitions with logs of their own.
    """

    topic: str
    home: str
    number: int
    series: int = 0

    @property
    def name(self) -> str:
        """``TOPIC/NUMBER``, and ``@SERIES`` if that is not 0."""
        return f"{self.topic}/{self.tag}"

    @property
    def tag(self) -> str:
        return f"{self.number}@{self.series}" if self.series else str(self.number)


def partitions_of(topic: str, count: int, zones: tuple[str, ...], *, series: int = 0) -> list[Partition]:
    """Partitions 0 to ``count`` - 1 by number; their homes are the zones in turn."""
    if count < 1:
        raise ValueError(f"partitions must be at least 1, got {count}")
    return [Partition(topic, zones[number % len(zones)], number, series) for number in range(count)]
