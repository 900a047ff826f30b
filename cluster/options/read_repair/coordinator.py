"""Read repair, an option: reads tell versions, the newest wins, and zones that were seen to be behind are written to.

As Netflix Dynomite has it at 2046b05 with ``read_repairs_enabled`` (``proto/dyn_redis_repair.c``,
``dyn_response_mgr.c``), with its limits, which are the point of it here: only where both levels are above DC_ONE, only
for the commands below; options of SET are dropped; a write whose clock is behind is answered -1; a zone that knows
nothing of a key (it restarted empty) is neither asked for its value nor repaired; answers that come after the decision
are not looked at; clocks decide who wins.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cluster import repair_scripts as scripts
from cluster.commands.routes import upper
from cluster.connections.batch import Answer, Batch, Channel
from cluster.options.codec import Codec
from cluster.translating import TranslatingCoordinator
from cluster.votes.pipeline import Done, Outcome
from cluster.votes.rules import HeldRule, Rule
from cluster.votes.statistics import CoordinatorStatistics
from cluster.votes.vote import Decision, Level, Setting, Vote, read_level, write_level
from engine.ports import Command, Reply, Runtime, ServerError

_MEMBER_WRITES = {
    "HSET": (2, 0, "0"),
    "HMSET": (2, 0, "0"),
    "SADD": (1, 0, "0"),
    "ZADD": (2, 1, "0"),
    "HDEL": (1, 0, "1"),
    "SREM": (1, 0, "1"),
    "ZREM": (1, 0, "1"),
}
"""Size of an item, where in it the member is, and whether the command removes."""

_ZADD_OPTIONS = frozenset({"NX", "XX", "GT", "LT", "CH", "INCR"})
"""With one of these a ZADD goes past the versions here."""

_READS = {"GET": 2, "HGET": 3, "SISMEMBER": 3, "ZSCORE": 3}
"""Words of the command."""

_REPAIRS = {"HGET": ("HSET", "HDEL"), "SISMEMBER": ("SADD", "SREM"), "ZSCORE": ("ZADD", "ZREM")}

OnRepair = Callable[[Sequence[int], Reply], None]


def rewritten(command: Command, version_ms: int) -> Command | None:
    """``command`` as a script with a version; None for commands that go past the versions."""
    name, size = upper(command[0]), len(command)
    if size == _READS.get(name):
        return ("EVAL", scripts.READ, 1, command[1], name, *command[2:])
    if name == "SET" and size >= 3:
        return ("EVAL", scripts.SET, 1, command[1], version_ms, command[2])
    if name == "DEL" and size == 2:
        return ("EVAL", scripts.DEL, 1, command[1], version_ms)
    if name == "ZADD" and size > 2 and upper(command[2]) in _ZADD_OPTIONS:
        return None
    if name in _MEMBER_WRITES and size > 2 and not (size - 2) % _MEMBER_WRITES[name][0]:
        return _member_write(name, command[1], version_ms, command[2:])
    return None


def _member_write(name: str, key: Any, version_ms: Any, items: Sequence[Any]) -> Command:
    return ("EVAL", scripts.MEMBERS, 1, key, version_ms, name, *_MEMBER_WRITES[name], *items)


def _repair(command: Command, newest: list[Any]) -> Command:
    """The write that brings a zone up to date with ``newest``, an answer to the read ``command``."""
    status, version_ms, value = newest
    name, key = upper(command[0]), command[1]
    if name == "GET":
        if status == scripts.REMOVED or value is None:
            return ("EVAL", scripts.DEL, 1, key, version_ms)
        return ("EVAL", scripts.SET, 1, key, version_ms, value)
    add, remove = _REPAIRS[name]
    if status == scripts.REMOVED:
        return _member_write(remove, key, version_ms, command[2:])
    items = {"HGET": (command[2], value), "SISMEMBER": (command[2],), "ZSCORE": (value, command[2])}[name]
    return _member_write(add, key, version_ms, items)


def _value(command: Command, reply: Reply) -> Reply:
    """What the client gets of a read's answer."""
    assert isinstance(reply, list)
    status, _, value = reply
    if status == scripts.REMOVED:
        return 0 if upper(command[0]) == "SISMEMBER" else None
    return value  # type: ignore[no-any-return]


class _VersionedVote(Vote):
    """When the vote ends and the answers so far have different versions, the newest is the answer."""

    __slots__ = ("_decoded", "_on_repair", "_seen")

    def __init__(self, level: Level, *, zones: int, on_repair: OnRepair, decoded: Callable[[Reply], Any]) -> None:
        super().__init__(level, zones=zones)
        self._seen: list[tuple[int, list[Any]]] = []
        self._on_repair = on_repair
        self._decoded = decoded

    def submit(self, zone: int, reply: Reply) -> bool:
        if not isinstance(reply, ServerError):
            reply = self._decoded(reply)
        if isinstance(reply, list):
            self._seen.append((zone, reply))
        return super().submit(zone, reply)

    def _decide(self, decision: Decision, answer: Reply) -> bool:
        known = [(zone, reply) for zone, reply in self._seen if reply[0] != scripts.UNKNOWN]
        newest = max((reply for _, reply in known), key=_version, default=None)
        stale = [zone for zone, reply in known if newest is not None and _version(reply) < _version(newest)]
        if not stale or decision is Decision.ERRORS:
            return super()._decide(decision, answer)
        self._on_repair(stale, newest)
        return super()._decide(Decision.MAJORITY, newest)


def _version(reply: list[Any]) -> float:
    return float(reply[1])


class _RemovalVote(Vote):
    """Tells when every zone has carried out a removal."""

    __slots__ = ("_clean", "_on_removed")

    def __init__(self, level: Level, *, zones: int, on_removed: Callable[[], None]) -> None:
        super().__init__(level, zones=zones)
        self._clean = True
        self._on_removed = on_removed

    def submit(self, zone: int, reply: Reply) -> bool:
        self._clean = self._clean and not isinstance(reply, ServerError)
        decided = super().submit(zone, reply)
        if self.complete and self._clean:
            self._on_removed()
        return decided


class RepairingCoordinator(TranslatingCoordinator):
    """A coordinator with read repair. ``now_ms``: the wall clock of its node."""

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        now_ms: Callable[[], int],
        codec: Codec | None = None,
        statistics: CoordinatorStatistics | None = None,
    ) -> None:
        super().__init__(zone=zone, channels=channels, runtime=runtime, codec=codec, statistics=statistics)
        self._now_ms = now_ms

    def _understood(
        self, level: Setting, commands: Sequence[Command], packed: bytes | None
    ) -> Sequence[Command] | None:
        if Level.DC_ONE in (read_level(level), write_level(level)):
            return None
        given = self.codec.commands(commands, packed)
        return given if given is not None and any(rewritten(command, 0) for command in given) else None

    def _send_given(self, level: Setting, commands: Sequence[Command], given: Sequence[Command], done: Done) -> None:
        rules, tally = self._levels[level]
        version_ms = self._now_ms()
        sent = [rewritten(command, version_ms) for command in given]
        held = [
            rules[command[0]] if other is None else self._rule(rules[command[0]], its, version_ms)
            for command, its, other in zip(commands, given, sent, strict=True)
        ]
        asked = self.codec.like([other or its for its, other in zip(given, sent, strict=True)], commands)
        translated = _Translated(self.codec, commands, given, sent, done)
        self._send_mixed(held, given, tally, translated, None, asked=asked)

    def _rule(self, rule: Rule, command: Command, version_ms: int) -> Rule:
        name = upper(command[0])
        if name in _READS:
            return HeldRule(rule, lambda level, zones: self._versioned(level, zones, command), reads=True)
        if name == "DEL" or _MEMBER_WRITES.get(name, (0, 0, "0"))[2] == "1":
            return HeldRule(rule, lambda level, zones: self._removal(level, zones, command, version_ms), reads=False)
        return rule

    def _versioned(self, level: Level, zones: int, command: Command) -> Vote:
        def on_repair(stale: Sequence[int], newest: Reply) -> None:
            assert isinstance(newest, list)
            self.statistics.count("repairs", len(stale))
            batch = Batch([_repair(command, newest)], writes=True)
            # After the vote: what is sent while answers are counted would overtake nothing, but could be answered now.
            self._runtime.call_later(0, lambda: self._tell(stale, batch))

        return _VersionedVote(level, zones=zones, on_repair=on_repair, decoded=self.codec.decoded)

    def _removal(self, level: Level, zones: int, command: Command, version_ms: int) -> Vote:
        removed = (
            [("._rem-set", command[1])]
            if upper(command[0]) == "DEL"
            else [(b"._rem-set_" + _raw(command[1]), member) for member in command[2:]]
        )
        forget = Batch([("EVAL", scripts.FORGET, 1, place, version_ms, name) for place, name in removed], writes=True)

        def on_removed() -> None:
            self._runtime.call_later(0, lambda: self._tell(range(zones), forget))

        return _RemovalVote(level, zones=zones, on_removed=on_removed)

    def _tell(self, positions: Sequence[int], batch: Batch) -> None:
        for position in positions:
            self.channels[position].submit(batch, _unheard)


def _raw(key: Any) -> bytes:
    return key if isinstance(key, bytes) else str(key).encode()


class _Translated:
    """Passes on what came of a pipeline, with the values of its reads instead of what the scripts said."""

    def __init__(
        self,
        codec: Codec,
        model: Sequence[Command],
        commands: Sequence[Command],
        sent: Sequence[Command | None],
        done: Done,
    ) -> None:
        self._codec = codec
        self._model = model
        self._commands = commands
        self._sent = sent
        self._done = done

    def __call__(self, outcome: Outcome) -> None:
        if isinstance(outcome, list):
            self._done(self._translated(outcome))
        else:
            self._done(outcome.with_answers(self._translated(outcome.answers)))

    def _translated(self, answers: Sequence[Reply]) -> list[Reply]:
        return [
            self._codec.encoded(upper(command[0]), _value(command, answer), self._model)
            if other is not None and upper(command[0]) in _READS and not isinstance(answer, ServerError)
            else answer
            for command, other, answer in zip(self._commands, self._sent, answers, strict=True)
        ]


def _unheard(answer: Answer) -> None:
    pass
