"""A program written for asyncio, as a process of its own in a simulated zone."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from zonelab._face.simulated_loop import SimulatedLoop
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.sim.runtime import Cancelled, SimRuntime
from zonelab.cluster.zone import ClusterError
from zonelab.engine.ports import Promise

T = TypeVar("T")
KILLED = "the program was killed"


class AsyncioProgram:
    """A program on asyncio in a zone: as a process it has a loop, a clock, random numbers and signals of its own.

    ``loop`` is its event loop, ``clock`` the clock of its zone, ``random`` the stream of its random numbers, and
    ``killed`` says whether it has been killed.

    Example, in which those of the methods stand in place of the dots::

        import asyncio

        async def story(lab: AsyncCluster) -> None:
            worker = asyncio_program(lab, "a")
            ...

        with cluster("sim") as lab:
            lab.run(story)
    """

    def __init__(self, runtime: SimRuntime, clock: NodeClock, *, zone: str) -> None:
        self.clock = clock
        self.random = runtime.random(f"asyncio in {zone}")
        self.killed = False
        self.loop = SimulatedLoop(runtime, self)
        self._runtime = runtime
        self._cause: BaseException | None = None
        self._waiters: dict[Promise[None], None] = {}
        self._heard: list[Callable[[], object]] = []
        runtime.spawn(self._until_the_end(), name=f"asyncio in {zone}")

    def start(self, coroutine: Coroutine[Any, Any, object]) -> "asyncio.Task[Any]":
        """Start a coroutine whose end nobody waits for, such as a worker's.

        Args:
            coroutine: awaits asyncio, the cluster, or both.

        Returns:
            Its task, for what else runs in the program.

        Raises:
            ClusterError: if the program has been killed.

        Example::

            worker.start(client(lab, "a").rpush("jobs", "one"))
            await lab.sleep(1)
            print(await client(lab, "b").llen("jobs"))  # 1
        """
        if self.killed:
            coroutine.close()
            raise self._cause or ClusterError(KILLED)
        task: asyncio.Task[Any] = self.loop.create_task(coroutine)
        return task

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the program, for whoever waits for its end beside the program.

        Args:
            coroutine: awaits asyncio, the cluster, or both.

        Returns:
            What it returns.

        Raises:
            Exception: what it raises.
            ClusterError: if the program is killed meanwhile, or was before.

        Example::

            print(await worker.run(asyncio.wait_for(asyncio.sleep(60, "done"), timeout=3600)))  # done
        """
        task = self.start(coroutine)
        ended: Promise[None] = self._runtime.promise()
        self._waiters[ended] = None
        task.add_done_callback(lambda _: ended.set_result(None))
        try:
            await ended
        except Cancelled:
            task.cancel()
            raise
        finally:
            del self._waiters[ended]
        if not task.done():
            raise self._cause or ClusterError(KILLED)
        result: T = task.result()
        return result

    def kill(self, cause: BaseException | None = None) -> None:
        """End the program at once, as SIGKILL does: it does nothing more, and its connections are closed.

        Args:
            cause: what ``run`` raises in place of ``ClusterError``.

        Example::

            worker.kill()
        """
        if self.killed:
            return
        self.killed, self._cause = True, cause
        for heard in self._heard:
            heard()
        for ended in list(self._waiters):
            if not ended.done():
                ended.set_result(None)
        self.loop.die()

    def send_signal(self, number: int = signal.SIGTERM) -> None:
        """Let the program's handler of a signal be called; a program that has none is killed.

        Args:
            number: of the signal.

        Example::

            worker.send_signal()
            print(worker.killed)  # True
        """
        handler = self.loop.signal_handlers.get(number)
        if handler is None:
            self.kill()
        else:
            self.loop.call_soon(handler)

    async def _until_the_end(self) -> None:
        try:
            await self._runtime.promise()
        except Cancelled:  # the cluster stops
            self.kill()
            raise

    def _when_killed(self, heard: Callable[[], object]) -> None:
        self._heard.append(heard)


def running_program() -> AsyncioProgram | None:
    """Return the program whose code runs; None outside of simulated loops."""
    loop = asyncio._get_running_loop()
    program = loop.program if isinstance(loop, SimulatedLoop) else None
    return program if isinstance(program, AsyncioProgram) else None
