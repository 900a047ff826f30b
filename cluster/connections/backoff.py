"""Back-off of one connection: up, down, and the waits between attempts to try it again."""

from collections.abc import Callable

from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.engine.ports import Runtime, Timer


class Reconnect:
    """Calls ``attempt`` after each back-off until the connection is reported up; forgets the back-off then."""

    def __init__(self, *, runtime: Runtime, timeouts: Timeouts, attempt: Callable[[], None]) -> None:
        self._runtime = runtime
        self._timeouts = timeouts
        self._attempt = attempt
        self._failures = 0
        self._timer: Timer | None = None

    def up(self) -> None:
        self._failures = 0

    def down(self) -> None:
        """The connection broke or an attempt failed: try again after the next delay."""
        if self._timer is None:
            delay_ns = self._timeouts.reconnect_ns(self._failures)
            self._failures += 1
            self._timer = self._runtime.call_later(delay_ns, self._again)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _again(self) -> None:
        self._timer = None
        self._attempt()
