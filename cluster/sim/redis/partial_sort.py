"""The order in which a server leaves equals when it sorts only what a LIMIT or COUNT asks for.

It is that of the quicksort of Bentley and McIlroy, "Engineering a sort function" (1993), which descends only into parts
that reach into the range asked for. A whole sort is stable.
"""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_INSERTION_MAX = 7
_NINTHER_MIN = 40


def partly_sorted(items: list[T], key: Callable[[T], Any], first: int, last: int, *, reverse: bool = False) -> list[T]:
    """Return ``items`` of which the places ``first`` to ``last``, inclusive, are in order by ``key``."""
    if first <= 0 and last >= len(items) - 1:
        return sorted(items, key=key, reverse=reverse)
    rows = [(key(item), item) for item in items]
    _PartialSort(rows, first, last, reverse=reverse).sort(0, len(rows))
    return [item for _, item in rows]


class _PartialSort:
    def __init__(self, rows: list[tuple[Any, Any]], first: int, last: int, *, reverse: bool) -> None:
        self._rows = rows
        self._first, self._last = first, last
        self._sign = -1 if reverse else 1

    def _compare(self, one: int, other: int) -> int:
        left, right = self._rows[one][0], self._rows[other][0]
        return self._sign * (int(left > right) - int(left < right))

    def _swap(self, one: int, other: int) -> None:
        rows = self._rows
        rows[one], rows[other] = rows[other], rows[one]

    def _median(self, a: int, b: int, c: int) -> int:
        if self._compare(a, b) < 0:
            return b if self._compare(b, c) < 0 else c if self._compare(a, c) < 0 else a
        return b if self._compare(b, c) > 0 else a if self._compare(a, c) < 0 else c

    def sort(self, begin: int, end: int) -> None:
        """Sort the rows from ``begin`` up to but not ``end``, where the range asked for reaches into them."""
        while end - begin >= _INSERTION_MAX:
            low, high = self._parted(begin, end)
            if low - begin > 1 and self._asked(begin, low):
                self.sort(begin, low)
            if end - high <= 1 or not self._asked(high, end):
                return
            begin = high
        for place in range(begin + 1, end):
            while place > begin and self._compare(place - 1, place) > 0:
                self._swap(place, place - 1)
                place -= 1

    def _asked(self, begin: int, end: int) -> bool:
        return self._first < end and self._last >= begin

    def _pivot(self, begin: int, end: int) -> int:
        size = end - begin
        middle, low, high = begin + size // 2, begin, end - 1
        if size == _INSERTION_MAX:
            return middle
        if size > _NINTHER_MIN:
            step = size // 8
            low = self._median(low, low + step, low + 2 * step)
            middle = self._median(middle - step, middle, middle + step)
            high = self._median(high - 2 * step, high - step, high)
        return self._median(low, middle, high)

    def _parted(self, begin: int, end: int) -> tuple[int, int]:
        """Part the rows by one of them; returns the end of those below it and the begin of those above."""
        self._swap(begin, self._pivot(begin, end))
        equal_low = low = begin + 1
        equal_high = high = end - 1
        while True:
            while low <= high and (order := self._compare(low, begin)) <= 0:
                if order == 0:
                    self._swap(equal_low, low)
                    equal_low += 1
                low += 1
            while low <= high and (order := self._compare(high, begin)) >= 0:
                if order == 0:
                    self._swap(high, equal_high)
                    equal_high -= 1
                high -= 1
            if low > high:
                break
            self._swap(low, high)
            low, high = low + 1, high - 1
        self._swap_ends(begin, low, min(equal_low - begin, low - equal_low))
        self._swap_ends(low, end, min(equal_high - high, end - 1 - equal_high))
        return begin + low - equal_low, end - (equal_high - high)

    def _swap_ends(self, begin: int, end: int, count: int) -> None:
        for offset in range(count):
            self._swap(begin + offset, end - count + offset)
