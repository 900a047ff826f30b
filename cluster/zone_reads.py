"""Reading one zone alone, through the coordinator's own way to it.

A client of Dynomite that wants to know what a single rack has opens a connection at DC_ONE to that rack's Dynomite.
This is the same for a lab in which clients talk to the coordinator of their own zone: the request takes the same link,
with its lag and its cuts, and nobody votes on the answer.
"""

from cluster.commands.routes import is_write
from cluster.connections.batch import Answer, Batch
from cluster.coordinator import Coordinator
from cluster.votes.vote import ZoneFailure
from engine.ports import Command, Promise, Reply, Runtime, Unavailable


class ZoneReads:
    """``Connection`` that reads ``zone`` as the coordinator reaches it. Raises ``ValueError`` for a write."""

    def __init__(self, coordinator: Coordinator, zone: str, *, runtime: Runtime) -> None:
        names = [coordinator.zone_name(position) for position in range(len(coordinator.channels))]
        if zone not in names:
            raise ValueError(f"zone must be one of {', '.join(names)}, got {zone!r}")
        self._channel = coordinator.channels[names.index(zone)]
        self._coordinator = coordinator
        self._runtime = runtime

    async def execute(self, *commands: Command) -> list[Reply]:
        if any(map(is_write, commands)):
            raise ValueError(f"only reads are sent to a single zone, got {[command[0] for command in commands]}")
        if not self._coordinator.running:
            raise Unavailable(f"coordinator of zone {self._coordinator.zone}: connection refused")
        answered: Promise[Answer] = self._runtime.promise()
        self._channel.submit(Batch(commands, writes=False), answered.set_result)
        answer = await answered
        if isinstance(answer, ZoneFailure):
            raise Unavailable(*answer.args)
        return answer
