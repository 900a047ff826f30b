"""Versions as an option of ours: writes carry one, so that in every zone the newest wins whatever comes first.

With ``Votes.VERSION`` reads at the quorum levels tell versions, too: of a quorum of replies the newest is the answer,
and before it is given it is written to as many zones as make a quorum, if fewer have it. Votes by timestamp are
Cassandra's (https://cassandra.apache.org/doc/latest/cassandra/architecture/dynamo.html), and so is writing back before
the answer (its ``read_repair = BLOCKING``); a register that is read and written so is that of Attiya, Bar-Noy and
Dolev (J. ACM 42, 1995) with clocks in place of its first phase.

Only the commands of ``version_rewriting`` have versions. All others go past them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from cluster import version_scripts as scripts
from cluster.connections.batch import Answer, Batch, Channel
from cluster.options.codec import Codec
from cluster.options.versions.clock import VersionClock, Votes
from cluster.options.versions.script_commands import Rewritten, may_have_version, rewritten
from cluster.translating import TranslatingCoordinator
from cluster.votes.pipeline import Account, Done, Failure, Outcome
from cluster.votes.rules import HeldRule, Rule
from cluster.votes.statistics import CoordinatorStatistics
from cluster.votes.vote import NO_QUORUM, Decision, Level, Setting, Vote, ZoneFailure, quorum
from engine.ports import Argument, Command, Indeterminate, PortError, Reply, Runtime, ServerError, Unavailable

WRITTEN_BACK = "written back"
REFUSED = "older than what was there"


class _WriteVote(Vote):
    """Compares what zones answer to the command, and tells the clock of the versions that they met."""

    __slots__ = ("_owner", "_version")

    def __init__(self, level: Level, *, zones: int, owner: "VersionedCoordinator", version: int) -> None:
        super().__init__(level, zones=zones)
        self._owner = owner
        self._version = version

    def submit(self, zone: int, reply: Reply) -> bool:
        if not isinstance(reply, ServerError):
            reply, newest = self._owner.codec.decoded(reply)
            self._owner.met(int(newest), self._version)
        return super().submit(zone, reply)


class _ReadVote(Vote):
    """Of a quorum of good replies the newest version is the answer; of equal versions with different values the vote
    by value decides, since something has gone past the versions.

    Replies are a version, a value and possibly its expiry, which is not compared, since zones tell it at different
    times; ``answer`` is a version and a value, or an error.
    """

    __slots__ = ("_expiries_ms", "_owner", "_read", "seen")

    def __init__(self, level: Level, *, zones: int, owner: "VersionedCoordinator", read: Rewritten) -> None:
        super().__init__(level, zones=zones)
        self._owner = owner
        self._read = read
        self.seen: list[tuple[int, list[Any]]] = []
        self._expiries_ms: list[int] = []

    def submit(self, zone: int, reply: Reply) -> bool:
        if not isinstance(reply, ServerError):
            told = self._owner.codec.decoded(reply)
            reply = self._read.told(told)
            self._owner.clock.observe(_age(reply))
            if not self.decided:
                self.seen.append((zone, reply))
                self._expiries_ms.append(told[2] if len(told) > 2 else -1)
        return super().submit(zone, reply)

    def _decide_by_quorum(self) -> bool:
        good = cast(list[list[Any]], self._good)
        if len(good) >= self._quorum:
            newest = max(good, key=_age)
            holders = [reply for reply in good if _age(reply) == _age(newest)]
            if all(reply == newest for reply in holders):
                return self._decide(Decision.AGREED if len(holders) == len(good) else Decision.NEWEST, newest)
        return super()._decide_by_quorum()

    def lacking(self) -> list[int]:
        """The zones that answered in time and are behind the answer, if those that are not make no quorum."""
        if self.decision is not Decision.NEWEST:
            return []
        answer = cast(list[Any], self.answer)
        behind = [zone for zone, reply in self.seen if _age(reply) < _age(answer)]
        return behind if len(self.seen) - len(behind) < self._quorum else []

    def expires_ms(self) -> int:
        """After how long the value of the answer ends, by the first zone that told it; below 0 if never."""
        answers = zip(self.seen, self._expiries_ms, strict=True)
        return next(expires_ms for (_, reply), expires_ms in answers if reply == self.answer)


def _age(reply: Sequence[Any]) -> int:
    return abs(cast(int, reply[0]))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One command of a pipeline: as it was given, as it is sent, and its vote if it is a read of versions."""

    rewritten: Rewritten | None
    votes: list[_ReadVote]


class VersionedCoordinator(TranslatingCoordinator):
    """A coordinator whose writes carry versions of ``clock``; ``votes`` says whether reads go by them."""

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        clock: VersionClock,
        votes: Votes = Votes.VERSION,
        codec: Codec | None = None,
        statistics: CoordinatorStatistics | None = None,
    ) -> None:
        super().__init__(zone=zone, channels=channels, runtime=runtime, codec=codec, statistics=statistics)
        self.clock = clock
        self._votes = votes

    def met(self, newest: int, version: int) -> None:
        """A zone to which ``version`` was written had ``newest`` before."""
        self.clock.observe(newest)
        if newest > version:
            self.statistics.count(REFUSED, 1)

    def _understood(
        self, level: Setting, commands: Sequence[Command], packed: bytes | None
    ) -> Sequence[Command] | None:
        given = self.codec.commands(commands, packed)
        return given if given is not None and any(map(may_have_version, given)) else None

    def _send_given(self, level: Setting, commands: Sequence[Command], given: Sequence[Command], done: Done) -> None:
        rules, tally = self._levels[level]
        held = [rules[command[0]] for command in commands]
        asked = [self._asked(command, rule) for command, rule in zip(given, held, strict=True)]
        held = [self._held(one, rule) for one, rule in zip(asked, held, strict=True)]
        sent = [one.rewritten.command if one.rewritten else command for one, command in zip(asked, given, strict=True)]
        answered = _Answered(self, commands, asked, done)
        self._send_mixed(held, given, tally, answered, None, asked=self.codec.like(sent, commands))

    def _asked(self, command: Command, rule: Rule) -> _Asked:
        found = rewritten(command, self.clock.next)
        if found is not None and found.reads and (rule.needed == 0 or self._votes is Votes.VALUE):
            found = None
        return _Asked(found, [])

    def _held(self, asked: _Asked, rule: Rule) -> Rule:
        found = asked.rewritten
        if found is None:
            return rule
        if not found.reads:
            version = found.version
            return HeldRule(
                rule, lambda level, zones: _WriteVote(level, zones=zones, owner=self, version=version), reads=False
            )

        def vote(level: Level, zones: int) -> Vote:
            made = _ReadVote(level, zones=zones, owner=self, read=found)
            asked.votes.append(made)
            return made

        return HeldRule(rule, vote, reads=True)

    def write_back(self, asked: Sequence[_Asked], done: Callable[[frozenset[int]], None]) -> bool:
        """Bring zones up to date with the answers of ``asked``; False if there is nothing to do.

        ``done`` is told of which commands no quorum has the answer after all.
        """
        by_zone: dict[int, _Records] = {}
        for index, one in enumerate(asked):
            for vote in one.votes:
                zones = vote.lacking()
                if one.rewritten is None or not zones:
                    continue
                record = one.rewritten.record(cast(list[Any], vote.answer), vote.expires_ms())
                for zone in zones:
                    by_zone.setdefault(zone, _Records()).add(index, record)
        if not by_zone:
            return False
        writing = _WritingBack(self.statistics, asked, list(by_zone.values()), done)
        for zone, records in by_zone.items():
            batch = Batch([("EVAL", scripts.APPLY, 0, 0, *records.words)], writes=True)
            self.channels[zone].submit(batch, partial(writing.answered, records))
        return True


@dataclass(slots=True)
class _Records:
    """What one zone is to get, and for which commands of a pipeline."""

    words: list[Argument] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)

    def add(self, index: int, record: Command) -> None:
        self.words += record
        self.indexes.append(index)


class _WritingBack:
    """Counts, for each read that is written back, the zones that have its answer."""

    def __init__(
        self,
        statistics: CoordinatorStatistics,
        asked: Sequence[_Asked],
        records: Sequence[_Records],
        done: Callable[[frozenset[int]], None],
    ) -> None:
        self._statistics = statistics
        self._waiting = len(records)
        self._done = done
        self._missing = {
            index: quorum(vote.zones) - (len(vote.seen) - len(vote.lacking()))
            for one in records
            for index in one.indexes
            for vote in asked[index].votes
        }

    def answered(self, records: _Records, answer: Answer) -> None:
        self._waiting -= 1
        if isinstance(answer, list) and not isinstance(answer[0], ServerError):
            self._statistics.count(WRITTEN_BACK, len(records.indexes))
            for index in records.indexes:
                self._missing[index] -= 1
        if self._waiting == 0:
            self._done(frozenset(index for index, missing in self._missing.items() if missing > 0))


class _Answered:
    """Told what came of a pipeline; passes it on with what the scripts said as the client expects it."""

    __slots__ = ("_asked", "_commands", "_coordinator", "_done")

    def __init__(
        self,
        coordinator: VersionedCoordinator,
        commands: Sequence[Command],
        asked: Sequence[_Asked],
        done: Done,
    ) -> None:
        self._coordinator = coordinator
        self._commands = commands
        self._asked = asked
        self._done = done

    def __call__(self, outcome: Outcome) -> None:
        if not self._coordinator.write_back(self._asked, lambda failed: self._pass_on(outcome, failed)):
            self._pass_on(outcome, frozenset())

    def _pass_on(self, outcome: Outcome, failed: frozenset[int]) -> None:
        answers = outcome if isinstance(outcome, list) else outcome.answers
        told = [self._told(index, answer, failed) for index, answer in enumerate(answers)]
        if failed:
            account = None if isinstance(outcome, list) else outcome
            writes = any(one.rewritten is None or not one.rewritten.reads for one in self._asked)
            self._done(Failure(_Unconfirmed(account, writes=writes), told))
        else:
            self._done(told if isinstance(outcome, list) else outcome.with_answers(told))

    def _told(self, index: int, answer: Reply, failed: frozenset[int]) -> Reply:
        found = self._asked[index].rewritten
        if index in failed:
            return ZoneFailure(NO_QUORUM, maybe_applied=False)
        if found is None or isinstance(answer, ServerError):
            return answer
        value = cast(list[Any], answer)[1] if found.reads else answer
        return self._coordinator.codec.encoded(found.name, value, self._commands)


class _Unconfirmed(Account):
    """A read whose answer was not brought to a quorum of zones. ``account``: of the pipeline before that."""

    def __init__(self, account: Failure | None, *, writes: bool) -> None:
        self._account = account
        self._writes = writes

    def error(self) -> PortError:
        return Indeterminate(NO_QUORUM) if self.anything_applied() else Unavailable(NO_QUORUM)

    def anything_applied(self) -> bool:
        return self._account.maybe_applied if self._account is not None else self._writes
