"""``Runtime`` on SimPy: virtual time, one event at a time, every result decided by the seed.

A SimPy process drives any object with ``send`` and ``throw``, so a coroutine whose awaits yield SimPy events runs
under it unchanged. Time is in integer nanoseconds.
"""

from collections.abc import Callable, Coroutine, Generator
from random import Random
from typing import Any, Generic, TypeVar

import simpy

from cluster.streams import Streams
from engine.ports import Promise

T = TypeVar("T")


class SimPromise:
    """``Promise`` that yields a SimPy event to whoever awaits it."""

    def __init__(self, environment: simpy.Environment) -> None:
        self._event = environment.event()

    def set_result(self, result: Any, /) -> None:
        self._event.succeed(result)

    def done(self) -> bool:
        return bool(self._event.triggered)

    def __await__(self) -> Generator[Any, Any, Any]:
        if self._event.processed:
            return self._event.value
        return (yield self._event)


class SimTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self._callback = None

    def fire(self, _event: object) -> None:
        if self._callback is not None:
            self._callback()


class Cancelled(BaseException):
    """Raised inside a coroutine whose task was cancelled."""


class SimTask(Generic[T]):
    """``Task`` as a SimPy process. What it raises is kept for ``join``; a failure that nobody joins ends the run."""

    def __init__(self, runtime: "SimRuntime", coroutine: Coroutine[Any, Any, T]) -> None:
        self._outcome: Promise[tuple[T | None, BaseException | None]] = runtime.promise()
        self._joined = False
        self._process = runtime.environment.process(self._drive(coroutine))

    def cancel(self) -> None:
        if self._process.is_alive:
            self._process.interrupt()

    def done(self) -> bool:
        return not self._process.is_alive

    async def join(self) -> T:
        self._joined = True
        result, error = await self._outcome
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    def _drive(self, coroutine: Coroutine[Any, Any, T]) -> Generator[Any, Any, None]:
        """Pass events and values between SimPy and the coroutine; an interrupt becomes ``Cancelled`` inside it."""
        go_on: Callable[[Any], Any] = coroutine.send
        value: Any = None
        while True:
            try:
                event = go_on(value)
            except StopIteration as stop:
                self._outcome.set_result((stop.value, None))
                return
            except Cancelled as cancelled:
                self._outcome.set_result((None, cancelled))
                return
            except Exception as error:
                if not self._joined:
                    raise
                self._outcome.set_result((None, error))
                return
            try:
                go_on, value = coroutine.send, (yield event)
            except simpy.Interrupt:
                go_on, value = coroutine.throw, Cancelled()


class SimRuntime:
    """``Runtime`` whose time passes only while ``run`` or ``run_until`` is executing."""

    def __init__(self, *, seed: int) -> None:
        self.environment = simpy.Environment(initial_time=0)
        self._streams = Streams(seed)

    def now_ns(self) -> int:
        return int(self.environment.now)

    async def sleep(self, duration_ns: int) -> None:
        await _Wait(self.environment.timeout(duration_ns))

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> SimTimer:
        timer = SimTimer(callback)
        self.environment.timeout(delay_ns).callbacks.append(timer.fire)
        return timer

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> SimTask[T]:
        return SimTask(self, coroutine)

    def promise(self) -> Promise[Any]:
        return SimPromise(self.environment)

    def random(self, user: str) -> Random:
        return self._streams.stream(user)

    def run(self, *, for_ns: int) -> None:
        """Let ``for_ns`` of virtual time pass."""
        self.environment.run(until=self.environment.now + for_ns)

    def run_until_complete(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the simulation until the coroutine returns; raises what it raises."""
        outcome: list[tuple[T | None, BaseException | None]] = []

        async def main() -> None:
            try:
                outcome.append((await coroutine, None))
            except BaseException as error:
                outcome.append((None, error))

        self.environment.run(until=self.environment.process(main()))  # type: ignore[arg-type]
        result, error = outcome[0]
        if error is not None:
            raise error
        return result  # type: ignore[return-value]


class _Wait:
    def __init__(self, event: simpy.Event) -> None:
        self._event = event

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield self._event)
