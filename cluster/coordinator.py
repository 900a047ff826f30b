"""The coordinator of one zone: sends each command where it belongs, collects the replies, answers the client.

As in Dynomite, a write goes to every zone of the data centre whatever the level; a read goes to the own zone only at
DC_ONE and to every zone at the quorum levels. The level decides how many replies are awaited and what happens when
they differ.
"""

from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from cluster.commands.routes import is_write
from cluster.connections.batch import Batch, Channel
from cluster.convoy import Convoy, Member
from cluster.votes.pipeline import Comparison, Done, Outcome, Poll
from cluster.votes.rules import Rule, Rules, SortingRule
from cluster.votes.statistics import CoordinatorStatistics, Tally
from cluster.votes.vote import ZONES_MAX, Setting
from engine.ports import Command, Connection, Indeterminate, Promise, Reply, Runtime, Unavailable

COORDINATOR_DOWN = "coordinator: connection refused"
COORDINATOR_DIED = "coordinator: connection reset"


class Coordinator:
    """Serves the clients of ``zone``. ``channels`` lead to every zone of the data centre, its own among them.

    ``statistics`` are those of another coordinator of the zone that this one counts for, by default new ones.
    """

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        statistics: CoordinatorStatistics | None = None,
    ) -> None:
        if zone not in channels:
            raise ValueError(f"coordinator of zone {zone!r} has no channel to its own zone, only to {list(channels)}")
        if len(channels) > ZONES_MAX:
            raise ValueError(f"a data centre has 1 to {ZONES_MAX} zones, got {list(channels)}")
        self.zone = zone
        self.statistics = statistics or CoordinatorStatistics()
        self._runtime = runtime
        # The own zone first: it is vote position 0, and it is what a client's request reaches first.
        self._zones = [zone, *(name for name in channels if name != zone)]
        self.channels = [channels[name] for name in self._zones]
        self._levels = _Prepared(self._prepare)
        self._running = True
        self._deaths = 0
        self._sending = False
        self._delayed: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()

    @property
    def running(self) -> bool:
        return self._running

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

    def connection(self, level: Setting) -> Connection:
        """A client's connection at ``level``, which may be one for reads and one for writes.

        It holds no state, so any number of clients may share it.
        """
        return CoordinatedConnection(self, level)

    async def execute(self, level: Setting, commands: Sequence[Command]) -> list[Reply]:
        """Run one pipeline; errors as in ``Connection.execute``. Its commands are voted on one by one."""
        if not self._running:
            raise Unavailable(COORDINATOR_DOWN)
        deaths = self._deaths
        answered: Promise[Outcome] = self._runtime.promise()
        self.submit(level, commands, answered.set_result)
        outcome = await answered
        if deaths != self._deaths:
            writes = any(map(is_write, commands))
            raise Indeterminate(COORDINATOR_DIED) if writes else Unavailable(COORDINATOR_DIED)
        return outcome if isinstance(outcome, list) else outcome.result()

    def submit(self, level: Setting, commands: Sequence[Command], done: Done, *, packed: bytes | None = None) -> None:
        """Run one pipeline without a promise or a task; ``done`` is called once, possibly within this call.

        It gets the replies, one a command, when none of them is an error; otherwise a ``Failure``, which has the
        answers too. Pipelines are sent to every zone in the order of these calls, but not decided in that order: one
        that only the own zone answers overtakes one that waits for others. Who has to answer in order, as a server
        has to, keeps a queue. What is submitted from within ``done`` is sent after the pipeline that is being sent.

        ``packed`` is ``commands`` in wire form (RESP arrays, joined), for a caller that has it already, such as a
        client's own bytes. It is sent to the zones as it is; without it the commands are packed once for all zones.
        """
        if not commands:
            done([])
            return
        self._in_order(self._send, level, commands, done, packed)

    def submit_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        """Run pipelines of several callers as one batch; what each is told is as if it had been submitted by itself.

        ``commands`` and ``packed`` are all members' together, in order. All must have the same rule at ``level``: the
        first one's is taken for all.
        """
        self._in_order(self._send_together, level, members, commands, packed)

    @property
    def zones(self) -> tuple[str, ...]:
        """Where its channels lead, its own zone first."""
        return tuple(self._zones)

    def zone_name(self, position: int) -> str:
        return self._zones[position]

    def _prepare(self, level: Setting) -> tuple[Rules, Tally]:
        rules = Rules(level, zones=len(self._zones))
        return rules, self.statistics.tally(level, zones=self._zones)

    def _in_order(self, send: Callable[..., None], *arguments: Any) -> None:
        if self._sending:
            self._delayed.append((send, arguments))
            return
        self._sending = True
        try:
            send(*arguments)
            while self._delayed:
                delayed, its_arguments = self._delayed.popleft()
                delayed(*its_arguments)
        finally:
            self._sending = False

    def _send(self, level: Setting, commands: Sequence[Command], done: Done, packed: bytes | None) -> None:
        rules, tally = self._levels[level]
        rule = rules.common(commands)
        if rule is None or type(rule) is SortingRule:
            self._send_mixed([rules[command[0]] for command in commands], commands, tally, done, packed)
            return
        batch = Comparison(commands, rule, tally, done, packed)
        answered = batch.answered
        channels = self.channels
        for position in range(rule.zones):
            channels[position].submit(batch, partial(answered, position))

    def _send_together(
        self, level: Setting, members: Sequence[Member], commands: Sequence[Command], packed: bytes
    ) -> None:
        rules, tally = self._levels[level]
        rule = rules[commands[0][0]]
        convoy = Convoy(members, commands, rule, tally, packed)
        for position in range(rule.zones):
            self.channels[position].submit(convoy, partial(convoy.answered, position))

    def _send_mixed(
        self,
        rules: Sequence[Rule],
        commands: Sequence[Command],
        tally: Tally,
        done: Done,
        packed: bytes | None,
        *,
        asked: Sequence[Command] | None = None,
    ) -> None:
        """Of a pipeline with different rules each zone gets its part, in the order of the commands.

        ``asked`` is what the zones are asked, where that is not what the client has asked.
        """
        writes = not all(rule.reads for rule in rules)
        asked = commands if asked is None else asked
        sent = [rule.asked(command) for rule, command in zip(rules, asked, strict=True)]
        if any(command is not other for command, other in zip(sent, asked, strict=True)):
            asked, packed = sent, None
        whole = Batch(asked, writes=writes, packed=packed)
        everywhere = [command for command, rule in zip(asked, rules, strict=True) if rule.zones > 1]
        part = whole if len(everywhere) == len(asked) else Batch(everywhere, writes=writes)
        answered = Poll(commands, rules, tally, done).answered
        self.channels[0].submit(whole, partial(answered, 0))
        if everywhere:
            for position in range(1, len(self.channels)):
                self.channels[position].submit(part, partial(answered, position))


class _Prepared(dict[Setting, tuple[Rules, Tally]]):
    """By setting, made when it is first asked for."""

    def __init__(self, prepare: Callable[[Setting], tuple[Rules, Tally]]) -> None:
        super().__init__()
        self._prepare = prepare

    def __missing__(self, setting: Setting) -> tuple[Rules, Tally]:
        self[setting] = prepared = self._prepare(setting)
        return prepared


class CoordinatedConnection:
    """``Connection`` through a coordinator at one setting."""

    def __init__(self, coordinator: Coordinator, level: Setting) -> None:
        self._coordinator = coordinator
        self._level = level

    def execute(self, *commands: Command) -> Coroutine[Any, Any, list[Reply]]:
        return self._coordinator.execute(self._level, commands)
