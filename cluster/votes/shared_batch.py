"""Pipelines of several callers that travel to the zones as one batch, while each is decided by itself."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from zonelab.cluster.connections.batch import Answer
from zonelab.cluster.connections.failures import ZoneFailure
from zonelab.cluster.votes.pipeline import Done, Outcome, UniformPipeline, ignore
from zonelab.cluster.votes.rules import Rule
from zonelab.cluster.votes.statistics import Tally
from zonelab.engine.ports import Command

Member = tuple[Sequence[Command], Done]
"""One caller's pipeline, and the callback for its outcome."""


class MembersOfOne(Sequence[Member]):
    """Members of one command each. They are made when they are looked at, since most often all are called
    back at once.
    """

    @abstractmethod
    def tell(self, replies: Outcome) -> None:
        """Give every member its reply, all of which are good."""


class SharedBatch(UniformPipeline):
    """``members`` have the same ``rule``; ``commands`` and ``packed`` are those of all of them, in order.

    While the zones give equal answers without errors, these are compared as a whole. From the first answer that differs
    or has an error, each member is decided by itself, so none waits for a zone that only another one needs.
    """

    __slots__ = ("_members",)

    def __init__(
        self, members: Sequence[Member], commands: Sequence[Command], rule: Rule, tally: Tally, packed: bytes
    ) -> None:
        tell = members.tell if isinstance(members, MembersOfOne) else partial(_tell, members)
        super().__init__(commands, rule, tally, tell, packed)
        self._members = members

    def _parts(self, *, told: bool) -> Callable[[int, Answer], None]:
        parts = [
            UniformPipeline(commands, self._rule, self._tally, ignore if told else done)
            for commands, done in self._members
        ]
        return partial(_share, parts)


def _tell(members: Sequence[Member], replies: Outcome) -> None:
    """Give every member its part of the replies, all of which are good."""
    assert isinstance(replies, list)
    if len(replies) == len(members):
        for (_, done), reply in zip(members, replies, strict=True):
            done([reply])
        return
    begin = 0
    for commands, done in members:
        end = begin + len(commands)
        done(replies[begin:end])
        begin = end


def _share(parts: Sequence[UniformPipeline], position: int, answer: Answer) -> None:
    begin = 0
    for part in parts:
        end = begin + len(part.commands)
        part.answered(position, answer if isinstance(answer, ZoneFailure) else answer[begin:end])
        begin = end
