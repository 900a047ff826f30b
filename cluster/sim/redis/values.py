"""The types of values that a key can hold. None is iterated in an order that depends on Python's hash seed."""

import math
from bisect import bisect_left, insort
from collections import deque
from typing import Any, Self

from sortedcontainers import SortedList

from zonelab.cluster.sim.redis.stream_value import Stream

Scored = tuple[float, bytes]

COMPACT_MAX = 128
COMPACT_BYTES_MAX = 64
"""Up to so many members, none longer, the server keeps a sorted set as one list (zset-max-listpack-entries, -value)."""

_LIST_MAX = 1_000
"""A ranking of so many entries is faster as a plain list, in which an insertion moves all entries behind it."""


class HashValue(dict[bytes, bytes]):
    """Fields in order of their insertion, as in the server's compact encoding."""

    def amend(self, name: bytes, value: bytes) -> None:
        """Give a field another value, and leave it its time."""
        dict.__setitem__(self, name, value)


class ExpiringHash(HashValue):
    """A hash of which some fields have an end: ``until_ms``, in Unix time. A field that is set anew has none."""

    def __init__(self, fields: dict[bytes, bytes]) -> None:
        super().__init__(fields)
        self.until_ms: dict[bytes, int] = {}

    def __setitem__(self, name: bytes, value: bytes) -> None:
        super().__setitem__(name, value)
        self.until_ms.pop(name, None)

    def pop(self, name: bytes, default: Any = None) -> Any:
        """Remove a field and return its value."""
        self.until_ms.pop(name, None)
        return super().pop(name, default)

    def copy(self) -> Self:
        """A hash with the same fields and times, which changes by itself."""
        copied = type(self)(self)
        copied.until_ms = dict(self.until_ms)
        return copied

    def end(self, now_ms: int) -> bool:
        """Remove the fields whose time is over; return whether there were any."""
        over = [name for name, until_ms in self.until_ms.items() if until_ms < now_ms]
        for name in over:
            self.pop(name)
        return bool(over)


class Set(dict[bytes, None]):
    """Members in order of their insertion."""


class List(deque[bytes]):
    """Elements, head first."""


class SortedSet:
    """Members ordered by score, then by their bytes."""

    def __init__(self) -> None:
        self.scores: dict[bytes, float] = {}
        self.indexed = False
        """True once the server keeps it as a skip list. It shows in the digits of ZSCAN."""
        self._ranking: list[Scored] | SortedList = []

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def lowest(self) -> float:
        """Return the score of the first member."""
        score: float = self._ranking[0][0]
        return score

    def copy(self) -> Self:
        """A set with the same members and the same encoding, which changes by itself."""
        copied = type(self)()
        copied.scores = dict(self.scores)
        copied._ranking = self._ranking.copy()
        copied.indexed = self.indexed
        return copied

    def set(self, member: bytes, score: float) -> None:
        """Give ``member`` this score, whether it is new or has another one."""
        old = self.scores.get(member)
        if old is not None:
            self._unrank((old, member))
        elif len(self.scores) >= COMPACT_MAX:
            self.indexed = True
        if not self.indexed:
            score += 0.0  # a whole score is an integer in the list, which has no negative zero
        self.scores[member] = score
        ranking = self._ranking
        if not isinstance(ranking, list):
            ranking.add((score, member))
            return
        insort(ranking, (score, member))
        if len(ranking) > _LIST_MAX:
            self._ranking = SortedList(ranking)

    def remove(self, member: bytes) -> bool:
        score = self.scores.pop(member, None)
        if score is None:
            return False
        self._unrank((score, member))
        return True

    def rank(self, member: bytes) -> int | None:
        score = self.scores.get(member)
        return None if score is None else self._place((score, member))

    def between(self, start: int, stop: int, *, reverse: bool = False) -> list[Scored]:
        """Entries of the ranks ``start`` up to but not ``stop``, last one first if ``reverse``."""
        found: list[Scored] = self._ranking[start:stop]
        return found[::-1] if reverse else found

    def first_from(self, score: float, *, exclusive: bool) -> int:
        """The rank of the first entry with at least ``score``, or above it if ``exclusive``."""
        if not exclusive:
            return self._place((score,))
        if score == math.inf:
            return len(self.scores)
        return self._place((math.nextafter(score, math.inf),))

    def _place(self, entry: tuple[float] | Scored) -> int:
        ranking = self._ranking
        return bisect_left(ranking, entry) if isinstance(ranking, list) else int(ranking.bisect_left(entry))

    def _unrank(self, entry: Scored) -> None:
        del self._ranking[self._place(entry)]


Value = bytes | HashValue | Set | List | SortedSet | Stream

TYPE_NAMES: dict[type, bytes] = {
    bytes: b"string",
    HashValue: b"hash",
    ExpiringHash: b"hash",
    Set: b"set",
    List: b"list",
    SortedSet: b"zset",
    Stream: b"stream",
}
