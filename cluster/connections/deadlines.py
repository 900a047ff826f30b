"""Time-outs of a connection's requests, with one timer for all of them."""

from collections.abc import Callable

from zonelab.engine.ports import Runtime, Timer

_NEVER_NS = 1 << 63

LATE_NS = 20_000_000
"""A timer that fires so late says that the process did not get to run, and may not have read what has arrived."""

_AGAIN_MAX = 3
"""Most looks in a row that are put off for that reason: a loop that is always late has time-outs all the same."""


class Deadlines:
    """Calls ``expired`` once a request on the connection is past its deadline.

    ``earliest_ns`` gives the earliest deadline among the requests in flight, or None. It is asked only when the timer
    fires. ``watch`` need not be called for a request whose deadline is not before ``armed_ns``, so that a request which
    is answered in time costs one comparison.

    When the timer fires late, requests get as much time again before they expire: what kept the process from running
    also kept it from reading replies. In virtual time no timer is late.
    """

    def __init__(self, *, runtime: Runtime, earliest_ns: Callable[[], int | None], expired: Callable[[], None]) -> None:
        self._runtime = runtime
        self._earliest_ns = earliest_ns
        self._expired = expired
        self._timer: Timer | None = None
        self._due_ns = 0
        self._again = 0  # looks in a row that were put off
        self.armed_ns = _NEVER_NS

    def watch(self, deadline_ns: int) -> None:
        """A request with this deadline is now in flight."""
        if deadline_ns < self.armed_ns:
            self._arm(deadline_ns)

    def clear(self) -> None:
        """Drop all deadlines: nothing is in flight any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self.armed_ns = _NEVER_NS

    def _arm(self, deadline_ns: int) -> None:
        self.clear()
        self.armed_ns = deadline_ns
        now_ns = self._runtime.now_ns()
        self._due_ns = max(deadline_ns, now_ns)
        self._timer = self._runtime.call_later(self._due_ns - now_ns, self._look)

    def _look(self) -> None:
        self._timer = None
        self.armed_ns = _NEVER_NS
        earliest_ns = self._earliest_ns()
        now_ns = self._runtime.now_ns()
        late_ns = now_ns - self._due_ns
        if earliest_ns is not None and earliest_ns <= now_ns and late_ns > LATE_NS and self._again < _AGAIN_MAX:
            self._again += 1
            self._arm(now_ns + late_ns)
            return
        self._again = 0
        if earliest_ns is None:
            return
        if earliest_ns <= now_ns:
            self._expired()
        else:
            self._arm(earliest_ns)
