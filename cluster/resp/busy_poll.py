"""Looking for work instead of sleeping, for a short time after each request: latency for processor time.

On a virtual machine it can take longer to wake a processor that sleeps than to answer a request, and a process that was
asleep finds its caches cold. Whoever waits for answers from zones, and then for the client's next command, would sleep
and be woken several times a request.
"""

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # slow to import, and a verb that only shows how long to look for work needs none of it
    import asyncio

BUSY_POLL_US = 200
"""Unless something else is wanted: a little longer than a request takes that has to wake everybody on its way."""

BUSY_POLL_US_MAX = 1_000_000

_FEW = 4
"""When more clients than these asked in one turn, the next turn comes soon enough, and others need the processor."""


class BusyPoll:
    """Keeps the event loop from sleeping until ``duration_us`` after the last ``touch``.

    Each turn of the loop looks for input without waiting, and offers the processor to other processes. Under load, when
    many clients ask in one turn, it does nothing.
    """

    def __init__(self, loop: "asyncio.AbstractEventLoop", *, duration_us: int) -> None:
        self._loop = loop
        self._duration_ns = duration_us * 1000
        self._until_ns = 0
        self._turning = False
        self._touches = 0

    def touch(self, clients: int = 1) -> None:
        """Note that ``clients`` clients have asked for something."""
        self._touches += clients
        if self._touches <= _FEW:
            self._until_ns = time.monotonic_ns() + self._duration_ns
        if not self._turning and self._duration_ns and clients <= _FEW:
            self._turning = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        touches, self._touches = self._touches, 0
        if touches <= _FEW and time.monotonic_ns() < self._until_ns:
            os.sched_yield()
            self._loop.call_soon(self._turn)
        else:
            self._turning = False
