"""What the tests of dyno-queues share: a clock that stands still, a connection that breaks, and what Redis holds."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from engine.common.timings import MetricsSource
from engine.dyno import DynoQueue, DynoSettings, Keys, ShardingStrategy
from engine.ports import Command, Connection, Reply, Runtime

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


class BreakingConnection:
    """Lets ``allowed`` commands through, then raises ``error``: before the command, or after it took effect."""

    def __init__(self, inner: Connection) -> None:
        self._inner = inner
        self._allowed: int | None = None
        self._error: Exception = Exception()
        self._applied = False
        self.sent: list[Command] = []

    def break_after(self, allowed: int, error: Exception, *, applied: bool) -> None:
        self._allowed, self._error, self._applied = allowed, error, applied

    def mend(self) -> None:
        self._allowed = None

    async def execute(self, *commands: Command) -> list[Reply]:
        assert len(commands) == 1, "the queue sends one command a round trip"
        if self._allowed == 0:
            if self._applied:
                await self._inner.execute(*commands)
            raise self._error
        if self._allowed is not None:
            self._allowed -= 1
        self.sent += commands
        return await self._inner.execute(*commands)


class Interceptor:
    """Does something else first, once, when a command of the given name comes by."""

    def __init__(self, inner: Connection, name: str, first: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._inner = inner
        self._name = name
        self._first: Callable[[], Coroutine[Any, Any, None]] | None = first

    async def execute(self, *commands: Command) -> list[Reply]:
        if commands[0][0] == self._name and self._first is not None:
            first, self._first = self._first, None
            await first()
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


async def content(connection: Connection, keys: Keys, shards: tuple[str, ...] = SHARDS) -> Content:
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
