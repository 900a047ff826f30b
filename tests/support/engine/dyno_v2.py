"""What the tests of the pipelined and the multi-shard queue share: connections that are cut, and what Redis holds."""

from dataclasses import dataclass, field

import pytest
from support.engine.dyno import SHARDS, CuttingConnection, OnServer, fresh_name

from zonelab.engine.dyno import LocalOnly
from zonelab.engine.dyno.v2 import PipelinedKeys, PipelinedQueue, PipelinedSettings
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.message import Message
from zonelab.engine.ports import Command, Connection, PortError, Reply, ServerError

LEASE_MS = 1000
REFUSAL = ServerError("OOM command not allowed when used memory > 'maxmemory'.")


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


class PipelinedBench(OnServer):
    """A V2 queue of one shard, and ways to cut its next operation and to look at what it left."""

    def __init__(self, lab, *, compat, unack_ms=LEASE_MS, without=()):
        super().__init__(lab, compat=compat)
        self._without = without
        self._unack_ms = unack_ms
        self.connection = CuttingConnection(self.direct)
        self._name = fresh_name()
        self.queue = self.another(self.connection)

    def another(self, connection=None, **options):
        """Another program on the same shard."""
        return make_pipelined(
            connection or self.direct,
            **options,
            name=self._name,
            runtime=self.lab.runtime,
            clock=self.clock,
            unack_ms=self._unack_ms,
            unack_interval_ms=100,
            compat=self.compat,
            without=self._without,
        )

    def push(self, *ids, **fields):
        self.run(self.queue.push([Message(id=each, **fields) for each in ids]))

    def pop(self, count=10, **options):
        return [delivery.message.id for delivery in self.run(self.queue.pop(count, **options))]

    def content(self):
        return self.run(shard_content(self.direct, self.queue.keys))

    def state(self, message_id):
        return self.content().state(message_id)

    def cut(self, operation, *, after_pipelines, applied):
        """Run ``operation``, which is cut as ``CuttingConnection.cut`` says; its error."""
        self.connection.cut(after_pipelines=after_pipelines, applied=applied)
        with pytest.raises(PortError) as raised:
            self.run(operation)
        self.connection.mend()
        return raised.value

    def lease_ends(self):
        self.clock.advance(LEASE_MS)
        return self.run(self.queue.process_unacks())


class MultiBench(OnServer):
    """A queue over shards a, b and c that serves a; ``connections`` cut single shards."""

    def __init__(self, lab, *, compat):
        super().__init__(lab, compat=compat)
        self.connections = {shard: CuttingConnection(self.direct) for shard in SHARDS}
        self.queue = self.another(by_shard=self.connections)

    def another(self, **settings):
        values = {
            "name": self.queue.name if hasattr(self, "queue") else None,
            "unack_ms": LEASE_MS,
            "unack_interval_ms": 100,
            "compat": self.compat,
        }
        return make_multi(self.direct, runtime=self.lab.runtime, clock=self.clock, **{**values, **settings})

    def push(self, *ids, queue=None):
        return self.run((queue or self.queue).push([Message(id=each) for each in ids]))

    def states(self, message_id):
        """By shard, only where there is anything."""
        states = {}
        for shard, queue in self.queue.queues.items():
            state = self.run(shard_content(self.direct, queue.keys)).state(message_id)
            if state != "-":
                states[shard] = state
        return states

    def waiting(self):
        """Ids by shard."""
        contents = {shard: self.run(shard_content(self.direct, each.keys)) for shard, each in self.queue.queues.items()}
        return {shard: list(content.waiting) for shard, content in contents.items()}

    def kill(self, shard, *, applied=None):
        self.connections[shard].cut(after_pipelines=0, applied=applied)

    def put(self, shard, *ids):
        """Push to one shard, and let its consumer have them."""
        served = self.another(shard=shard, strategy=LocalOnly(shard))
        self.run(served.queues[shard].push([Message(id=each) for each in ids]))
        return self.run(served.pop(len(ids)))
