"""Connections past the vote: to one server, to the servers of one zone, and for reading one zone from a coordinator."""

from collections.abc import Mapping

from zonelab.cluster.commands.keys import keys_of
from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.coordinators.coordinator import Coordinator
from zonelab.cluster.topology.topology import Rack, Topology
from zonelab.engine.ports import Command, Connection, Indeterminate, Promise, Reply, Runtime, Unavailable


async def ask(channel: Channel, batch: Batch, *, runtime: Runtime) -> Answer:
    """Send ``batch`` on ``channel`` and wait for the answer."""
    answered: Promise[Answer] = runtime.promise()
    channel.submit(batch, answered.set_result)
    return await answered


class DirectConnection:
    """``Connection`` to one server, past every coordinator: for administration, end states and comparisons."""

    def __init__(self, server: Channel, *, runtime: Runtime) -> None:
        self.server = server
        self._runtime = runtime

    async def execute(self, *commands: Command) -> list[Reply]:
        batch = Batch(commands, writes=any(map(is_write, commands)))
        answer = await ask(self.server, batch, runtime=self._runtime)
        if isinstance(answer, ZoneFailure):
            applied = answer.maybe_applied and batch.writes
            raise (Indeterminate if applied else Unavailable)(*answer.args)
        return answer


class DirectZone:
    """``Connection`` to the servers of one zone that has several, past every coordinator.

    It asks the owner of each command's first key, or the zone's first server if there is no key.
    """

    def __init__(self, rack: Rack, topology: Topology, servers: Mapping[str, Connection]) -> None:
        self._rack = rack
        self._topology = topology
        self._servers = servers

    async def execute(self, *commands: Command) -> list[Reply]:
        parts: dict[str, list[int]] = {}
        for position, command in enumerate(commands):
            parts.setdefault(self._owner(command), []).append(position)
        replies: list[Reply] = [None] * len(commands)
        for owner, positions in parts.items():
            answers = await self._servers[owner].execute(*(commands[position] for position in positions))
            for position, answer in zip(positions, answers, strict=True):
                replies[position] = answer
        return replies

    def _owner(self, command: Command) -> str:
        keys = keys_of(command)
        return self._rack.owner(self._topology.token(keys[0])).name if keys else self._rack.nodes[0].name


class SingleZoneReads:
    """``Connection`` that reads ``zone`` alone, on the coordinator's own way to it. Raises ``ValueError`` for a write.

    A client of Dynomite that wants to know what a single rack has opens a connection at DC_ONE to that rack's Dynomite.
    This is the same for a lab in which clients talk to the coordinator of their own zone: the request takes the same
    link, with its lag and its cuts, and nobody votes on the answer.
    """

    def __init__(self, coordinator: Coordinator, zone: str, *, runtime: Runtime) -> None:
        if zone not in coordinator.zones:
            raise ValueError(f"zone must be one of {', '.join(coordinator.zones)}, got {zone!r}")
        self._coordinator = coordinator
        self._direct = DirectConnection(coordinator.channels[coordinator.zones.index(zone)], runtime=runtime)

    async def execute(self, *commands: Command) -> list[Reply]:
        if any(map(is_write, commands)):
            raise ValueError(f"only reads are sent to a single zone, got {[command[0] for command in commands]}")
        if not self._coordinator.running:
            raise Unavailable(f"coordinator of zone {self._coordinator.zone}: connection refused")
        return await self._direct.execute(*commands)
