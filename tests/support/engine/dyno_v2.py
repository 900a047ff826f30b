"""What the tests of the pipelined and the multi-shard queue share: connections that are cut, and what Redis holds."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.engine.dyno import SHARDS, fresh_name

from engine.dyno.v2 import PipelinedKeys, PipelinedQueue, PipelinedSettings
from engine.dyno.v2.multi import MultiQueue
from engine.ports import Command, Connection, Indeterminate, Reply, ServerError, Unavailable

REFUSAL = ServerError("OOM command not allowed when used memory > 'maxmemory'.")


class CuttingConnection:
    """Lets pipelines through and notes them as (label, commands), until one is cut."""

    def __init__(self, inner: Connection, *, label: str = "Q", log: list | None = None) -> None:
        self._inner = inner
        self._label = label
        self.log: list[tuple[str, tuple[Command, ...]]] = [] if log is None else log
        self._let_through: int | None = None
        self._applied: int | None = None

    def cut(self, *, after_pipelines: int, applied: int | None) -> None:
        """Of the pipeline after so many, the first ``applied`` commands take effect; None: the client never sent it."""
        self._let_through, self._applied = after_pipelines, applied

    def mend(self) -> None:
        self._let_through = None

    async def execute(self, *commands: Command) -> list[Reply]:
        if self._let_through == 0:
            if self._applied is None:
                raise Unavailable("not sent")
            if self._applied:
                await self._inner.execute(*commands[: self._applied])
            raise Indeterminate("cut")
        if self._let_through is not None:
            self._let_through -= 1
        self.log.append((self._label, commands))
        return await self._inner.execute(*commands)


class Refusing:
    """Answers commands of one name that name one id with an error, as a server out of memory would."""

    def __init__(self, inner: Connection, *, names: tuple[str, ...], message_id: str) -> None:
        self._inner = inner
        self._names = names
        self._id = message_id

    async def execute(self, *commands: Command) -> list[Reply]:
        bad = [command[0] in self._names and self._id in command for command in commands]
        sent = [command for command, refused in zip(commands, bad, strict=True) if not refused]
        replies = iter(await self._inner.execute(*sent) if sent else [])
        return [REFUSAL if refused else next(replies) for refused in bad]


@dataclass(frozen=True)
class ShardContent:
    """All that Redis holds of one shard: id → JSON, id → score as the server prints it."""

    payloads: dict[str, bytes] = field(default_factory=dict)
    waiting: dict[str, float] = field(default_factory=dict)
    leased: dict[str, float] = field(default_factory=dict)

    def state(self, message_id: str) -> str:
        """``H`` payload, ``Q`` waiting, ``U`` leased; ``-`` for nothing."""
        places = {"H": self.payloads, "Q": self.waiting, "U": self.leased}
        return " ".join(name for name, ids in places.items() if message_id in ids) or "-"


async def shard_content(connection: Connection, keys: PipelinedKeys) -> ShardContent:
    """Read the whole of a shard in one pipeline."""
    replies = await connection.execute(
        ("ZRANGE", keys.waiting, 0, -1, "WITHSCORES"),
        *(("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys.leases),
        *(("HGETALL", key) for key in keys.payloads),
    )
    waiting, leases, payloads = replies[0], replies[1 : 1 + len(keys.leases)], replies[1 + len(keys.leases) :]
    return ShardContent(
        payloads={member: raw for flat in payloads for member, raw in _pairs(flat)},
        waiting={member: float(score) for member, score in _pairs(waiting)},
        leased={member: float(score) for flat in leases for member, score in _pairs(flat)},
    )


def _pairs(flat):
    return [(member.decode(), value) for member, value in zip(flat[::2], flat[1::2], strict=True)]


def make_pipelined(connection, *, runtime, clock, local=None, name=None, metrics=None, **settings) -> PipelinedQueue:
    """The queue of shard ``a`` on ``connection``, unless said otherwise."""
    return PipelinedQueue(
        name or fresh_name(),
        runtime=runtime,
        clock=clock,
        quorum=connection,
        local=local or connection,
        settings=PipelinedSettings(**{"prefix": "test", "shard": "a", **settings}),
        metrics=metrics,
    )


def make_multi(
    connection,
    *,
    runtime,
    clock,
    local=None,
    name=None,
    shards=SHARDS,
    shard="a",
    strategy=None,
    by_shard=None,
    **settings,
) -> MultiQueue:
    """A queue of ``shards`` that serves ``shard``. ``by_shard``: connections of single shards."""
    name = name or fresh_name()
    queues = {
        each: make_pipelined(
            (by_shard or {}).get(each, connection),
            local=local,
            runtime=runtime,
            clock=clock,
            name=name,
            **{**settings, "shard": each},
        )
        for each in shards
    }
    return MultiQueue(name, shard=shard, queues=queues, strategy=strategy)


def in_both_modes(make: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """Fixtures: what ``make`` makes of the fixture ``lab`` by default, as the original, and in either mode."""

    @pytest.fixture
    def default(lab):
        return make(lab, compat=False)

    @pytest.fixture
    def original(lab):
        return make(lab, compat=True)

    @pytest.fixture(params=[False, True], ids=["default", "compat"])
    def either(request, lab):
        return make(lab, compat=request.param)

    return default, original, either
