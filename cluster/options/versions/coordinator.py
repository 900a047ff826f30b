"""Versions as an option of ours: writes carry one, so that in every zone the newest wins whatever comes first.

With ``VoteBy.VERSION`` reads at quorum levels return versions, too: of a quorum of replies the newest is the answer,
and before it is given it is written to as many zones as make a quorum, if fewer have it. Votes by timestamp are
Cassandra's (https://cassandra.apache.org/doc/latest/cassandra/architecture/dynamo.html), and so is writing back before
the answer (its ``read_repair = BLOCKING``); a register that is read and written so is that of Attiya, Bar-Noy and
Dolev (J. ACM 42, 1995) with clocks in place of its first phase.

Only the commands of ``script_commands`` have versions. All others go past them. The records of versions are keys, too,
which ``KEYS``, ``SCAN``, ``DBSIZE`` and ``RANDOMKEY`` do not show.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, cast

from zonelab.cluster.connections.batch import Answer, Batch, Channel
from zonelab.cluster.connections.failures import NO_QUORUM, ZoneFailure
from zonelab.cluster.options.codec import CommandCodec
from zonelab.cluster.options.rewriting import RewritingCoordinator, Rewritten
from zonelab.cluster.options.versions import scripts
from zonelab.cluster.options.versions.clock import VersionClock
from zonelab.cluster.options.versions.script_commands import (
    VersionedRead,
    VersionedWrite,
    hiding,
    may_have_version,
    rewritten,
)
from zonelab.cluster.votes.levels import Decision, Level, Setting, VoteBy
from zonelab.cluster.votes.pipeline import Done, FailureAccount, Outcome, PipelineFailure
from zonelab.cluster.votes.rules import CustomVoteRule, Rule
from zonelab.cluster.votes.statistics import CoordinatorStatistics
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Argument, Command, Indeterminate, PortError, Reply, Runtime, ServerError, Unavailable

WRITTEN_BACK = "written back"
REFUSED = "older than what was there"


class _WriteVote(Vote):
    """Compares what zones answer to the command, and advances the clock by the versions that they met."""

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
    """Vote by version: of a quorum of good replies the newest version is the answer; of equal versions with different
    values the vote by value decides, since something has gone past the versions.

    Replies are a version, a value and possibly its expiry, which is not compared, since zones report it at different
    times; ``answer`` is a version and a value, or an error.
    """

    __slots__ = ("_expiries_ms", "_owner", "_read", "seen")

    def __init__(self, level: Level, *, zones: int, owner: "VersionedCoordinator", read: VersionedRead) -> None:
        super().__init__(level, zones=zones)
        self._owner = owner
        self._read = read
        self.seen: list[tuple[int, list[Any]]] = []
        self._expiries_ms: list[int] = []

    def submit(self, zone: int, reply: Reply) -> bool:
        if not isinstance(reply, ServerError):
            decoded = self._owner.codec.decoded(reply)
            reply = self._read.told(decoded)
            self._owner.clock.observe(_age(reply))
            if not self.decided:
                self.seen.append((zone, reply))
                self._expiries_ms.append(decoded[2] if len(decoded) > 2 else -1)
        return super().submit(zone, reply)

    def _decide_by_quorum(self) -> bool:
        good = cast(list[list[Any]], self._good)
        if len(good) >= self.needed:
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
        return behind if len(self.seen) - len(behind) < self.needed else []

    def record(self) -> Command:
        """Return what brings a zone up to date with the answer; it expires as the first zone said that told this
        answer.
        """
        answers = zip(self.seen, self._expiries_ms, strict=True)
        expires_ms = next(expires_ms for (_, reply), expires_ms in answers if reply == self.answer)
        return self._read.record(cast(list[Any], self.answer), expires_ms)


def _age(reply: Sequence[Any]) -> int:
    return abs(cast(int, reply[0]))


class VersionedCoordinator(RewritingCoordinator):
    """A coordinator whose writes carry versions of ``clock``; ``votes`` says whether reads go by them."""

    def __init__(
        self,
        *,
        zone: str,
        channels: Mapping[str, Channel],
        runtime: Runtime,
        clock: VersionClock,
        votes: VoteBy = VoteBy.VERSION,
        codec: CommandCodec | None = None,
        statistics: CoordinatorStatistics | None = None,
    ) -> None:
        super().__init__(zone=zone, channels=channels, runtime=runtime, codec=codec, statistics=statistics)
        self.clock = clock
        self._vote_by = votes

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

    def _rewritten(
        self, given: Sequence[Command], rules: Sequence[Rule], done: Done
    ) -> tuple[Sequence[Rewritten], Done]:
        votes: dict[int, _ReadVote] = {}
        sent = [self._one_rewritten(index, *its, votes) for index, its in enumerate(zip(given, rules, strict=True))]

        def answered(outcome: Outcome) -> None:
            if not self.write_back(votes, lambda failed: done(_unconfirmed(outcome, failed, votes))):
                done(outcome)

        return sent, answered

    def _one_rewritten(self, index: int, command: Command, rule: Rule, votes: dict[int, "_ReadVote"]) -> Rewritten:
        """``votes`` gets the vote of a read of versions, by its place in the pipeline."""
        listed = hiding(command)
        if listed is not None:
            asked, told = listed
            return Rewritten(asked, rule, None if told is None else lambda reply: told(self.codec.decoded(reply)))
        found = rewritten(command, self.clock.next)
        if isinstance(found, VersionedWrite):
            version = found.version
            held = CustomVoteRule(
                rule, lambda level, zones: _WriteVote(level, zones=zones, owner=self, version=version), reads=False
            )
            return Rewritten(found.command, held, lambda value: value)
        if found is None or rule.needed == 0 or self._vote_by is VoteBy.VALUE:
            return Rewritten(command, rule)

        def vote(level: Level, zones: int) -> Vote:
            votes[index] = made = _ReadVote(level, zones=zones, owner=self, read=found)
            return made

        return Rewritten(found.command, CustomVoteRule(rule, vote, reads=True), itemgetter(1))

    def write_back(self, votes: Mapping[int, _ReadVote], done: Callable[[frozenset[int]], None]) -> bool:
        """Write the newest values that reads have found to the zones that lack them. Returns False if none does.

        ``done`` is called at the end with the reads whose value does not reach a quorum of zones.
        """
        by_zone: dict[int, _Records] = {}
        for index, vote in votes.items():
            for zone in vote.lacking():
                by_zone.setdefault(zone, _Records()).add(index, vote.record())
        if not by_zone:
            return False
        writing = _WritingBack(self.statistics, votes, list(by_zone.values()), done)
        for zone, records in by_zone.items():
            batch = Batch([("EVAL", scripts.APPLY, 0, 0, *records.words)], writes=True)
            self.channels[zone].submit(batch, partial(writing.answered, records))
        return True


@dataclass(slots=True)
class _Records:
    """Records that one zone is to get, and for which commands of a pipeline."""

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
        votes: Mapping[int, _ReadVote],
        records: Sequence[_Records],
        done: Callable[[frozenset[int]], None],
    ) -> None:
        self._statistics = statistics
        self._waiting = len(records)
        self._done = done
        self._missing = {
            index: votes[index].needed - (len(votes[index].seen) - len(votes[index].lacking()))
            for one in records
            for index in one.indexes
        }

    def answered(self, records: _Records, answer: Answer) -> None:
        self._waiting -= 1
        if isinstance(answer, list) and not isinstance(answer[0], ServerError):
            self._statistics.count(WRITTEN_BACK, len(records.indexes))
            for index in records.indexes:
                self._missing[index] -= 1
        if self._waiting == 0:
            self._done(frozenset(index for index, missing in self._missing.items() if missing > 0))


def _unconfirmed(outcome: Outcome, failed: frozenset[int], votes: Mapping[int, _ReadVote]) -> Outcome:
    """``outcome`` with an error in place of each answer in ``failed``, which no quorum of zones has."""
    if not failed:
        return outcome
    answers, before = (outcome, None) if isinstance(outcome, list) else (outcome.answers, outcome)
    confirmed = [
        ZoneFailure(NO_QUORUM, maybe_applied=False) if index in failed else answer
        for index, answer in enumerate(answers)
    ]
    return PipelineFailure(_UnconfirmedRead(before, writes=len(votes) < len(answers)), confirmed)


class _UnconfirmedRead(FailureAccount):
    """A read whose answer was not brought to a quorum of zones. ``account``: of the pipeline before that."""

    def __init__(self, account: PipelineFailure | None, *, writes: bool) -> None:
        self._account = account
        self._writes = writes

    def error(self) -> PortError:
        return Indeterminate(NO_QUORUM) if self.anything_applied() else Unavailable(NO_QUORUM)

    def anything_applied(self) -> bool:
        return self._account.maybe_applied if self._account is not None else self._writes
