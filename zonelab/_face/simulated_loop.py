"""An event loop of asyncio whose time is virtual and whose callbacks are events of the simulation.

Each iteration is one event, in which the callbacks that were ready at its beginning run in their order, as asyncio
promises; iterations of several loops come in the order that the simulation draws. Coroutines that await asyncio, and
those that await ``zonelab.engine.ports``, meet in the tasks of a loop: what a port would wait for becomes a future.
"""

import asyncio
import logging
import sys
import types
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import partial
from typing import Any, NoReturn
from weakref import WeakSet

from zonelab.cluster.sim.runtime import SimPromise, SimRuntime
from zonelab.engine.units import NS_PER_S

_LOGGER = logging.getLogger("asyncio")
_CLOSES_MAX = 100
NO_SOCKETS = "the simulated loop has no sockets, threads or processes"
_REFUSALS = dict.fromkeys(
    ("close", "run_forever", "run_until_complete", "stop"),
    "the simulated loop runs as its cluster does; await what runs",
)
_Interface: Any = asyncio.AbstractEventLoop  # its stubs make every method abstract, those that are refused included


class NumberedFuture(asyncio.Future[Any]):
    """Future whose hash is a number, so that sets of futures have the same order in every run."""

    def __init__(self, loop: "SimulatedLoop") -> None:
        self._number = loop.next_number()
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class NumberedTask(asyncio.Task[Any]):
    """Task whose hash is a number, as that of ``NumberedFuture``."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], loop: "SimulatedLoop", **options: Any) -> None:
        self._number = loop.next_number()
        super().__init__(coroutine, loop=loop, **options)

    def __hash__(self) -> int:
        return self._number


class SimulatedLoop(_Interface):  # type: ignore[misc]
    """Event loop of ``program`` that runs while its simulation does. What it does not have it refuses by its name."""

    def __init__(self, runtime: SimRuntime, program: object) -> None:
        self.program = program
        self.signal_handlers: dict[int, Callable[[], object]] = {}
        self._runtime = runtime
        self._environment = runtime.environment
        self._actor = runtime.environment.new_actor()
        self._ready: deque[asyncio.Handle] = deque()
        self._is_woken = False
        self._has_died = False
        self._numbers = 0
        self._tasks: WeakSet[NumberedTask] = WeakSet()
        self._make_task: Callable[..., Any] | None = None
        self._handle_exception: Callable[[Any, dict[str, Any]], object] | None = None

    def die(self) -> None:
        """Run nothing any more."""
        self._has_died = True
        self._ready.clear()
        self._environment.put(0, self._bury, self._actor)

    def next_number(self) -> int:
        """Return how many futures and tasks there have been, this one included."""
        self._numbers += 1
        return self._numbers

    def time(self) -> float:
        return self._runtime.now_ns() / NS_PER_S

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._make_ready(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Call at ``when``, of ``time()``; at once if that is past. A timer is an event of the simulation."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        delay_ns = max(0, round(when * NS_PER_S) - self._runtime.now_ns())
        self._environment.put(delay_ns, partial(self._make_ready, handle), self._actor)
        return handle

    def create_future(self) -> NumberedFuture:
        return NumberedFuture(self)

    def create_task(self, coroutine: Coroutine[Any, Any, Any], *, name: object = None, context: Any = None) -> Any:
        """Return a task of a coroutine that awaits asyncio, ports, or both."""
        both = self._on_futures(coroutine)
        if self._make_task is not None:
            task = self._make_task(self, both, **({} if context is None else {"context": context}))
        else:
            task = NumberedTask(both, self, name=f"Task-{self._numbers}", context=context)
        if name is not None:
            task.set_name(name)
        self._tasks.add(task)
        return task

    def set_task_factory(self, factory: Callable[..., Any] | None) -> None:
        self._make_task = factory

    def get_task_factory(self) -> Any:
        return self._make_task

    def is_running(self) -> bool:
        return not self._has_died

    def is_closed(self) -> bool:
        return self._has_died

    def get_debug(self) -> bool:
        return False

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: Any) -> None:
        self.signal_handlers[sig] = partial(callback, *args)

    def remove_signal_handler(self, sig: int) -> bool:
        return self.signal_handlers.pop(sig, None) is not None

    def set_exception_handler(self, handler: Callable[[Any, dict[str, Any]], object] | None) -> None:
        self._handle_exception = handler

    def get_exception_handler(self) -> Any:
        return self._handle_exception

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        _LOGGER.error(context.get("message"), exc_info=context.get("exception"))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._has_died:
            (self._handle_exception or type(self).default_exception_handler)(self, context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Let its event come: ``_make_ready`` leaves out what is cancelled."""

    def _make_ready(self, handle: asyncio.Handle) -> None:
        if self._has_died or handle.cancelled():
            return
        self._ready.append(handle)
        if not self._is_woken:
            self._is_woken = True
            self._environment.put(0, self._iterate, self._actor)

    def _iterate(self) -> None:
        """Run what is ready, as asyncio does in one iteration of a loop."""
        outer, hooks = asyncio._get_running_loop(), sys.get_asyncgen_hooks()
        asyncio._set_running_loop(self)
        sys.set_asyncgen_hooks(finalizer=self._finalize)
        self._is_woken = False
        try:
            for _ in range(len(self._ready)):
                if self._has_died:
                    break
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            sys.set_asyncgen_hooks(*hooks)
            asyncio._set_running_loop(outer)

    def _finalize(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self._has_died:
            self.call_soon(self.create_task, generator.aclose())

    async def _on_futures(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return await self._steps(coroutine)

    @types.coroutine
    def _steps(self, coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Run a coroutine with futures in place of what ports wait for: a promise, or a number of nanoseconds."""
        step: Callable[[Any], Any] = coroutine.send
        value: Any = None
        while True:
            try:
                target = step(value)
            except StopIteration as stop:
                return stop.value
            try:
                value = (yield from self._future_of(target)) if type(target) in (SimPromise, int) else (yield target)
                step = coroutine.send
            except BaseException as error:
                step, value = coroutine.throw, error

    def _future_of(self, target: SimPromise | int) -> asyncio.Future[Any]:
        future = self.create_future()
        if isinstance(target, int):
            self._environment.put(target, partial(_arrive, future), self._actor)
        else:
            target.waiters.append(partial(_arrive, future))
        return future

    def _bury(self) -> None:
        """Close the coroutines of a loop that has died, so that what others keep for them, such as a wait, ends.

        Python runs their ``finally`` clauses for that. They reach nothing: connections are closed, logging is off.
        """
        muted = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            for task in sorted(self._tasks, key=hash):
                _close(task.get_coro())
        finally:
            logging.disable(muted)


def _close(coroutine: Any) -> None:
    for _ in range(_CLOSES_MAX):
        try:
            coroutine.close()
        except BaseException:  # of code that would not have run; what goes on waiting is closed again
            continue
        return


def _arrive(future: asyncio.Future[Any], result: Any = None) -> None:
    if not future.done():
        future.set_result(result)


def _refused(name: str) -> Callable[..., NoReturn]:
    def refuse(self: SimulatedLoop, *_: object, **__: object) -> NoReturn:
        raise NotImplementedError(f"{name}: {_REFUSALS.get(name, NO_SOCKETS)}")

    return refuse


for _name in dir(asyncio.AbstractEventLoop):
    if not _name.startswith("_") and _name not in vars(SimulatedLoop):
        setattr(SimulatedLoop, _name, _refused(_name))
