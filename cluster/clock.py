"""Wall clocks as nodes see them."""

from collections.abc import Callable


class RunClock:
    """A wall clock without skew: the run's epoch plus run time."""

    def __init__(self, *, epoch_ns: int, now_ns: Callable[[], int]) -> None:
        self._epoch_ns = epoch_ns
        self._now_ns = now_ns

    def now_ms(self) -> int:
        return (self._epoch_ns + self._now_ns()) // 1_000_000
