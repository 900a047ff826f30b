"""The coordinator of one zone: sends each command where it belongs, collects the replies, answers the client.

As in Dynomite, a write goes to every zone of the data centre whatever the level; a read goes to the own zone only at
DC_ONE and to every zone at the quorum levels. The level decides how many replies are awaited and what happens when
they differ.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import cast

from cluster.batch import Answer, Batch, Channel
from cluster.commands import READING, Route, is_script, route
from cluster.levels import ZONES_MAX, Level, Vote, ZoneFailure
from cluster.statistics import CoordinatorStatistics
from engine.ports import (
    Command,
    Connection,
    Indeterminate,
    PortError,
    Reply,
    Runtime,
    ServerError,
    Unavailable,
)

COORDINATOR_DOWN = "coordinator: connection refused"
COORDINATOR_DIED = "coordinator: connection reset"


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
        self._running = True
        self._deaths = 0

    @property
    def connected(self) -> bool:
        return self._running and all(channel.connected for channel in self.channels)

    def crash(self) -> None:
        """The process ends: its connections break, and until ``restart`` clients cannot reach it.

        What clients were waiting for ends with an error, even if the answer was there already: nobody heard it. To
        break the way to it from other zones is up to the caller; cut its links.
        """
        self._running = False
        self._deaths += 1
        for channel in self.channels:
            channel.reset()

    def restart(self) -> None:
        """Another process serves. It reaches the zones as its connections come back, after their back-off."""
        self._running = True

    def connection(self, level: Level) -> Connection:
        """A client's connection at ``level``. It holds no state, so any number of clients may share it."""
        return CoordinatedConnection(self, level)

    async def execute(self, level: Level, commands: Sequence[Command]) -> list[Reply]:
        """Run one pipeline; errors as in ``Connection.execute``. Its commands are voted on one by one."""
        if not self._running:
            raise Unavailable(COORDINATOR_DOWN)
        deaths, answered = self._deaths, self._runtime.promise()
        self.submit(level, commands, answered.set_result)
        outcome = cast(Outcome, await answered)
        if deaths != self._deaths:
            reads = all(route(command) in READING for command in commands)
            raise Unavailable(COORDINATOR_DIED) if reads else Indeterminate(COORDINATOR_DIED)
        return outcome if isinstance(outcome, list) else outcome.result()

    def submit(self, level: Level, commands: Sequence[Command], done: "Done", *, packed: bytes | None = None) -> None:
        """Run one pipeline without a promise or a task; ``done`` is called once, possibly within this call.

        It gets the replies, one a command, when none of them is an error; otherwise a ``Failure``, which has the
        answers too. Pipelines are sent to every zone in the order of these calls, but not decided in that order: one
        that only the own zone answers overtakes one that waits for others. Who has to answer in order, as a server
        has to, keeps a queue.

        ``packed`` is ``commands`` in wire form (RESP arrays, joined), for a caller that has it already, such as a
        client's own bytes. It is sent to the zones as it is; without it the commands are packed once for all zones.
        """
        if not commands:
            done([])
            return
        _Operation(self, level, commands, done).send(packed)

    def zone_name(self, position: int) -> str:
        return self._zones[position]


class CoordinatedConnection:
    """``Connection`` through a coordinator at one level."""

    def __init__(self, coordinator: Coordinator, level: Level) -> None:
        self._coordinator = coordinator
        self._level = level

    async def execute(self, *commands: Command) -> list[Reply]:
        return await self._coordinator.execute(self._level, commands)


class Failure:
    """A pipeline of which at least one command was answered with an error.

    ``answers`` is what Dynomite would tell the client, one a command: values, errors of servers, and ``ZoneFailure``
    in place of an answer that no server gave.
    """

    __slots__ = ("_operation", "answers")

    def __init__(self, operation: "_Operation", answers: list[Reply]) -> None:
        self._operation = operation
        self.answers = answers

    def result(self) -> list[Reply]:
        """``answers``, if every error among them is a server's own and a complete account of what happened.

        Raises ``Unavailable`` or ``Indeterminate`` otherwise, as in ``Connection.execute``, by what is known now: zones
        that had not answered when the vote was decided may have answered since.
        """
        error = self._operation.error()
        if error is not None:
            raise error
        return self.answers


Outcome = list[Reply] | Failure

Done = Callable[[Outcome], None]


class _Operation:
    """One pipeline: a vote for each command, over the zones that the command was routed to."""

    __slots__ = ("_commands", "_coordinator", "_done", "_level", "_routes", "_undecided", "_votes")

    def __init__(self, coordinator: Coordinator, level: Level, commands: Sequence[Command], done: Done) -> None:
        self._coordinator = coordinator
        self._level = level
        self._commands = commands
        self._done = done
        self._routes = [route(command) for command in commands]
        self._votes = [self._new_vote(kind) for kind in self._routes]
        self._undecided = len(commands)

    def _new_vote(self, kind: Route) -> Vote:
        zones = len(self._coordinator.channels)
        if kind is Route.LOCAL_READ or (kind is Route.READ and self._level is Level.DC_ONE):
            return Vote(Level.DC_ONE, zones=1)
        if kind is Route.BROADCAST:
            return Vote(Level.DC_ONE, zones=zones)
        return Vote(self._level, zones=zones)

    def send(self, packed: bytes | None) -> None:
        """Hand each zone its part of the pipeline, in the order of the commands."""
        writes = any(kind not in READING for kind in self._routes)
        indexes = range(len(self._commands))
        everywhere: Sequence[int] = [index for index in indexes if self._votes[index].zones > 1]
        whole = rest = Batch(self._commands, writes=writes, packed=packed)
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
        undecided = self._undecided
        for index, reply in zip(indexes, replies, strict=True):
            vote = self._votes[index]
            if vote.submit(position, reply):
                self._undecided -= 1
            if vote.complete:
                coordinator.statistics.count(self._level, vote)
        if undecided and self._undecided == 0:
            self._conclude()

    def _conclude(self) -> None:
        answers = [vote.answer for vote in self._votes]
        if any(isinstance(answer, ServerError) for answer in answers):
            self._done(Failure(self, answers))
        else:
            self._done(answers)

    def error(self) -> PortError | None:
        """What is to be raised if any command has no answer of its own."""
        failures = [self._failure(index) for index in range(len(self._votes))]
        certain = next((failure for failure in failures if isinstance(failure, Unavailable)), None)
        unclear = next((failure for failure in failures if isinstance(failure, Indeterminate)), None)
        if unclear is None and certain is not None and self._anything_applied():
            return Indeterminate(*certain.args)
        return unclear or certain

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
