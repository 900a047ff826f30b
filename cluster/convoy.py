"""Pipelines of several callers that travel to the zones as one batch, while each is decided by itself."""

from collections.abc import Sequence

from cluster.connections.batch import Answer, Batch
from cluster.votes.pipeline import Comparison, Done, Outcome, no_error
from cluster.votes.rules import Rule
from cluster.votes.statistics import Tally
from cluster.votes.vote import ZoneFailure
from engine.ports import Command, Reply

Member = tuple[Sequence[Command], Done]
"""One caller's pipeline, and who is told what came of it."""


class Convoy(Batch):
    """``members`` have the same ``rule``; ``commands`` and ``packed`` are those of all of them, in order.

    While the zones answer alike and without errors, their answers are compared as a whole. From the first answer that
    is not so, every member is on its own, so none of them waits for a zone that only another one needs.
    """

    __slots__ = ("_decided", "_members", "_parts", "_positions", "_replies", "_rule", "_tally")

    _replies: list[Reply]

    def __init__(
        self, members: Sequence[Member], commands: Sequence[Command], rule: Rule, tally: Tally, packed: bytes
    ) -> None:
        super().__init__(commands, writes=not rule.reads, packed=packed)
        self._members = members
        self._rule = rule
        self._tally = tally
        self._positions: list[int] = []  # zones that have given these replies, in order of arrival
        self._decided = False
        self._parts: list[tuple[int, int, Comparison]] | None = None

    def answered(self, position: int, answer: Answer) -> None:
        """The zone at ``position`` has answered; the own zone is at 0."""
        positions = self._positions
        if self._parts is not None:
            self._share(position, answer)
            return
        if not positions and no_error(answer):
            self._replies = answer
        elif not positions or answer != self._replies:
            self._parts = self._parted()
            self._share(position, answer)
            return
        positions.append(position)
        alike, rule = len(positions), self._rule
        if alike == rule.needed or (position == 0 and rule.needed == 0):
            self._decided = True
            self._deliver()
        if alike == rule.zones:
            self._tally.count_alike(rule.decision, len(self.commands))

    def _deliver(self) -> None:
        replies = self._replies
        begin = 0
        for commands, done in self._members:
            end = begin + len(commands)
            done(replies[begin:end])
            begin = end

    def _parted(self) -> list[tuple[int, int, Comparison]]:
        """The members by themselves, each with its share of the answers so far."""
        parts = []
        begin = 0
        for commands, done in self._members:
            end = begin + len(commands)
            part = Comparison(commands, self._rule, self._tally, _heard if self._decided else done)
            for position in self._positions:
                part.answered(position, self._replies[begin:end])
            parts.append((begin, end, part))
            begin = end
        return parts

    def _share(self, position: int, answer: Answer) -> None:
        assert self._parts is not None
        for begin, end, part in self._parts:
            part.answered(position, answer if isinstance(answer, ZoneFailure) else answer[begin:end])


def _heard(outcome: Outcome) -> None:
    """Its caller has been told already."""
