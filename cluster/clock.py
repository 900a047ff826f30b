"""The wall clock of a node, which faults may set wrong. Run time itself never goes wrong."""

from collections.abc import Callable

_PPM = 1_000_000


class NodeClock:
    """Unix time as one node sees it: the run's epoch plus run time, plus an offset that jumps and drifts."""

    def __init__(self, *, epoch_ns: int, run_ns: Callable[[], int]) -> None:
        self._epoch_ns = epoch_ns
        self._run_ns = run_ns
        self._drift_ppm = 0
        self._since_ns = 0
        self._offset_then_ns = 0

    @property
    def offset_ns(self) -> int:
        """Return how far the clock is ahead of true time now; negative if it is behind."""
        if self._drift_ppm == 0:
            return self._offset_then_ns
        return self._offset_then_ns + (self._run_ns() - self._since_ns) * self._drift_ppm // _PPM

    def now_ns(self) -> int:
        return self._epoch_ns + self._run_ns() + self.offset_ns

    def now_us(self) -> int:
        return self.now_ns() // 1_000

    def now_ms(self) -> int:
        return self.now_ns() // 1_000_000

    def jump(self, by_ns: int) -> None:
        """Set the clock forward, or back if negative, by this much."""
        self._set(self.offset_ns + by_ns, self._drift_ppm)

    def drift(self, *, ppm: int) -> None:
        """From now on gain ``ppm`` microseconds a second, or lose them if negative."""
        self._set(self.offset_ns, ppm)

    def correct(self) -> None:
        """Show true time again and keep it."""
        self._set(0, 0)

    def _set(self, offset_ns: int, drift_ppm: int) -> None:
        self._since_ns = self._run_ns()
        self._offset_then_ns = offset_ns
        self._drift_ppm = drift_ppm
