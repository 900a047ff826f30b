"""Connections with one planted bug each: what a hunt of a workload finds and a shrinker must make small."""

from collections.abc import Callable
from functools import partial
from typing import Any

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.votes.levels import Setting
from zonelab.engine.ports import Command, Connection, Reply, Unavailable
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.spec.scenario import Scenario

SCENARIO = {
    "name": "planted",
    "persistence": "none",
    "links": {"lag": "lognormal:2ms:15ms"},
    "load": {"duration_s": 1, "rate_per_s": {"a": 60}},
    "faults": [
        {"kind": "lag", "lag": "constant:5ms", "at_s": 0.1, "for_s": 0.2},
        {"kind": "slow", "zone": "c", "factor": 20, "at_s": 0.4, "for_s": 0.3},
    ],
}
"""One zone's clients and faults that do no harm: at DC_QUORUM nothing goes wrong unless the connection is spoilt."""


class Spoilt:
    """A connection that does right; subclasses do not."""

    def __init__(self, connection: Connection) -> None:
        self.sound = connection
        self.seen = 0

    async def execute(self, *commands: Command) -> list[Reply]:
        (command,) = commands
        self.seen += 1
        return [await self.one(command)]

    async def one(self, command: Command) -> Reply:
        (reply,) = await self.sound.execute(command)
        return reply


class AnswersReadsFromACache(Spoilt):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.cache: dict[Any, Reply] = {}

    async def one(self, command: Command) -> Reply:
        if command[0] == "GET" and command[1] in self.cache:
            return self.cache[command[1]]
        reply = await super().one(command)
        if command[0] == "GET":
            self.cache[command[1]] = reply
        return reply


class ConfirmsWhatItDrops(Spoilt):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.written = 0

    async def one(self, command: Command) -> Reply:
        if command[0] in ("SET", "SADD"):
            self.written += 1
            if self.written % 4 == 0:
                return b"OK" if command[0] == "SET" else 1
        return await super().one(command)


class DeniesWhatItDid(Spoilt):
    async def one(self, command: Command) -> Reply:
        reply = await super().one(command)
        if command[0] == "SET" and self.seen % 4 == 0:
            raise Unavailable("ERR never sent")
        return reply


class GrantsEveryLock(Spoilt):
    async def one(self, command: Command) -> Reply:
        await super().one(command)
        return b"OK"


class CountsBehind(Spoilt):
    async def one(self, command: Command) -> Reply:
        return await super().one(("GET", command[1]) if self.seen % 3 == 0 else command)


class LooksInsteadOfTaking(Spoilt):
    async def one(self, command: Command) -> Reply:
        return await super().one(("LINDEX", command[3], 0) if command[0] == "EVAL" else command)


class _SpoiltTestbed:
    def __init__(self, cluster: SimCluster, spoilt: Callable[[Connection], Spoilt]) -> None:
        self._cluster = cluster
        self._spoilt = spoilt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def connection(self, zone: str, level: Setting) -> Spoilt:
        return self._spoilt(self._cluster.connection(zone, level))


def attempt_with(spoilt: Callable[[Connection], Spoilt]) -> Callable[[Scenario], Trial]:
    return partial(attempt, observe=lambda cluster: _SpoiltTestbed(cluster, spoilt))


PLANTED_ACCESSES: dict[str, tuple[Callable[[Connection], Spoilt], Anomaly, str, int]] = {
    "reads come from a cache": (AnswersReadsFromACache, Anomaly.STALE_READ, "register", 3),
    "and so registers are none": (AnswersReadsFromACache, Anomaly.NONLINEARIZABLE, "register", 3),
    "a write is dropped and confirmed": (ConfirmsWhatItDrops, Anomaly.LOST_WRITE, "register", 4),
    "an addition is dropped and confirmed": (ConfirmsWhatItDrops, Anomaly.LOST_ADD, "set", 4),
    "a write is done and denied": (DeniesWhatItDid, Anomaly.APPLIED_AFTER_FAIL, "register", 4),
    "a lock is granted to everybody": (GrantsEveryLock, Anomaly.TWO_OWNERS, "lock", 2),
    "a counter is read instead of increased": (CountsBehind, Anomaly.DUPLICATE_NUMBER, "counter", 3),
    "an item is shown instead of taken": (LooksInsteadOfTaking, Anomaly.POPPED_TWICE, "list", 3),
}
"""Bug → the connection that has it, what it causes, in which workload, and how many operations show it."""
