"""Versions of what is written: who wins where zones differ, by a clock that both time and messages move on.

A version is an integer: microseconds of the coordinator's wall clock since 2020, times ``COORDINATORS_MAX``, plus the
position of the coordinator, so no two coordinators give the same one. It never goes back, and it goes beyond every
version that the coordinator has seen in a reply: a hybrid logical clock (Kulkarni et al., OPODIS 2014) whose logical
part spills into the microseconds, as in CockroachDB. It stays below 2**53, so that Lua's numbers hold it, until 2037.
"""

from collections.abc import Callable

COORDINATORS_MAX = 16

_EPOCH_US = 1_577_836_800_000_000
"""1 January 2020, 00:00 UTC."""


class VersionClock:
    """Gives the versions of one coordinator. ``position`` is its own, below ``COORDINATORS_MAX``."""

    def __init__(self, *, now_us: Callable[[], int], position: int) -> None:
        if not 0 <= position < COORDINATORS_MAX:
            raise ValueError(f"versions are for up to {COORDINATORS_MAX} coordinators, got position {position}")
        self._now_us = now_us
        self._position = position
        self._last_us = 0

    @property
    def last(self) -> int:
        """The newest version that it gave, or one of its own beyond all that it has seen."""
        return self._last_us * COORDINATORS_MAX + self._position

    def next(self) -> int:
        self._last_us = max(self._last_us + 1, self._now_us() - _EPOCH_US)
        return self.last

    def observe(self, version: int) -> None:
        """Whatever is written from now on is newer."""
        self._last_us = max(self._last_us, version // COORDINATORS_MAX)

    def before(self, duration_ns: int) -> int:
        """The version of ``duration_ns`` ago."""
        return max(0, self._now_us() - _EPOCH_US - duration_ns // 1_000) * COORDINATORS_MAX
