"""The simulated server's own look at keys whose time is over, for those who subscribed to their events."""

from collections.abc import Callable

from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.ports import Timer

CYCLE_NS = 100_000_000
"""Ten times a second, as a server with ``hz 10`` does, the default."""


class ExpiryCycle:
    """Ends keys that nobody looks at, while events of their end are wanted; otherwise it costs no event of a run.

    ``running``: returns whether the process is there and not stopped. A stopped one ends nothing.
    """

    def __init__(self, runtime: SimRuntime, *, running: Callable[[], bool]) -> None:
        self._runtime = runtime
        self._running = running
        self._timer: Timer | None = None
        self._model: RedisModel | None = None

    def begin(self, model: RedisModel) -> None:
        """Look at the keys of ``model`` from now on, until it has none left with a time."""
        self._model = model
        if self._timer is None and model.store.awaits_ends:
            self._timer = self._runtime.call_later(CYCLE_NS, self._look)

    def stop(self) -> None:
        """Forget the process, which has ended."""
        self._model = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        model = self._model
        assert model is not None
        self._timer = None
        if self._running():
            model.store.tick()
            model.store.end_due()
        self.begin(model)
