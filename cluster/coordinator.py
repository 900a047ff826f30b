"""The coordinator of one zone: sends each command where it belongs, collects the replies, answers the client.

As in Dynomite, a write goes to every zone of the data centre whatever the level; a read goes to the own zone only at
DC_ONE and to every zone at the quorum levels. The level decides how many replies are awaited and what happens when
they differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from cluster import commands as routing
from cluster.batch import Answer, Batch, Channel
from cluster.levels import ZONES_MAX, Level, Vote, ZoneFailure
from cluster.statistics import CoordinatorStatistics
from engine.ports import (
    Command,
    Connection,
    Indeterminate,
    PortError,
    Promise,
    Reply,
    Runtime,
    ServerError,
    Unavailable,
)


class Coordinator:
    """Serves the clients of ``zone``. ``channels`` lead to every zone of the data centre, its own among them."""

    def __init__(self, *, zone: str, channels: Mapping[str, Channel], runtime: Runtime) -> None:
        if zone not in channels:
            raise ValueError(f"coordinator of zone {zone!r} has no channel to its own zone, only to {list(channels)}")
        if len(channels) > ZONES_MAX:
            raise ValueError(f"a data centre has 1 to {ZONES_MAX} zones, got {list(channels)}")
        self.zone = zone
        self.statistics = CoordinatorStatistics()
        self._runtime = runtime
        # The own zone first: it is vote position 0, and it is what a client's request reaches first.
        self._zones = [zone, *(name for name in channels if name != zone)]
        self._channels = [channels[name] for name in self._zones]

    @property
    def connected(self) -> bool:
        return all(channel.connected for channel in self._channels)

    def connection(self, level: Level) -> Connection:
        """A client's connection at ``level``. It holds no state, so any number of clients may share it."""
        return CoordinatedConnection(self, level)

    async def execute(self, level: Level, commands: Sequence[Command]) -> list[Reply]:
        """Run one pipeline; errors as in ``Connection.execute``. Its commands are voted on one by one."""
        if not commands:
            return []
        operation = _Operation(self, level, commands)
        operation.send()
        await operation.decided
        return operation.result()

    def channel(self, position: int) -> Channel:
        return self._channels[position]

    def zone_name(self, position: int) -> str:
        return self._zones[position]

    def new_promise(self) -> Promise[None]:
        return self._runtime.promise()

    @property
    def positions(self) -> range:
        return range(len(self._zones))


class CoordinatedConnection:
    """``Connection`` through a coordinator at one level."""

    def __init__(self, coordinator: Coordinator, level: Level) -> None:
        self._coordinator = coordinator
        self._level = level

    async def execute(self, *commands: Command) -> list[Reply]:
        return await self._coordinator.execute(self._level, commands)


class _Operation:
    """One pipeline: a vote for each command, over the zones that the command was routed to."""

    __slots__ = ("_commands", "_coordinator", "_level", "_undecided", "_votes", "decided")

    def __init__(self, coordinator: Coordinator, level: Level, commands: Sequence[Command]) -> None:
        self._coordinator = coordinator
        self._level = level
        self._commands = commands
        self._votes = [self._new_vote(command) for command in commands]
        self._undecided = len(commands)
        self.decided = coordinator.new_promise()

    def _new_vote(self, command: Command) -> Vote:
        name = routing.name(command)
        zones = len(self._coordinator.positions)
        if name in routing.LOCAL_READS or (self._level is Level.DC_ONE and name in routing.READS):
            return Vote(Level.DC_ONE, zones=1)
        if name in routing.BROADCASTS:
            return Vote(Level.DC_ONE, zones=zones)
        return Vote(self._level, zones=zones)

    def send(self) -> None:
        """Hand each zone its part of the pipeline, in the order of the commands."""
        everywhere = [index for index, vote in enumerate(self._votes) if vote.zones > 1]
        whole = Batch(self._commands)
        rest = whole if len(everywhere) == len(self._commands) else Batch([self._commands[i] for i in everywhere])
        for position in self._coordinator.positions:
            indexes: Sequence[int] = range(len(self._commands)) if position == 0 else everywhere
            if indexes:
                batch = whole if position == 0 else rest
                self._coordinator.channel(position).submit(batch, partial(self._answer, position, indexes))

    def _answer(self, position: int, indexes: Sequence[int], answer: Answer) -> None:
        replies: Iterable[Reply] = answer if isinstance(answer, list) else [answer] * len(indexes)
        coordinator = self._coordinator
        if isinstance(answer, ZoneFailure):
            coordinator.statistics.count_failure(coordinator.zone_name(position), str(answer))
        for index, reply in zip(indexes, replies, strict=True):
            vote = self._votes[index]
            if vote.submit(position, reply):
                self._undecided -= 1
            if vote.complete:
                coordinator.statistics.count(self._level, vote)
        if self._undecided == 0 and not self.decided.done():
            self.decided.set_result(None)

    def result(self) -> list[Reply]:
        """The answers; raises if any command has none of its own."""
        failures = [self._failure(index) for index in range(len(self._votes))]
        certain = next((failure for failure in failures if isinstance(failure, Unavailable)), None)
        unclear = next((failure for failure in failures if isinstance(failure, Indeterminate)), None)
        if unclear is not None:
            raise unclear
        if certain is not None:
            if self._anything_applied():
                raise Indeterminate(*certain.args)
            raise certain
        return [vote.answer for vote in self._votes]

    def _failure(self, index: int) -> PortError | None:
        vote = self._votes[index]
        answer = vote.answer
        if not isinstance(answer, ServerError):
            return None
        if routing.is_read(self._commands[index]):
            return Unavailable(*answer.args) if isinstance(answer, ZoneFailure) else None
        if vote.maybe_applied:
            return Indeterminate(*answer.args)
        return Unavailable(*answer.args) if isinstance(answer, ZoneFailure) else None

    def _anything_applied(self) -> bool:
        return any(
            vote.maybe_applied and not routing.is_read(command)
            for vote, command in zip(self._votes, self._commands, strict=True)
        )
