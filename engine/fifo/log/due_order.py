"""Order in which the records of one producer become due."""

from bisect import bisect, insort
from math import inf


class DueOrder:
    """Order of the records that one producer sends to a partition under one name. ``last``: the number of the latest
    record so far.

    Its clock may go back; what is sent later is never due earlier for that.
    """

    def __init__(self, last: int) -> None:
        self._sent_ms = 0
        self._passed = last
        self._waiting: list[tuple[float, float]] = []

    def place(self, number: int, *, now_ms: int, delay_ms: int) -> tuple[int, int]:
        """When record ``number``, sent now, is due; and the number of that which is due last before it."""
        self._sent_ms = max(self._sent_ms, now_ms)
        passed = bisect(self._waiting, (self._sent_ms, inf))
        if passed:
            self._passed = int(self._waiting[passed - 1][1])
            del self._waiting[:passed]
        due_ms = self._sent_ms + delay_ms
        before = bisect(self._waiting, (due_ms, number))
        front = int(self._waiting[before - 1][1]) if before else self._passed
        if delay_ms:
            insort(self._waiting, (due_ms, number))
        else:
            self._passed = number
        return due_ms, front
