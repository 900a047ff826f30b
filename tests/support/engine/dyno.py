"""What the tests of dyno-queues share: a clock that stands still, a connection that breaks, and what Redis holds."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from zonelab.engine.common.timings import MetricsSource
from zonelab.engine.dyno import DynoQueue, DynoSettings, QueueKeys, ShardingStrategy
from zonelab.engine.ports import Command, Connection, Indeterminate, Reply, Runtime, Unavailable

EPOCH_MS = 1_700_000_000_000
SHARDS = ("a", "b", "c")

_names = count()


def fresh_name() -> str:
    """A queue name that no other test of the process uses."""
    return f"queue{next(_names)}"


class SettableClock:
    """Stands still until it is told to go on."""

    def __init__(self, now_ms: int = EPOCH_MS) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms

    def advance(self, duration_ms: int) -> None:
        self._now_ms += duration_ms


class CuttingConnection:
    """Lets pipelines through and notes them as (label, commands), until one is cut. ``failed``: how many were."""

    def __init__(self, inner: Connection, *, label: str = "Q", log: list | None = None) -> None:
        self._inner = inner
        self._label = label
        self.log: list[tuple[str, tuple[Command, ...]]] = [] if log is None else log
        self._let_through: int | None = None
        self._applied: int | None = None
        self.failed = 0

    def cut(self, *, after_pipelines: int, applied: int | None) -> None:
        """Of the pipeline after so many, the first ``applied`` commands take effect; None: the client never sent it."""
        self._let_through, self._applied = after_pipelines, applied

    def mend(self) -> None:
        self._let_through = None

    async def execute(self, *commands: Command) -> list[Reply]:
        if self._let_through == 0:
            self.failed += 1
            if self._applied is None:
                raise Unavailable("not sent")
            if self._applied:
                await self._inner.execute(*commands[: self._applied])
            raise Indeterminate("cut")
        if self._let_through is not None:
            self._let_through -= 1
        self.log.append((self._label, commands))
        return await self._inner.execute(*commands)


class Interceptor:
    """Does something else first, once, when the ``nth`` command of the given name comes by."""

    def __init__(
        self, inner: Connection, name: str, first: Callable[[], Coroutine[Any, Any, None]], nth: int = 1
    ) -> None:
        self._inner, self._name, self._first, self._left = inner, name, first, nth

    async def execute(self, *commands: Command) -> list[Reply]:
        if commands[0][0] == self._name:
            self._left -= 1
            if self._left == 0:
                await self._first()
        return await self._inner.execute(*commands)


@dataclass(frozen=True)
class Content:
    """All that Redis holds of a queue: id → JSON, and for each shard id → score, as the server prints them."""

    payloads: dict[str, bytes] = field(default_factory=dict)
    waiting: dict[str, dict[str, float]] = field(default_factory=dict)
    unacked: dict[str, dict[str, float]] = field(default_factory=dict)

    def state(self, message_id: str) -> str:
        """``H`` if the payload is there, ``Q:x`` and ``U:x`` for each shard x that lists it; empty if nothing is."""
        parts = ["H"] if message_id in self.payloads else []
        parts += [f"Q:{shard}" for shard, entries in self.waiting.items() if message_id in entries]
        parts += [f"U:{shard}" for shard, entries in self.unacked.items() if message_id in entries]
        return " ".join(parts)


async def content(connection: Connection, keys: QueueKeys, shards: tuple[str, ...] = SHARDS) -> Content:
    """Read the whole of a queue in one pipeline. Shards without entries are left out."""
    commands: list[Command] = [("HGETALL", keys.messages)]
    for shard in shards:
        commands += [
            ("ZRANGE", keys.queue_of(shard), 0, -1, "WITHSCORES"),
            ("ZRANGE", keys.unack(shard), 0, -1, "WITHSCORES"),
        ]
    payloads, *sets = await connection.execute(*commands)
    scored = [{member.decode(): float(score) for member, score in _pairs(flat)} for flat in sets]
    return Content(
        payloads={member.decode(): raw for member, raw in _pairs(payloads)},
        waiting={shard: entries for shard, entries in zip(shards, scored[::2], strict=True) if entries},
        unacked={shard: entries for shard, entries in zip(shards, scored[1::2], strict=True) if entries},
    )


def _pairs(flat):
    return list(zip(flat[::2], flat[1::2], strict=True))


def make_queue(
    connection: Connection,
    *,
    runtime: Runtime,
    clock: SettableClock,
    local: Connection | None = None,
    name: str | None = None,
    strategy: ShardingStrategy | None = None,
    metrics: MetricsSource | None = None,
    **settings,
) -> DynoQueue:
    """A queue on ``connection`` with three shards, of which it serves ``a``, unless said otherwise."""
    values = {"prefix": "test", "shards": SHARDS, "shard": "a", "unack_ms": 60_000, **settings}
    return DynoQueue(
        name or fresh_name(),
        runtime=runtime,
        clock=clock,
        quorum=connection,
        local=local or connection,
        settings=DynoSettings(**values),
        strategy=strategy,
        metrics=metrics,
    )


class OnServer:
    """A queue on one server with a clock that stands still; subclasses make it."""

    def __init__(self, lab, *, compat: bool, now_ms: int = EPOCH_MS) -> None:
        self.lab = lab
        self.compat = compat
        self.clock = SettableClock(now_ms)
        self.direct = lab.direct("a")

    def run(self, operation):
        return self.lab.run(operation)

    def redis(self, *command):
        (reply,) = self.run(self.direct.execute(command))
        return reply

    def outcome(self, operation):
        """What it returned, ids of what has any, or the name of its error."""
        try:
            return _ids_of(self.run(operation))
        except Exception as error:
            return type(error).__name__

    def sent(self, operation, *, word=str):
        """What another program's ``operation`` sends: by round trip Q or N (quorum, local) and its commands as text."""
        log = []
        quorum, local = (CuttingConnection(self.direct, label=label, log=log) for label in "QN")
        self.run(operation(self.another(quorum, local=local)))
        return [(label, *(" ".join(map(word, command)) for command in commands)) for label, commands in log]

    def later(self, delay_ms, operation):
        """Do it while something else runs."""

        async def wait():
            await self.lab.runtime.sleep(delay_ms * 1_000_000)
            await operation()

        self.lab.runtime.spawn(wait(), name="later")


def _ids_of(value):
    if isinstance(value, list):
        return [_ids_of(each) for each in value]
    return getattr(getattr(value, "message", value), "id", value)
