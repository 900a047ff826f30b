"""The key space of a server: values by key, with the time at which a key expires."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import TypeVar

from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.sim.redis.channels import Channels
from zonelab.cluster.sim.redis.keyspace_events import KeyspaceEvents
from zonelab.cluster.sim.redis.reply import WRONG_TYPE, CommandError
from zonelab.cluster.sim.redis.stream_value import Stream
from zonelab.cluster.sim.redis.values import ExpiringHash, HashValue, SortedSet, Value


class ExpiryQueue:
    """Times in ms and their keys. A time that was taken back stays until it is over."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, bytes]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, when_ms: int, key: bytes) -> None:
        heappush(self._heap, (when_ms, key))

    def take_before(self, now_ms: int) -> list[bytes]:
        """Remove and return the keys whose times are over, each once, the earliest first."""
        over: dict[bytes, None] = {}
        while self._heap and self._heap[0][0] < now_ms:
            over[heappop(self._heap)[1]] = None
        return list(over)


V = TypeVar("V", bound=Value)

NO_RUN = "0" * 40


@dataclass(frozen=True)
class Snapshot:
    """A copy of a key space and of the libraries of functions at one instant, as a dump file holds them."""

    values: dict[bytes, Value]
    expiry_ms: dict[bytes, int]
    libraries: dict[bytes, bytes]


class Database:
    """One database. ``now_us`` is the server's clock, frozen while a command or script runs.

    ``run_id``: of the process, 40 hexadecimal digits; it is no part of the data, so no copy has it, and nor has one the
    ``channels`` and their subscribers.
    ``changes`` counts modifications, in the server's way: a command that leaves it alone is not written to disk.
    """

    def __init__(self, *, clock_us: Callable[[], int], random: Random, run_id: str = NO_RUN) -> None:
        self.run_id = run_id
        self._clock_us = clock_us
        self.random = random
        self._now_us: int | None = None
        self.changes = 0
        self.channels = Channels()
        self.events: KeyspaceEvents | None = None
        """Publishes events of keys; None if no event is wanted."""
        self._ending = ExpiryQueue()
        self._values: dict[bytes, Value] = {}
        self._expiry_ms: dict[bytes, int] = {}
        self.libraries: dict[bytes, bytes] = {}
        """The code of libraries of functions, by name. Whoever changes it puts another in its place."""

    @property
    def now_us(self) -> int:
        if self._now_us is None:
            self._now_us = self._clock_us()
        return self._now_us

    @property
    def now_ms(self) -> int:
        return self.now_us // 1000

    def tick(self) -> None:
        """Another command begins: the clock is read anew, by whoever asks first."""
        self._now_us = None

    def stand_at(self, now_us: int) -> None:
        """Let the clock show this time until the next ``tick``."""
        self._now_us = now_us

    @property
    def event_flags(self) -> EventFlags:
        return EventFlags() if self.events is None else self.events.flags

    def publish_events(self, flags: EventFlags) -> None:
        """Publish the events that ``flags`` name from now on, and no others."""
        self.events = None if flags == EventFlags() else KeyspaceEvents(flags, self.channels.publish)
        self._ending = ExpiryQueue()
        for key, when_ms in self._expiry_ms.items() if self.events is not None else ():
            self.await_end(key, when_ms, event="expired")
        for key, value in self._values.items() if self.events is not None else ():
            self._await_fields(key, value)

    def _await_fields(self, key: bytes, value: Value) -> None:
        for when_ms in value.until_ms.values() if isinstance(value, ExpiringHash) else ():
            self.await_end(key, when_ms, event="hexpired")

    def await_end(self, key: bytes, when_ms: int, *, event: str) -> None:
        """Look at ``key`` once ``when_ms`` is over, if ``event``, of its end or of a field's, is wanted."""
        if self.events is not None and self.events.wants(event):
            self._ending.add(when_ms, key)

    def announce(self, event: str, key: bytes) -> None:
        """Publish ``event`` if that is asked for; what changed is counted apart."""
        if self.events is not None:
            self.events.announce(event, key)

    def changed(self, key: bytes, event: str, *, by: int = 1) -> None:
        """Count changes of ``key``, and publish the event that they are.

        The commonest commands do so by themselves: a call would be a twentieth of their time.
        """
        self.changes += by
        if self.events is not None and by:
            self.announce(event, key)

    @property
    def awaits_ends(self) -> bool:
        """Return whether keys are to be ended that nobody looks at: their events are wanted."""
        return len(self._ending) > 0

    def end_due(self) -> None:
        """End the keys and fields whose time is over, as the server does ten times a second."""
        for key in self._ending.take_before(self.now_ms):
            value = self.find(key)
            if isinstance(value, ExpiringHash):
                self.get(key, HashValue)

    def find(self, key: bytes) -> Value | None:
        """The value of ``key``, whatever its type; None if there is none or its time is over."""
        if self._expiry_ms and self._expired(key):
            self.end(key)
            return None
        return self._values.get(key)

    def get(self, key: bytes, kind: type[V]) -> V | None:
        """The value of ``key``. Raises the WRONGTYPE error if it is not a ``kind``."""
        value = self.find(key) if self._expiry_ms else self._values.get(key)
        if value is None or type(value) is kind:
            return value
        if isinstance(value, ExpiringHash) and kind is HashValue:
            if value.end(self.now_ms):
                self.announce("hexpired", key)
            self.drop_if_empty(key)
            return value if value else None  # type: ignore[return-value]
        raise CommandError(WRONG_TYPE)

    def has_none_up_to(self, key: bytes, score: float) -> bool:
        """Return whether ``key`` is absent, or a sorted set whose members all have a higher score.

        False where that depends on the time.
        """
        value = self._values.get(key)
        return not self._expiry_ms and (value is None or (type(value) is SortedSet and value.lowest > score))

    def get_or_create(self, key: bytes, kind: type[V]) -> V:
        """Return the value at ``key``, if there is none a new one of ``kind``. Raises WRONGTYPE for another kind."""
        value = self.get(key, kind)
        if value is None:
            value = kind()
            self._values[key] = value
            if self.events is not None:
                self.announce("new", key)
        return value

    def put(self, key: bytes, value: Value, *, keep_expiry: bool = False) -> None:
        """Give ``key`` this value, and no time unless it is to keep the one that it has."""
        if self.events is not None:
            if self.find(key) is None:
                self.announce("new", key)
            self._await_fields(key, value)
        self._values[key] = value
        if not keep_expiry:
            self._expiry_ms.pop(key, None)

    def discard(self, key: bytes) -> None:
        self._values.pop(key, None)
        self._expiry_ms.pop(key, None)

    def delete(self, key: bytes) -> bool:
        """Remove ``key``; false if it was not there."""
        if self.find(key) is None:
            return False
        self.discard(key)
        self.changed(key, "del")
        return True

    def end(self, key: bytes) -> None:
        """Remove ``key``, if it is there, as one whose time is over."""
        if self._values.pop(key, None) is not None:
            self.announce("expired", key)
        self._expiry_ms.pop(key, None)

    def drop_if_empty(self, key: bytes) -> None:
        """A collection without elements does not exist."""
        value = self._values.get(key)
        if value is not None and len(value) == 0:
            self.discard(key)
            self.announce("del", key)

    def expiry_ms(self, key: bytes) -> int | None:
        """Unix time in ms until which ``key`` exists; None without a limit."""
        return self._expiry_ms.get(key)

    def expire_at(self, key: bytes, when_ms: int) -> None:
        """``key`` exists until ``when_ms``, inclusive; if that is over by now it goes at once."""
        if when_ms <= self.now_ms:
            self.end(key)
        else:
            self.end_at(key, when_ms)
            self.announce("expire", key)

    def end_at(self, key: bytes, when_ms: int) -> None:
        """``key`` exists until ``when_ms``, inclusive; if that is over by now it goes when it is looked at."""
        self._expiry_ms[key] = when_ms
        self.await_end(key, when_ms, event="expired")

    def persist(self, key: bytes) -> bool:
        return self._expiry_ms.pop(key, None) is not None

    def names(self) -> Iterator[bytes]:
        """Every key that has not expired, in order of creation; those that have stay, as KEYS leaves them."""
        return (key for key in self._values if not self._expired(key))

    def over(self) -> list[bytes]:
        """Return the keys whose time is over, and that nobody has looked at since."""
        return [key for key in self._expiry_ms if self._expired(key)]

    def kind(self, key: bytes) -> type[Value]:
        """Return the type of the value of ``key``, which is there, whether or not its time is over."""
        return type(self._values[key])

    def __len__(self) -> int:
        """Keys, with those that expired but were not looked at since."""
        return len(self._values)

    def clear(self) -> None:
        self._values.clear()
        self._expiry_ms.clear()

    def snapshot(self) -> Snapshot:
        return Snapshot(_copied(self._values), dict(self._expiry_ms), self.libraries)

    def restore(self, snapshot: Snapshot) -> None:
        self._values = _copied(snapshot.values)
        self._expiry_ms = dict(snapshot.expiry_ms)
        self.libraries = snapshot.libraries

    def _expired(self, key: bytes) -> bool:
        when_ms = self._expiry_ms.get(key)
        return when_ms is not None and self.now_ms > when_ms


def _copied(values: dict[bytes, Value]) -> dict[bytes, Value]:
    return {key: value if isinstance(value, bytes) else copied(value) for key, value in values.items()}


def copied(value: Value) -> Value:
    """Return a value that changes by itself."""
    return value.copy() if isinstance(value, SortedSet | Stream | ExpiringHash) else type(value)(value)  # type: ignore[arg-type]
