"""Measurements that a queue makes of itself.

The names, and what each counts, are those of ``QueueMonitor`` in https://github.com/Netflix/dyno-queues. A queue
without figures measures nothing, for one comparison an operation; one with them adds up a few numbers
(``zonelab.engine.common.prometheus`` makes metrics of them). Times come from the runtime, like all time in the engines.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from zonelab.engine.ports import Runtime
from zonelab.engine.units import NS_PER_MS

P = ParamSpec("P")
T = TypeVar("T")

Labels = tuple[str, str, str]

LABELS = ("class", "queueName", "shard")
CLASS = "QueueMonitor"

TIMERS = ("ack", "get", "peek", "processUnack", "remove", "size")
"""Time of an operation in ms. ``ack`` is also that of ``set_unack_timeout``, as in the original."""

PER_MESSAGE = ("pop", "prefetch", "push")
"""Time of an operation in ms, divided by the messages that it was asked to handle."""

ABOUT = {
    **{name: f"Time of {name} in milliseconds" for name in TIMERS},
    **{name: f"Time of {name} in milliseconds, for each message asked for" for name in PER_MESSAGE},
    "batchSize": "Messages that a pop or push was asked to handle",
    "queueDepth": "Messages waiting or delayed when a run of the unack handler begins",
}


class Stat:
    """Count, total, least and greatest of a series of values."""

    __slots__ = ("count", "max", "min", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.min = 0.0
        self.max = 0.0

    def record(self, value: float) -> None:
        self.min = value if self.count == 0 or value < self.min else self.min
        self.max = max(self.max, value)
        self.count += 1
        self.total += value


class Misses(Protocol):
    """The counters of a queue object, of which the misses are read when somebody asks."""

    misses: int


@dataclass(frozen=True, slots=True)
class Total:
    """A counter that only one kind of queue has: ``value`` is called at each scrape."""

    name: str
    about: str
    value: Callable[[], int]


class QueueMetrics:
    """The figures of one queue object.

    ``whole_ms``: divide times like the original, whose quotient is mostly 0. ``totals``: what the queue counts beyond
    the original's figures.
    """

    def __init__(
        self,
        *,
        queue_name: str,
        shard: str,
        runtime: Runtime,
        counters: Misses,
        whole_ms: bool,
        totals: Sequence[Total] = (),
    ) -> None:
        self.labels = (CLASS, queue_name, shard)
        self.counters = counters
        self.totals = tuple(totals)
        self.stats = {name: Stat() for name in ABOUT}
        self._runtime = runtime
        self._whole_ms = whole_ms

    async def time(self, name: str, operation: Coroutine[Any, Any, T], *, messages: int | None = None) -> T:
        """Run ``operation``; its time counts whatever its end. ``messages``: what it was asked to handle."""
        begin_ns = self._runtime.now_ns()
        try:
            return await operation
        finally:
            self._count(name, self._runtime.now_ns() - begin_ns, messages)

    def _count(self, name: str, duration_ns: int, messages: int | None) -> None:
        shared = 1 if messages is None else max(1, messages)
        self.stats[name].record(
            duration_ns // NS_PER_MS // shared if self._whole_ms else duration_ns / NS_PER_MS / shared
        )
        if messages is not None:
            self.stats["batchSize"].record(shared)


class MetricsSource(Protocol):
    """A place where figures of queue objects are shown, such as ``zonelab.engine.common.prometheus.Metrics``."""

    def add(self, figures: QueueMetrics) -> QueueMetrics: ...


class MetricsOwner(Protocol):
    @property
    def metrics(self) -> QueueMetrics | None: ...


def measured(
    where: MetricsOwner, name: str, operation: Coroutine[Any, Any, T], *, messages: int | None = None
) -> Coroutine[Any, Any, T]:
    """``operation``, so that its time counts under ``name`` if anything is measured."""
    return operation if where.metrics is None else where.metrics.time(name, operation, messages=messages)


def record(where: MetricsOwner, name: str, value: float) -> None:
    if where.metrics is not None:
        where.metrics.stats[name].record(value)


M = TypeVar("M", bound=MetricsOwner)
Operation = Callable[Concatenate[M, P], Coroutine[Any, Any, T]]


def timed(
    name: str, *, messages: Callable[[Any], int] | None = None
) -> Callable[[Operation[M, P, T]], Operation[M, P, T]]:
    """An operation whose time counts under ``name``; ``messages`` says how many its first argument asks for.

    The operation is a method, or a function of a context.
    """

    def decorate(operation: Operation[M, P, T]) -> Operation[M, P, T]:
        wanted = list(signature(operation).parameters)[1] if messages else ""

        @wraps(operation)
        def counted(self: M, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            run = operation(self, *args, **kwargs)
            if self.metrics is None:
                return run
            asked = None if messages is None else messages(args[0] if args else kwargs[wanted])
            return self.metrics.time(name, run, messages=asked)

        return counted

    return decorate


def one(_: object) -> int:
    """Return 1: the number of messages of an operation on one message."""
    return 1
