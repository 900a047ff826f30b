"""Timers finer than the event loop's.

Both asyncio's and uvloop's timers round to whole milliseconds, which would turn a log-normal lag of 0.5 ms into a
staircase. On Linux one timerfd, armed for the earliest deadline, wakes the loop within tens of microseconds.
Elsewhere the loop's own timers serve, with their resolution.
"""

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from zonelab.engine.units import NS_PER_S

_CLOCK_MONOTONIC = 1
_TFD_NONBLOCK = 0o4000
_TFD_CLOEXEC = 0o2000000
_TFD_TIMER_ABSTIME = 1


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class PendingTimer:
    """A timer that has been set; ``cancel`` keeps it from firing."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Timers:
    """Calls back at given times of the monotonic clock, in order of time and, when equal, of setting."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[tuple[int, int, PendingTimer]] = []
        self._order = count()
        self._armed_ns: int | None = None
        wake = _TimerFd if sys.platform == "linux" else _LoopTimer
        self._wake: _TimerFd | _LoopTimer = wake(loop, self._fire)

    def call_at(self, deadline_ns: int, callback: Callable[[], None]) -> PendingTimer:
        """Call ``callback`` at ``deadline_ns``; of several at the same time the first asked for goes first."""
        timer = PendingTimer(callback)
        heappush(self._heap, (deadline_ns, next(self._order), timer))
        if self._armed_ns is None or deadline_ns < self._armed_ns:
            self._arm(deadline_ns)
        return timer

    def close(self) -> None:
        self._heap.clear()
        self._wake.close()

    def _arm(self, deadline_ns: int) -> None:
        self._armed_ns = deadline_ns
        self._wake.arm(deadline_ns)

    def _fire(self) -> None:
        heap = self._heap
        self._armed_ns = None
        now_ns = time.monotonic_ns()
        try:
            while heap and heap[0][0] <= now_ns:
                callback = heappop(heap)[2].callback
                if callback is not None:
                    callback()
        finally:
            while heap and heap[0][2].callback is None:
                heappop(heap)
            if heap and (self._armed_ns is None or heap[0][0] < self._armed_ns):
                self._arm(heap[0][0])


class _TimerFd:
    def __init__(self, loop: asyncio.AbstractEventLoop, fire: Callable[[], None]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.timerfd_create(_CLOCK_MONOTONIC, _TFD_NONBLOCK | _TFD_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        self._loop = loop
        self._fire = fire
        self._spec = _Itimerspec()
        loop.add_reader(self._fd, self._readable)

    def arm(self, deadline_ns: int) -> None:
        # A time of zero would disarm the timer instead of firing it at once.
        self._spec.value.seconds, self._spec.value.nanoseconds = divmod(max(1, deadline_ns), NS_PER_S)
        if self._libc.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(self._spec), None) < 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime failed")

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _readable(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return  # re-armed for later between its expiry and this turn of the loop
        self._fire()


class _LoopTimer:
    def __init__(self, loop: asyncio.AbstractEventLoop, fire: Callable[[], None]) -> None:
        self._loop = loop
        self._fire = fire
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, deadline_ns: int) -> None:
        self.close()
        delay_ns = max(0, deadline_ns - time.monotonic_ns())
        self._handle = self._loop.call_later(delay_ns / NS_PER_S, self._fire)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
