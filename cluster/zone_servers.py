"""A client straight on the servers of one zone, past every coordinator, where the zone has several."""

from collections.abc import Mapping

from cluster.commands.keys import keys_of
from cluster.topology.topology import Rack, Topology
from engine.ports import Command, Connection, Reply


class ZoneServers:
    """``Connection`` that asks the owner of each command's first key; the zone's first server, if it has none."""

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
