"""What a topic is divided into, and what a consumer group shares out."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class Partition:
    """Partition ``number`` of ``topic``. ``home``: its zone, as a queue of RocketMQ has the name of its broker.

    They are ordered as RocketMQ orders its queues: by topic, home and number.
    """

    topic: str
    home: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.topic}/{self.number}"


def partitions_of(topic: str, count: int, zones: tuple[str, ...]) -> list[Partition]:
    """Partitions 0 to ``count`` - 1 by number; their homes are the zones in turn."""
    if count < 1:
        raise ValueError(f"partitions must be at least 1, got {count}")
    return [Partition(topic, zones[number % len(zones)], number) for number in range(count)]
