"""A consumer group of a stream: how far it has read, and which entries its consumers have and did not acknowledge."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sortedcontainers import SortedDict, SortedList


class PendingEntry(NamedTuple):
    """An entry that was given to ``consumer``, last at ``delivered_ms``, for the ``deliveries``-th time."""

    consumer: bytes
    delivered_ms: int
    deliveries: int


@dataclass(slots=True)
class GroupConsumer:
    """A consumer, by its name.

    ``seen_ms``: last time that it asked for entries; ``active_ms``: last time that it got one, -1 if never.
    ``pending``: ids of the entries that it has.
    """

    seen_ms: int
    active_ms: int = -1
    pending: SortedList = field(default_factory=SortedList)

    def copy(self) -> "GroupConsumer":
        return replace(self, pending=self.pending.copy())


@dataclass(slots=True)
class ConsumerGroup:
    """``last_id``: the largest id that was given out. ``entries_read``: entries up to it, None if not known."""

    last_id: int
    entries_read: int | None
    pending: SortedDict = field(default_factory=SortedDict)
    """The ``PendingEntry`` by the id of the entry."""

    consumers: dict[bytes, GroupConsumer] = field(default_factory=dict)

    def copy(self) -> "ConsumerGroup":
        consumers = {name: consumer.copy() for name, consumer in self.consumers.items()}
        return replace(self, pending=self.pending.copy(), consumers=consumers)

    def plain(self) -> tuple[Any, ...]:
        """Return the group as literals, for ``of_plain``."""
        consumers = [(name, one.seen_ms, one.active_ms) for name, one in self.consumers.items()]
        return self.last_id, self.entries_read, [(key, *held) for key, held in self.pending.items()], consumers

    @classmethod
    def of_plain(cls, plain: tuple[Any, ...]) -> "ConsumerGroup":
        """Return the group that ``plain`` described."""
        last_id, entries_read, pending, consumers = plain
        group = cls(last_id, entries_read)
        group.consumers = {name: GroupConsumer(seen_ms, active_ms) for name, seen_ms, active_ms in consumers}
        for entry_id, *held in pending:
            group.give(entry_id, PendingEntry(*held))
        return group

    def seen(self, name: bytes, now_ms: int) -> GroupConsumer:
        """Return the consumer, which asks for entries now, a new one if there is none of this name."""
        consumer = self.consumers.get(name)
        if consumer is None:
            consumer = self.consumers[name] = GroupConsumer(now_ms)
        consumer.seen_ms = now_ms
        return consumer

    def give(self, entry_id: int, pending: PendingEntry) -> None:
        """Make the entry one of ``pending.consumer``, whoever has it now."""
        held = self.pending.get(entry_id)
        self.pending[entry_id] = pending
        if held is not None and held.consumer != pending.consumer:
            self.consumers[held.consumer].pending.remove(entry_id)
        if held is None or held.consumer != pending.consumer:
            self.consumers[pending.consumer].pending.add(entry_id)

    def release(self, entry_id: int) -> bool:
        """Make the entry nobody's; False if it was that already."""
        held = self.pending.pop(entry_id, None)
        if held is None:
            return False
        self.consumers[held.consumer].pending.remove(entry_id)
        return True

    def remove_consumer(self, name: bytes) -> int | None:
        """Remove a consumer with the entries that it has; return how many, None if there was no such consumer."""
        consumer = self.consumers.pop(name, None)
        if consumer is None:
            return None
        for entry_id in consumer.pending:
            del self.pending[entry_id]
        return len(consumer.pending)

    def named_consumers(self) -> list[tuple[bytes, GroupConsumer]]:
        """Return the consumers in order of their names."""
        return sorted(self.consumers.items())
