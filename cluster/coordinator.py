"""The coordinator of one zone: sends each command where it belongs, collects the replies, answers the client.

As in Dynomite, a write goes to every zone of the data centre whatever the level; a read goes to the own zone only at
DC_ONE and to every zone at the quorum levels. The level decides how many replies are awaited and what happens when
they differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from cluster.batch import Answer, Batch, Channel
from cluster.commands import READING, Route, is_script, route
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
        self.channels = [channels[name] for name in self._zones]

    @property
    def connected(self) -> bool:
        return all(channel.connected for channel in self.channels)

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

    def zone_name(self, position: int) -> str:
        return self._zones[position]

    def new_promise(self) -> Promise[None]:
        return self._runtime.promise()


class CoordinatedConnection:
    """``Connection`` through a coordinator at one level."""

    def __init__(self, coordinator: Coordinator, level: Level) -> None:
        self._coordinator = coordinator
        self._level = level

    async def execute(self, *commands: Command) -> list[Reply]:
        return await self._coordinator.execute(self._level, commands)


class _Operation:
    """One pipeline: a vote for each command, over the zones that the command was routed to."""

    __slots__ = ("_commands", "_coordinator", "_level", "_routes", "_undecided", "_votes", "decided")

    def __init__(self, coordinator: Coordinator, level: Level, commands: Sequence[Command]) -> None:
        self._coordinator = coordinator
        self._level = level
        self._commands = commands
        self._routes = [route(command) for command in commands]
        self._votes = [self._new_vote(kind) for kind in self._routes]
        self._undecided = len(commands)
        self.decided = coordinator.new_promise()

    def _new_vote(self, kind: Route) -> Vote:
        zones = len(self._coordinator.channels)
        if kind is Route.LOCAL_READ or (kind is Route.READ and self._level is Level.DC_ONE):
            return Vote(Level.DC_ONE, zones=1)
        if kind is Route.BROADCAST:
            return Vote(Level.DC_ONE, zones=zones)
        return Vote(self._level, zones=zones)

    def send(self) -> None:
        """Hand each zone its part of the pipeline, in the order of the commands."""
        writes = any(kind not in READING for kind in self._routes)
        indexes = range(len(self._commands))
        everywhere: Sequence[int] = [index for index in indexes if self._votes[index].zones > 1]
        whole = rest = Batch(self._commands, writes=writes)
        if len(everywhere) == len(indexes):
            everywhere = indexes
        else:
            rest = Batch([self._commands[index] for index in everywhere], writes=writes)
        channels = self._coordinator.channels
        channels[0].submit(whole, partial(self._answer, 0, indexes))
        if everywhere:
            for position in range(1, len(channels)):
                channels[position].submit(rest, partial(self._answer, position, everywhere))

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
        answers = [vote.answer for vote in self._votes]
        if not any(isinstance(answer, ServerError) for answer in answers):
            return answers
        failures = [self._failure(index) for index in range(len(self._votes))]
        certain = next((failure for failure in failures if isinstance(failure, Unavailable)), None)
        unclear = next((failure for failure in failures if isinstance(failure, Indeterminate)), None)
        if unclear is not None:
            raise unclear
        if certain is not None:
            if self._anything_applied():
                raise Indeterminate(*certain.args)
            raise certain
        return answers

    def _failure(self, index: int) -> PortError | None:
        vote = self._votes[index]
        answer = vote.answer
        if not isinstance(answer, ServerError):
            return None
        if self._routes[index] in READING:
            return Unavailable(*answer.args) if isinstance(answer, ZoneFailure) else None
        if self._maybe_applied(index):
            return Indeterminate(*answer.args)
        return Unavailable(*answer.args) if isinstance(answer, ZoneFailure) else None

    def _anything_applied(self) -> bool:
        indexes = range(len(self._votes))
        return any(self._routes[index] not in READING and self._maybe_applied(index) for index in indexes)

    def _maybe_applied(self, index: int) -> bool:
        vote = self._votes[index]
        return vote.maybe_applied or (vote.failed_inside and is_script(self._commands[index]))
