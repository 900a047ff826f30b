"""One pipeline on its way through a coordinator: the zones' answers are counted until every command has its own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import islice, takewhile
from typing import Protocol, TypeGuard

from zonelab.cluster.commands.routes import is_script, is_write
from zonelab.cluster.connections.batch import Answer, Batch
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.topology.topology import ZONES_MAX
from zonelab.cluster.votes.rules import Rule
from zonelab.cluster.votes.statistics import Tally
from zonelab.engine.ports import Command, Indeterminate, PortError, Reply, ServerError, Unavailable

_ERRORS = frozenset({ServerError, ZoneFailure})


class FailureAccount(Protocol):
    """Account of a pipeline that was answered with an error."""

    def error(self) -> PortError | None: ...
    def anything_applied(self) -> bool: ...


class PipelineFailure:
    """A pipeline of which at least one command was answered with an error.

    ``answers`` is what Dynomite would send the client, one a command: values, errors of servers, and ``ZoneFailure``
    in place of an answer that no server gave.
    """

    __slots__ = ("_account", "answers")

    def __init__(self, account: FailureAccount, answers: list[Reply]) -> None:
        self._account = account
        self.answers = answers

    def with_answers(self, answers: list[Reply]) -> "PipelineFailure":
        """The same account of other answers."""
        return PipelineFailure(self._account, answers)

    @property
    def maybe_applied(self) -> bool:
        """Some zone executed a write of the pipeline, or may have, or may yet; by what is known now."""
        return self._account.anything_applied()

    def result(self) -> list[Reply]:
        """``answers``, if every error among them is a server's own and a complete account of what happened.

        Raises ``Unavailable`` or ``Indeterminate`` otherwise, as in ``Connection.execute``, by what is known now: zones
        that had not answered when the vote was decided may have answered since.
        """
        error = self._account.error()
        if error is not None:
            raise error
        return self.answers


Outcome = list[Reply] | PipelineFailure

Done = Callable[[Outcome], None]


class GradualDone(ABC):
    """A ``Done`` that may receive the first answers before the others are decided; the outcome then has the rest."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, outcome: Outcome) -> None: ...

    @abstractmethod
    def first(self, answers: Sequence[Reply]) -> None:
        """Take what comes next, as in ``PipelineFailure.answers``."""


class TranslatedDone(GradualDone):
    """``done``, called with what ``outcome`` and ``first`` make of what is known.

    Both are given the place in the pipeline of the first command that they hear of.
    """

    __slots__ = ("_done", "_first", "_outcome", "_told")

    def __init__(
        self,
        done: GradualDone,
        outcome: Callable[[int, Outcome], Outcome],
        first: Callable[[int, Sequence[Reply]], list[Reply]],
    ) -> None:
        self._done = done
        self._outcome = outcome
        self._first = first
        self._told = 0

    def __call__(self, outcome: Outcome) -> None:
        self._done(self._outcome(self._told, outcome))

    def first(self, answers: Sequence[Reply]) -> None:
        begin, self._told = self._told, self._told + len(answers)
        self._done.first(self._first(begin, answers))


def translated(
    done: Done, outcome: Callable[[int, Outcome], Outcome], first: Callable[[int, Sequence[Reply]], list[Reply]]
) -> Done:
    """Return a ``TranslatedDone``, which is gradual if ``done`` is."""
    if isinstance(done, GradualDone):
        return TranslatedDone(done, outcome, first)
    return lambda its: done(outcome(0, its))


_BITS = tuple(1 << position for position in range(ZONES_MAX))
_COUNTS = tuple(positions.bit_count() for positions in range(1 << ZONES_MAX))
"""Looked up, as this is done for every answer."""


class UniformPipeline(Batch):
    """A pipeline whose commands all have the same ``rule``, and what came of it.

    While the zones give equal answers without errors, these are compared as a whole: that is the usual case, and all
    votes would end the same way. From the first answer that differs or has an error, each command has its own vote.
    ``done`` is called once each command has its answer.
    """

    __slots__ = ("_done", "_positions", "_replies", "_rule", "_tally", "_vote_apart")

    _replies: list[Reply]

    def __init__(
        self, commands: Sequence[Command], rule: Rule, tally: Tally, done: Done, packed: bytes | None = None
    ) -> None:
        self.commands = commands  # without a call of the base class: this runs once a command
        self.writes = not rule.reads
        self.packed = packed
        self.prepared = self.first_replies = None
        self._wire_bytes = 0
        self._rule = rule
        self._tally = tally
        self._done = done
        self._positions = 0  # the bits of the zones that have given these replies
        self._vote_apart: Callable[[int, Answer], None] | None = None  # who gets the answers once they differ

    def answered(self, position: int, answer: Answer) -> None:
        """The zone at ``position`` has answered; the own zone is at 0."""
        if self._vote_apart is not None:
            self._vote_apart(position, answer)
            return
        positions = self._positions
        if positions == 0 and no_error(answer):
            self._replies = answer
        elif positions == 0 or answer != self._replies:
            self._divide()
            self.answered(position, answer)
            return
        self._positions = positions = positions | _BITS[position]
        alike, rule = _COUNTS[positions], self._rule
        if alike == rule.needed or (position == 0 and rule.needed == 0):
            self._done(self._replies)
        if alike == rule.zones:
            self._tally.count_alike(rule.decision, len(self.commands))

    def _divide(self) -> None:
        """Have the votes held apart from now on, over the answers so far as well.

        As these are equal, it does not matter in which order the zones gave them.
        """
        rule = self._rule
        told = bool(self._positions & 1) if rule.needed == 0 else _COUNTS[self._positions] >= rule.needed
        self._vote_apart = vote_apart = self._parts(told=told)
        for position in self._answered_alike():
            vote_apart(position, self._replies)

    def _answered_alike(self) -> Iterable[int]:
        """The zones that gave the equal answers, in any order."""
        return (position for position in range(self._rule.zones) if self._positions >> position & 1)

    def _parts(self, *, told: bool) -> Callable[[int, Answer], None]:
        """Return what holds the votes on each command; ``told``: the caller knows the outcome already."""
        rules = [self._rule] * len(self.commands)
        return self._apart(rules, ignore if told else self._done).answered

    def _apart(self, rules: Sequence[Rule], done: Done) -> "MixedPipeline":
        return MixedPipeline(self.commands, rules, self._tally, done)


class MixedPipeline:
    """One pipeline whose commands are voted on one by one, each by its rule in ``rules``.

    ``done`` is called once all have their answers; if it is a ``GradualDone``, it receives those before that are
    decided before the others, in order.
    """

    __slots__ = ("_commands", "_done", "_tally", "_told", "_undecided", "_votes")

    def __init__(self, commands: Sequence[Command], rules: Sequence[Rule], tally: Tally, done: Done) -> None:
        self._commands = commands
        self._tally = tally
        self._done = done
        self._votes = [rule.vote(command) for rule, command in zip(rules, commands, strict=True)]
        self._undecided = len(commands)
        self._told = 0

    def answered(self, position: int, answer: Answer) -> None:
        """The zone at ``position`` has answered the commands that it got: the own zone, at 0, gets them all."""
        votes, commands = self._votes, self._commands
        if position != 0:
            commands = [command for vote, command in zip(votes, commands, strict=True) if vote.zones > 1]
            votes = [vote for vote in votes if vote.zones > 1]
        if isinstance(answer, ZoneFailure):
            self._tally.count_failure(position, str(answer))
            answer = [answer] * len(votes)
        undecided = self._undecided
        for vote, command, reply in zip(votes, commands, answer, strict=True):
            self._undecided -= vote.submit(position, reply)
            if vote.complete:
                self._tally.count(vote, command)
        if undecided == self._undecided:
            return
        if self._undecided == 0:
            self._conclude()
        elif isinstance(self._done, GradualDone):
            self._tell_first(self._done)

    def error(self) -> PortError | None:
        """Return what is to be raised if any command has no answer of its own."""
        failures = [self._failure(index) for index in range(len(self._votes))]
        certain = next((failure for failure in failures if isinstance(failure, Unavailable)), None)
        unclear = next((failure for failure in failures if isinstance(failure, Indeterminate)), None)
        if unclear is None and certain is not None and self.anything_applied():
            return Indeterminate(*certain.args)
        return unclear or certain

    def _tell_first(self, done: GradualDone) -> None:
        decided = list(takewhile(lambda vote: vote.decided, islice(self._votes, self._told, None)))
        if decided:
            self._told += len(decided)
            done.first([vote.answer for vote in decided])

    def _conclude(self) -> None:
        answers = [vote.answer for vote in self._votes[self._told :]]
        self._done(answers if no_error(answers) else PipelineFailure(self, answers))

    def _failure(self, index: int) -> PortError | None:
        answer = self._votes[index].answer
        if not isinstance(answer, ServerError):
            return None
        if is_write(self._commands[index]) and self._maybe_applied(index):
            return Indeterminate(*answer.args)
        return Unavailable(*answer.args) if isinstance(answer, ZoneFailure) else None

    def anything_applied(self) -> bool:
        indexes = range(len(self._votes))
        return any(is_write(self._commands[index]) and self._maybe_applied(index) for index in indexes)

    def _maybe_applied(self, index: int) -> bool:
        vote = self._votes[index]
        return vote.maybe_applied or (vote.failed_inside and is_script(self._commands[index]))


def no_error(answer: Answer) -> TypeGuard[list[Reply]]:
    return isinstance(answer, list) and _ERRORS.isdisjoint(map(type, answer))


def ignore(outcome: Outcome) -> None:
    """For a caller that has its answer already."""
