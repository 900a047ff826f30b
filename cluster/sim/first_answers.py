"""Which of several answers that arrive at one instant counts as the first.

In virtual time all answers over links without lag arrive together, and a dead server's refusal is known at once. In
Netflix Dynomite the own server is one hop away and the others are two, since their own processes stand in the way: of
three different values the own zone's was first in 42 to 96 % of tries, and with one server dead the own server's error
was before the refusal in 4 to 92 %, by load (commit 2046b05 on one machine, measured on 22 November 2026). A
coordinator draws one share of each range, and then each time whether the own zone is first. Where nothing arrives
together, nothing is drawn. Events of one instant have an order of their own, so an error of a third zone
that would decide, with the refusal, before the own answer of the same instant is counted a nanosecond later.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from random import Random
from typing import Any

from zonelab.cluster.connections.batch import Answer
from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.coordinators.plain import PlainCoordinator
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.pipeline import Done, MixedPipeline, UniformPipeline
from zonelab.cluster.votes.rules import Rule
from zonelab.cluster.votes.statistics import Tally
from zonelab.engine.ports import Command, ServerError

VALUE_SHARES = (0.42, 0.96)
REFUSAL_SHARES = (0.04, 0.92)
REFUSAL_NS = 200_000
"""An own answer that takes longer comes after the refusal of another zone's server. Our choice, not measured."""

_OTHERS = 2
"""The shares of values were measured against so many other zones."""


class FirstAnswers:
    """Draws of one coordinator."""

    def __init__(self, *, runtime: SimRuntime, random: Random) -> None:
        self.environment = runtime.environment
        self._random = random
        self._own_value = random.uniform(*VALUE_SHARES)
        self._own_before_refusal = random.uniform(*REFUSAL_SHARES)

    def own_first(self, *, others: int, refused: bool) -> bool:
        """Return whether the own answer is before those of ``others`` zones, of which one has refused or all have
        answered.
        """
        share = self._own_before_refusal
        if not refused:
            odds_to_one = _OTHERS * self._own_value / (1 - self._own_value)
            share = odds_to_one / (odds_to_one + others)
        return self._random.random() < share


class Arrivals:
    """Virtual times at which the zones have answered one pipeline."""

    __slots__ = ("_at_ns", "_drawn", "_environment", "_first_answers", "_own_failed", "_refused", "_sent_ns")

    def __init__(self, first_answers: FirstAnswers, *, sent_ns: int, at_ns: dict[int, int]) -> None:
        self._first_answers = first_answers
        self._environment = first_answers.environment
        self._sent_ns = sent_ns
        self._at_ns = at_ns  # by the position of the zone
        self._own_failed = False
        self._refused: set[int] = set()
        self._drawn: dict[tuple[int, bool], bool] = {}

    def note(self, position: int, answer: Answer) -> None:
        """The zone at ``position`` has answered now, if it had not before."""
        now_ns = self._environment._now
        self._at_ns.setdefault(position, now_ns)
        if isinstance(answer, ZoneFailure):
            if position == 0:
                self._own_failed = True
            elif now_ns == self._sent_ns and str(answer) == STORAGE_REFUSED:
                self._refused.add(position)

    def before_own(self, answer: Answer) -> bool:
        """Return whether ``answer``, of another zone, may decide with a refusal before the own one of this instant."""
        if not self._refused or 0 in self._at_ns or not isinstance(answer, list):
            return False
        waited_ns = self._environment._now - self._sent_ns
        return 0 < waited_ns <= REFUSAL_NS and any(isinstance(reply, ServerError) for reply in answer)

    def postpone(self, then: Callable[[], None]) -> None:
        """Do ``then`` when this instant is over."""
        self._environment.call_later(1, then)

    def first_of(self, zones: Sequence[int]) -> int:
        """Return the first of ``zones`` to answer; see ``Vote.first_of``. An answer of the own server is drawn against
        those that are not before it.

        Others keep their order. So does the failure of the own server, of which the coordinator knows by itself.
        """
        if 0 not in zones or self._own_failed:
            return zones[0]
        own_ns = self._at_ns[0]
        if any(self._at_ns[zone] < own_ns for zone in zones if zone not in self._refused):
            return zones[0]
        if own_ns > self._sent_ns + REFUSAL_NS and not self._refused.isdisjoint(zones):
            return zones[0]
        others = [zone for zone in zones if zone and (zone in self._refused or self._at_ns[zone] == own_ns)]
        if not others:
            return 0
        refused = any(zone in self._refused for zone in others)
        case = (len(others), refused)
        if case not in self._drawn:
            self._drawn[case] = self._first_answers.own_first(others=len(others), refused=refused)
        return 0 if self._drawn[case] else others[0]


class SimUniformPipeline(UniformPipeline):
    """Pipeline that records the virtual times at which its answers arrive."""

    __slots__ = ("_at_ns", "_environment", "_first_answers", "_sent_ns")

    def __init__(
        self,
        first_answers: FirstAnswers,
        commands: Sequence[Command],
        rule: Rule,
        tally: Tally,
        done: Done,
        packed: bytes | None,
    ) -> None:
        UniformPipeline.__init__(self, commands, rule, tally, done, packed)
        self._first_answers = first_answers
        self._environment = first_answers.environment
        self._sent_ns = self._environment._now
        self._at_ns: dict[int, int] = {}

    def answered(self, position: int, answer: Answer) -> None:
        if self._vote_apart is None:
            self._at_ns[position] = self._environment._now
        UniformPipeline.answered(self, position, answer)  # ``super`` takes time, and this is done for every answer

    def _answered_alike(self) -> Iterable[int]:
        return list(self._at_ns)[: self._positions.bit_count()]

    def _apart(self, rules: Sequence[Rule], done: Done) -> MixedPipeline:
        arrivals = Arrivals(self._first_answers, sent_ns=self._sent_ns, at_ns=self._at_ns)
        return SimMixedPipeline(arrivals, self.commands, rules, self._tally, done)


class SimMixedPipeline(MixedPipeline):
    """Pipeline whose votes count answers that arrive at the same time together."""

    __slots__ = ("_arrivals",)

    def __init__(self, arrivals: Arrivals, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._arrivals = arrivals
        for vote in self._votes:
            vote.first_of = arrivals.first_of

    def answered(self, position: int, answer: Answer) -> None:
        self._arrivals.note(position, answer)
        if self._arrivals.before_own(answer):
            self._arrivals.postpone(partial(super().answered, position, answer))
        else:
            super().answered(position, answer)


class SimCoordinator(PlainCoordinator):
    """A coordinator whose answers arrive in virtual time."""

    def __init__(self, *, runtime: SimRuntime, **parts: Any) -> None:
        super().__init__(runtime=runtime, **parts)
        random = runtime.random(f"first answers {self.zone}")
        self._first_answers = FirstAnswers(runtime=runtime, random=random)
        self._uniform = partial(SimUniformPipeline, self._first_answers)
        self._mixed = self._pipeline_of_rules

    def _pipeline_of_rules(self, *arguments: Any) -> MixedPipeline:
        arrivals = Arrivals(self._first_answers, sent_ns=self._first_answers.environment._now, at_ns={})
        return SimMixedPipeline(arrivals, *arguments)
