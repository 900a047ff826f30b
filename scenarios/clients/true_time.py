"""True time of what programs read from clocks that faults have set wrong.

The history has the times at which things really happened. A clock that jumps while an operation runs leaves two
offsets to choose from; what the program read must have been read while the operation ran, so one of them fits better.
"""

from dataclasses import dataclass

from zonelab.cluster.clock import NodeClock
from zonelab.engine.units import NS_PER_MS


@dataclass(slots=True)
class ClockReading:
    """A clock when an operation began: the true wall time, and how far the clock was ahead of it."""

    clock: NodeClock
    true_ms: int
    offset_ms: int

    @classmethod
    def of(cls, clock: NodeClock) -> "ClockReading":
        offset_ns = clock.offset_ns
        offset_ms = round(offset_ns / NS_PER_MS) if offset_ns else 0
        return cls(clock, (clock.now_ns() - offset_ns) // NS_PER_MS, offset_ms)

    def ahead_ms(self, read_ms: int) -> int:
        """Return how far the clock was ahead when it showed ``read_ms``, which was between this reading and now."""
        if self.offset_ms == self.clock.offset_ns == 0:
            return 0
        now = ClockReading.of(self.clock)
        if now.offset_ms == self.offset_ms:
            return now.offset_ms
        return min((now.offset_ms, self.offset_ms), key=lambda ahead_ms: self._misfit_ms(read_ms - ahead_ms, now))

    def _misfit_ms(self, true_ms: int, now: "ClockReading") -> int:
        return max(0, self.true_ms - true_ms, true_ms - now.true_ms)
