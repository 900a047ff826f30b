"""Event loop in a thread of its own, for blocking programs, and for notebooks, which run a loop themselves."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from zonelab.cluster.zone import ClusterError

T = TypeVar("T")


class LoopThread:
    """Event loop in a thread; ``run`` may be called from every thread but the loop's own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="zonelab", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T], /) -> T:
        """Return what ``coroutine`` returns, or raise what it raises. Ctrl-C cancels it.

        Raises ``ClusterError`` once the loop has ended.
        """
        if self._loop.is_closed():
            coroutine.close()
            raise ClusterError("the connection is closed: use it within its `with` block")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def within_a_loop() -> bool:
    """Return True if this thread already runs an event loop, as a notebook's does; a second one cannot begin in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
