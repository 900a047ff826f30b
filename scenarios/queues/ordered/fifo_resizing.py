"""The program that changes the number of partitions during a run, as its administrator would."""

from collections.abc import Awaitable, Callable, Sequence

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.lifecycle import Startable
from zonelab.engine.fifo.events import Observer
from zonelab.engine.fifo.topics.resize import ResizeRefused, TopicResize
from zonelab.engine.fifo.topics.routes import Routes
from zonelab.engine.ports import Runtime, Task
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.spec.ordered.resizes import Practice, Resize

AGAIN_MS = 200
"""Between two tries of a step that got no answer."""


class ResizeProgram(Startable):
    """Carries out ``resizes``, each at its time; what was refused is recorded, and not tried again."""

    def __init__(
        self,
        routes: Routes,
        resizing: TopicResize,
        *,
        resizes: Sequence[Resize],
        partitions: int,
        select: str,
        runtime: Runtime,
        observer: Observer,
        where: str,
    ) -> None:
        self._routes, self._resizing, self._resizes = routes, resizing, resizes
        self._partitions, self._select, self._runtime = partitions, select, runtime
        self._observer, self._where = observer, where
        self._tasks: list[Task[None]] = []

    async def start(self) -> None:
        self._tasks = [
            self._runtime.spawn(self._carry_out(each), name=f"resize to {each.to}") for each in self._resizes
        ]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _carry_out(self, resize: Resize) -> None:
        await self._runtime.sleep(round(resize.at_s * 1_000) * NS_PER_MS)
        await self._insist(lambda: self._routes.create(self._partitions))
        if resize.practice is Practice.BARRIER:
            await self._insist(lambda: self._resizing.to(resize.to, select=self._select))
        elif resize.read_after_s:
            await self._insist(lambda: self._resizing.numbers(write=resize.to))
            await self._runtime.sleep(round(resize.read_after_s * 1_000) * NS_PER_MS)
            await self._insist(lambda: self._resizing.numbers(read=resize.to))
        else:
            await self._insist(lambda: self._resizing.numbers(write=resize.to, read=resize.to))

    async def _insist(self, step: Callable[[], Awaitable[object]]) -> None:
        while True:
            try:
                await step()
                return
            except ResizeRefused as error:
                self._observer.note("resize", partition=self._where, status="refused", detail=str(error))
                return
            except COMMAND_FAILURES:
                await self._runtime.sleep(AGAIN_MS * NS_PER_MS)
