"""The types of values that a key can hold. None is iterated in an order that depends on Python's hash seed."""

import math
from collections import deque
from collections.abc import Iterator

from sortedcontainers import SortedList

Scored = tuple[float, bytes]


class Hash(dict[bytes, bytes]):
    """Fields in order of their insertion, as in the server's compact encoding."""


class Set(dict[bytes, None]):
    """Members in order of their insertion."""


class List(deque[bytes]):
    """Elements, head first."""


class SortedSet:
    """Members ordered by score, then by their bytes."""

    def __init__(self) -> None:
        self.scores: dict[bytes, float] = {}
        self._ranking = SortedList()

    def __len__(self) -> int:
        return len(self.scores)

    def set(self, member: bytes, score: float) -> None:
        score += 0.0  # the server keeps no negative zero
        old = self.scores.get(member)
        if old is not None:
            self._ranking.remove((old, member))
        self.scores[member] = score
        self._ranking.add((score, member))

    def remove(self, member: bytes) -> bool:
        score = self.scores.pop(member, None)
        if score is None:
            return False
        self._ranking.remove((score, member))
        return True

    def rank(self, member: bytes) -> int | None:
        score = self.scores.get(member)
        return None if score is None else int(self._ranking.index((score, member)))

    def between(self, start: int, stop: int, *, reverse: bool = False) -> Iterator[Scored]:
        """Entries of the ranks ``start`` up to but not ``stop``, last one first if ``reverse``."""
        found: Iterator[Scored] = self._ranking.islice(start, stop, reverse=reverse)
        return found

    def first_from(self, score: float, *, exclusive: bool) -> int:
        """The rank of the first entry with at least ``score``, or above it if ``exclusive``."""
        if not exclusive:
            return int(self._ranking.bisect_left((score,)))
        if score == math.inf:
            return len(self.scores)
        return int(self._ranking.bisect_left((math.nextafter(score, math.inf),)))


Value = bytes | Hash | Set | List | SortedSet

TYPE_NAMES: dict[type, bytes] = {bytes: b"string", Hash: b"hash", Set: b"set", List: b"list", SortedSet: b"zset"}
