"""A blocking façade of coroutines, for programs without an event loop of their own."""

from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from zonelab.engine.common.lifecycle import Startable

P = ParamSpec("P")
T = TypeVar("T")


class CoroutineRunner(Protocol):
    """Runs a coroutine to its end and returns its result or raises what it raised.

    Every call must use the event loop to which the queue's connections belong; whether that runs in a background
    thread or only during the call is the caller's choice, but the unack handler works only while it runs.
    """

    def __call__(self, coroutine: Coroutine[Any, Any, T], /) -> T: ...


class Facade:
    """Calls operations of ``queue`` as ordinary functions, each executed by ``run``."""

    def __init__(self, queue: Any, run: CoroutineRunner) -> None:
        self._queue = queue
        self._run = run


def blocking(
    operation: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Facade, P], T]:
    """The operation of this name and these parameters, as an ordinary call."""

    @wraps(operation)
    def call(self: Facade, /, *args: P.args, **kwargs: P.kwargs) -> T:
        result: T = self._run(getattr(self._queue, operation.__name__)(*args, **kwargs))
        return result

    return call


class StartableFacade(Facade):
    """``Facade`` of what is started and closed: by calls of the same names, or by a ``with`` block."""

    start = blocking(Startable.start)
    close = blocking(Startable.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
