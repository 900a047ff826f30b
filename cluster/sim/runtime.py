"""``Runtime`` on SimPy: virtual time, one event at a time, every result decided by the seed.

A coroutine written against the ports awaits nothing but what this module hands out, and each of these awaits yields
what the task is to wait for: a promise, or a number of nanoseconds. So a task sends a value into its coroutine when the
event happens, as a SimPy process does with its generator. Time is in integer nanoseconds.
"""

from collections.abc import Callable, Coroutine, Generator
from functools import partial
from random import Random
from types import coroutine
from typing import Any, Generic, TypeVar

from zonelab.cluster.random_streams import Streams
from zonelab.cluster.sim.event_order import Actor, SimEnvironment, environment
from zonelab.cluster.sim.schedule import Schedule
from zonelab.cluster.sim.trace import Trace
from zonelab.engine.ports import Promise

T = TypeVar("T")


class SimPromise:
    """``Promise`` whose waiters are resumed by one event, which happens on behalf of the last of them."""

    __slots__ = ("_actor", "_done", "_environment", "_result", "waiters")

    _actor: Actor  # of whoever awaits it
    _result: Any

    def __init__(self, environment: SimEnvironment) -> None:
        self._environment = environment
        self._done = False
        self.waiters: list[Callable[[Any], None]] = []

    def set_result(self, result: Any, /) -> None:
        if self._done:
            raise RuntimeError(f"the result of a promise is set once; it is {self._result!r} and not {result!r}")
        self._done = True
        self._result = result
        if self.waiters:
            self._environment.put(0, self._resume, self._actor)

    def done(self) -> bool:
        return self._done

    def __await__(self) -> Generator[Any, Any, Any]:
        if self._done:
            return self._result
        self._actor = self._environment.actor
        return (yield self)

    def _resume(self) -> None:
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter(self._result)


@coroutine
def _sleep(duration_ns: int) -> Generator[int, None, None]:
    yield duration_ns


class Cancelled(BaseException):
    """Raised inside a coroutine whose task was cancelled."""


class SimTask(Generic[T]):
    """``Task`` that is driven by events. What it raises is kept for ``join``; a failure that nobody joins ends the run.

    What is raised and is no ``Exception`` is no failure: it ends the task alone, as in asyncio.

    Like an asyncio task it begins at the present time, but not within the call that spawns it, and one that is
    cancelled before it began never runs.
    """

    __slots__ = (
        "_actor",
        "_begun",
        "_coroutine",
        "_doomed",
        "_ended",
        "_environment",
        "_error",
        "_joined",
        "_name",
        "_on_end",
        "_promise",
        "_result",
        "_resume",
        "_send",
        "_timer",
    )

    def __init__(self, runtime: "SimRuntime", coroutine: Coroutine[Any, Any, T], name: str) -> None:
        self._environment = runtime.environment
        self._coroutine = coroutine
        self._name = name
        self._actor = runtime.environment.new_actor()
        self._ended = SimPromise(runtime.environment)
        self._on_end: Callable[[], None] | None = None
        self._begun = False
        self._doomed = False
        self._joined = False
        self._result: T | None = None
        self._error: BaseException | None = None
        self._promise: SimPromise | None = None  # what it waits for: this, or the timer
        self._timer: int | None = None  # its key in the environment
        self._send = coroutine.send
        self._resume = self._go_on  # one bound method for all waiting: it is put in and taken out by identity
        self._note("spawn")
        self._soon(self._begin)

    def cancel(self) -> None:
        if self._begun:
            self._soon(self._interrupt)
        else:
            self._doomed = True

    def done(self) -> bool:
        return self._ended.done()

    async def join(self) -> T:
        self._joined = True
        await self._ended
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]

    def _soon(self, callback: Callable[[], None]) -> None:
        self._environment.put(0, callback, self._actor)

    def _begin(self) -> None:
        self._begun = True
        if self._doomed:
            self._go_on(Cancelled(), self._coroutine.throw)
        else:
            self._go_on()

    def _interrupt(self) -> None:
        if self.done():
            return
        if self._timer is not None:
            self._environment.cancel(self._timer)
        elif self._promise is not None and self._resume in self._promise.waiters:
            self._promise.waiters.remove(self._resume)
        self._go_on(Cancelled(), self._coroutine.throw)

    def _go_on(self, value: Any = None, step: Callable[[Any], Any] | None = None) -> None:
        environment = self._environment
        environment.actor = self._actor
        try:
            target = self._send(value) if step is None else step(value)
            if type(target) is SimPromise:
                self._timer = None
                self._promise = target
                target.waiters.append(self._resume)
            else:
                self._timer = environment.put(target, self._resume, self._actor)
        except StopIteration as stop:
            self._result = stop.value
            self._end("end")
        except Cancelled as cancelled:
            self._error = cancelled
            self._end("cancelled")
        except Exception as error:
            if not self._joined:
                raise
            self._error = error
            self._end("failed")
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as ended:  # no failure: the end of a program, which is more than one task
            self._error = ended
            self._end("ended")

    def _end(self, how: str) -> None:
        del self._send, self._resume, self._coroutine  # they lead back here, and would have to be collected
        self._note(how)
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()
        self._ended.set_result(None)

    def _note(self, kind: str) -> None:
        self._environment.trace.note(self._environment._now, kind, self._name)


class SimRuntime:
    """``Runtime`` whose time passes only while ``run`` or ``run_until_complete`` is executing.

    ``trace_hash`` is equal for runs of equal seed, schedule and program, and for no others. ``keep_trace`` keeps what
    was noted, for ``zonelab.cluster.sim.trace.first_difference``.
    """

    def __init__(self, *, seed: int, schedule: Schedule = Schedule(), keep_trace: bool = False) -> None:  # noqa: B008
        self.trace = Trace(keep=keep_trace)
        self._streams = Streams(seed)
        random = self._streams.stream("order of simultaneous events")
        self.environment = environment(schedule, trace=self.trace, random=random)
        self.call_later = self.environment.call_later
        self.promise: Callable[[], Promise[Any]] = partial(SimPromise, self.environment)
        self._tasks: dict[SimTask[Any], None] = {}

    @property
    def trace_hash(self) -> str:
        return self.trace.hexdigest()

    def now_ns(self) -> int:
        return self.environment._now

    def sleep(self, duration_ns: int) -> Coroutine[Any, Any, None]:
        if duration_ns < 0:
            raise ValueError(f"a sleep must be 0 or more nanoseconds, got {duration_ns}")
        return _sleep(duration_ns)  # one frame and no object of its own

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> SimTask[T]:
        task = SimTask(self, coroutine, name)
        self._tasks[task] = None
        task._on_end = partial(self._tasks.pop, task)
        return task

    def random(self, user: str) -> Random:
        return self._streams.stream(user)

    def note(self, kind: str, name: str) -> None:
        """Something worth comparing between two runs happens now."""
        self.trace.note(self.now_ns(), kind, name)

    def run(self, *, for_ns: int) -> None:
        """Let ``for_ns`` of virtual time pass; what is due exactly at its end does not happen yet."""
        until_ns = self.now_ns() + for_ns
        self.environment.process_events(before_ns=until_ns)
        self.environment.pass_time(until_ns)

    def run_until_complete(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the simulation until the coroutine returns; returns what it returns and raises what it raises.

        Raises ``RuntimeError`` if it waits for something that can never happen.
        """
        main = SimTask(self, self._stopping(coroutine), "main")
        self.environment.process_events()
        if not main.done():
            main._coroutine.close()
            raise RuntimeError(f"at {self.now_ns()} ns nothing is left to happen, but the program has not ended")
        result, error = main._result  # type: ignore[misc]
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    def close(self) -> None:
        """Cancel every task that has not ended, in the order in which they were spawned."""
        for task in list(self._tasks):
            task.cancel()

    async def _stopping(self, coroutine: Coroutine[Any, Any, T]) -> tuple[T | None, BaseException | None]:
        try:
            return await coroutine, None
        except BaseException as error:
            if isinstance(error, GeneratorExit):
                raise
            return None, error
        finally:
            self.environment.stopped = True
