"""Read repair, an option: reads return versions, the newest wins, and zones that were seen to be behind are written to.

As Netflix Dynomite has it at 2046b05 with ``read_repairs_enabled`` (``proto/dyn_redis_repair.c``,
``dyn_response_mgr.c``), with its limits, which are the point of it here: only where both levels are above DC_ONE, only
for the commands below; options of SET are dropped; a write whose clock is behind is answered -1; a zone that knows
nothing of a key (it restarted empty) is neither asked for its value nor repaired; answers that come after the decision
are not looked at; clocks decide who wins.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from zonelab.cluster.commands.routes import upper
from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.options.codec import CommandCodec
from zonelab.cluster.options.read_repair import scripts
from zonelab.cluster.options.rewriting import RewritingCoordinator, Rewritten
from zonelab.cluster.options.versioned_commands import MEMBER_WRITES, READS, member_write
from zonelab.cluster.votes.levels import Decision, Level, Setting, read_level, write_level
from zonelab.cluster.votes.pipeline import Done
from zonelab.cluster.votes.rules import CustomVoteRule, Rule
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Command, Reply, Runtime, ServerError

_REPAIRS = {"HGET": ("HSET", "HDEL"), "SISMEMBER": ("SADD", "SREM"), "ZSCORE": ("ZADD", "ZREM")}

OnRepair = Callable[[Sequence[int], Reply], None]


def rewritten(command: Command, version_ms: int) -> Command | None:
    """``command`` as a script with a version; None for commands that go past the versions."""
    name, size = upper(command[0]), len(command)
    if name in READS:
        return ("EVAL", scripts.READ, 1, command[1], name, *command[2:]) if size == READS[name][1] else None
    if name == "SET" and size >= 3:
        return ("EVAL", scripts.SET, 1, command[1], version_ms, command[2])
    if name == "DEL" and size == 2:
        return ("EVAL", scripts.DEL, 1, command[1], version_ms)
    return _member_script(name, command[1], version_ms, command[2:]) if member_write(command) else None


def _member_script(name: str, key: Any, version_ms: Any, items: Sequence[Any]) -> Command:
    _, *shape = MEMBER_WRITES[name]
    return ("EVAL", scripts.MEMBERS, 1, key, version_ms, name, *shape, *items)


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
        return _member_script(remove, key, version_ms, command[2:])
    items = {"HGET": (command[2], value), "SISMEMBER": (command[2],), "ZSCORE": (value, command[2])}[name]
    return _member_script(add, key, version_ms, items)


def _value(name: str, reply: list[Any]) -> Any:
    """Return the client's reply to the read command ``name``, from the repair script's ``reply``."""
    status, _, value = reply
    if status == scripts.REMOVED:
        return 0 if name == "SISMEMBER" else None
    return value


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


class RepairingCoordinator(RewritingCoordinator):
    """A coordinator with read repair. ``now_ms``: the wall clock of its node."""

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        now_ms: Callable[[], int],
        codec: CommandCodec | None = None,
        statistics: CoordinatorStatistics | None = None,
    ) -> None:
        super().__init__(zone=zone, channels=channels, runtime=runtime, codec=codec, statistics=statistics)
        self._now_ms = now_ms

    def _understood(
        self, level: Setting, commands: Sequence[Command], packed: bytes | None
    ) -> Sequence[Command] | None:
        if read_level(level).rule.is_local or write_level(level).rule.is_local:
            return None
        given = self.codec.commands(commands, packed)
        return given if given is not None and any(rewritten(command, 0) for command in given) else None

    def _rewritten(
        self, given: Sequence[Command], rules: Sequence[Rule], done: Done
    ) -> tuple[Sequence[Rewritten], Done]:
        version_ms = self._now_ms()
        return [self._one_rewritten(*its, version_ms) for its in zip(given, rules, strict=True)], done

    def _one_rewritten(self, command: Command, rule: Rule, version_ms: int) -> Rewritten:
        sent, name = rewritten(command, version_ms), upper(command[0])
        if sent is None:
            return Rewritten(command, rule)
        if name in READS:
            versioned = CustomVoteRule(rule, partial(self._versioned, command=command), reads=True)
            return Rewritten(sent, versioned, partial(_value, name))
        if name == "DEL" or (name in MEMBER_WRITES and MEMBER_WRITES[name].removes == "1"):
            removal = partial(self._removal, command=command, version_ms=version_ms)
            return Rewritten(sent, CustomVoteRule(rule, removal, reads=False))
        return Rewritten(sent, rule)

    def _versioned(self, level: Level, zones: int, *, command: Command) -> Vote:
        def on_repair(stale: Sequence[int], newest: Reply) -> None:
            assert isinstance(newest, list)
            self.statistics.count("repairs", len(stale))
            batch = Batch([_repair(command, newest)], writes=True)
            # After the vote: what is sent while answers are counted would overtake nothing, but could be answered now.
            self._runtime.call_later(0, lambda: self._tell(stale, batch))

        return _VersionedVote(level, zones=zones, on_repair=on_repair, decoded=self.codec.decoded)

    def _removal(self, level: Level, zones: int, *, command: Command, version_ms: int) -> Vote:
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


def _unheard(answer: Answer) -> None:
    pass
