"""Rings of gateways over nodes, which are simulated servers without a network between."""

from random import Random

import hiredis

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.connections.failures import PEER_NOT_CONNECTED, ZoneFailure
from zonelab.cluster.coordinators.token_ring import RingStatistics
from zonelab.cluster.real.upstream import pack
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, table_from
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.wire_ring import PassingRing, WireRing
from zonelab.cluster.sim.redis import RedisModel
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level

ONE, QUORUM, SAFE, EACH = Level
READ, WRITE = KINDS[CommandRoute.READ], KINDS[CommandRoute.WRITE]
COUNTED = [
    [
        *("flags", [], "begin_search", ["type", "index", "spec", ["index", 2]]),
        *("find_keys", ["type", "keynum", "spec", ["keynumidx", 0, "firstkey", 1, "keystep", 1]]),
    ]
]
TABLE = table_from(
    [
        ["get", 2, ["readonly"], 1, 1, 1, [], [], [], []],
        ["set", -3, ["write"], 1, 1, 1, [], [], [], []],
        ["incr", 2, ["write"], 1, 1, 1, [], [], [], []],
        ["mget", -2, ["readonly"], 1, -1, 1, [], [], [], []],
        ["mset", -3, ["write"], 1, -1, 2, [], [], [], []],
        ["del", -2, ["write"], 1, -1, 1, [], [], [], []],
        ["exists", -2, ["readonly"], 1, -1, 1, [], [], [], []],
        ["smove", 4, ["write"], 1, 2, 1, [], [], [], []],
        ["eval", -3, ["movablekeys"], 0, 0, 0, [], [], COUNTED, []],
        ["flushall", -1, ["write"], 0, 0, 0, [], [], [], []],
        ["dbsize", 1, ["readonly"], 0, 0, 0, [], [], [], []],
        ["multi", 1, [], 0, 0, 0, [], [], [], []],
        ["exec", 1, [], 0, 0, 0, [], [], [], []],
    ]
)


class Node:
    """A simulated server. ``heard``: every batch as it came. ``down``: batches are refused."""

    def __init__(self):
        self.model = RedisModel(clock_us=lambda: 0, random=Random(1))
        self.heard = []
        self.down = False

    @property
    def connected(self):
        return not self.down

    def reset(self):
        self.down = True

    @property
    def data(self):
        return self.model.store.snapshot().values

    @property
    def words(self):
        return [words for batch in self.heard for words in batch]

    def submit(self, batch, done):
        if self.down:
            done(ZoneFailure(PEER_NOT_CONNECTED, maybe_applied=False))
            return
        commands = parsed(batch.packed) if batch.packed is not None else [list(one) for one in batch.commands]
        self.heard.append(commands)
        replies = [self.execute(words) for words in commands]
        if getattr(batch.commands, "replies", 1) > 1:
            replies = replies[-1:]
        raw = batch.packed is not None
        done([as_bytes(reply) for reply in replies] if raw else replies)

    def execute(self, words):
        return b"OK" if words[0] in (b"MULTI", b"EXEC") else self.model.execute(tuple(words))


def as_bytes(reply):
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, list):
        return wire.array(map(as_bytes, reply))
    return wire.integer(reply) if isinstance(reply, int) else wire.bulk(reply)


def parsed(packed):
    reader = hiredis.Reader()
    reader.feed(packed)
    found = []
    while (one := reader.gets()) is not False:
        found.append(one)
    return found


class Forward(Node):
    """The way to a coordinator of another data centre, which is there and passes on if ``to`` is given."""

    def __init__(self, to=None):
        super().__init__()
        self.to = to

    def submit(self, batch, done):
        if self.to is None:
            super().submit(batch, done)
            return
        self.heard.append(parsed(batch.packed))
        self.to.submit(EACH, batch.commands, lambda outcome: done([]), packed=batch.packed)


class Cluster:
    """``node``'s ring over nodes in memory. ``passing``: rings there are at the far ends of its forwards."""

    def __init__(self, topology, *, node="a", passing=False):
        self.topology = topology
        self.nodes = {name: Node() for name in topology.nodes}
        positions = topology.positions
        self.forwards = {
            far: Forward(self.ring(PassingRing, far) if passing else None)
            for far in topology.nodes
            if positions[far].dc is not positions[node].dc
        }
        self.own = self.ring(WireRing, node, forwards=self.forwards)

    def ring(self, kind, node, *, forwards=None):
        return kind(
            table=TABLE,
            node=node,
            topology=self.topology,
            channels=self.nodes,
            forwards=forwards or {},
            runtime=SimRuntime(seed=1),
            statistics=RingStatistics(),
        )

    def ask(self, kind, *commands, level=QUORUM, **marks):
        """The answer to each command, parsed; errors are their texts."""
        packed = b"".join(pack(tuple(one)) for one in commands)
        count = 1 if marks else len(commands)
        answers = []
        self.own.submit(level, WireCommands([kind.example] * count, **marks), answers.append, packed=packed)
        [outcome] = answers
        return [read(reply) for reply in parsed(wire.joined(outcome))]

    def transaction(self, *commands):
        inside = [(b"MULTI",), *commands, (b"EXEC",)]
        return self.ask(WRITE, *inside, replies=len(inside))

    def owners(self, key):
        token = self.topology.token(key)
        return {rack.owner(token).name for rack in self.topology.racks}

    def own_owners(self, key):
        return set(self.topology.dcs[0].owners(self.topology.token(key)))


def read(reply):
    return str(reply) if isinstance(reply, hiredis.ReplyError) else reply
