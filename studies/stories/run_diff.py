"""The first difference of two runs: the message that they treat differently first, the step, and what came before.

Messages are compared by their steps and not by time, so a run on real servers may stand beside a simulated one. Of all
messages that differ the first is the one whose first unlike step came earliest in either run.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.fault_bands import FaultBand
from zonelab.analysis.stories.lines import StorySource
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.run.command_log import CommandLog, SentCommand
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.run.vote_table import has_votes, recorded_votes
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.stories.again import NotMadeAgain, kept_scenario, made_again
from zonelab.studies.stories.message_steps import MessageStep, message_steps, step_texts

VOTED_MESSAGES_MAX = 2_000
"""Messages of a run whose votes are compared: all its commands are in memory meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRun:
    """One of two runs. ``commands``: what its coordinators sent; ``unknown``: why that is not known, if it is not."""

    name: str
    run: StorySource
    commands: Sequence[SentCommand] = ()
    unknown: str = ""

    @classmethod
    def of(cls, run: RunDirectory, *, watcher: Watcher | None = None) -> "ComparedRun":
        """Return a run on disk with its votes: recorded, or made again if that can be. Raises ``RunError``."""
        log = CommandLog()
        try:
            if has_votes(run):
                commands, until_ns = recorded_votes(run)
                if until_ns is not None:
                    raise NotMadeAgain(f"votes are recorded up to {until_ns / NS_PER_S:.3f} s only")
                return cls(name=run.name, run=run, commands=commands)
            scenario = kept_scenario(run, messages_max=VOTED_MESSAGES_MAX)
            made_again(run, scenario, observe=log.testbed, watcher=watcher)
        except NotMadeAgain as error:
            return cls(name=run.name, run=run, unknown=str(error))
        return cls(name=run.name, run=run, commands=log.commands)

    def without_votes(self) -> "ComparedRun":
        """Return the run as its clients saw it."""
        return ComparedRun(name=self.name, run=self.run, unknown=self.unknown)


@dataclass(frozen=True, slots=True)
class StepPair:
    """Steps that stand side by side; None: the run has no such step. ``same``: they are the same step."""

    first: MessageStep | None
    second: MessageStep | None
    same: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDifference:
    """``message_id``: of the first difference; None if there is none, and then all of the rest is empty.

    ``pairs``: the steps of that message, side by side. ``at``: the place of the first pair that differs. ``cause``:
    what was unlike before it, in words. ``kinds``: how many messages differ first in a step of each kind.
    ``alone``: messages that only the first, and only the second run has.
    """

    first: ComparedRun
    second: ComparedRun
    messages: int
    message_id: str | None
    pairs: tuple[StepPair, ...]
    at: int
    cause: str
    kinds: Mapping[str, int]
    alone: tuple[int, int]
    votes: bool

    @property
    def differing(self) -> int:
        """The number of messages that both runs have and that differ."""
        return sum(self.kinds.values())


def run_difference(first: ComparedRun, second: ComparedRun) -> RunDifference:
    """Compare two runs message by message. Raises ``RunError``."""
    votes = not (first.unknown or second.unknown)
    if not votes:
        first, second = first.without_votes(), second.without_votes()
    steps = [message_steps(one.run, one.commands) for one in (first, second)]
    shared = [message_id for message_id in steps[0] if message_id in steps[1]]
    unlike = {one: at for one in shared if (at := _first_unlike(steps[0][one], steps[1][one])) is not None}
    kinds = Counter(str(_step(steps, one, at).kind) for one, at in unlike.items())
    found = min(unlike, key=lambda one: (_step(steps, one, unlike[one]).time_ns, one), default=None)
    pairs: tuple[StepPair, ...] = ()
    cause, place = "", 0
    if found is not None:
        pairs = tuple(_side_by_side(steps[0][found], steps[1][found]))
        place = next(number for number, pair in enumerate(pairs) if not pair.same)
        cause = _cause(first, second, _step(steps, found, unlike[found]).time_ns)
    return RunDifference(
        first=first,
        second=second,
        messages=len(shared),
        message_id=found,
        pairs=pairs,
        at=place,
        cause=cause,
        kinds=dict(kinds.most_common()),
        alone=(len(steps[0]) - len(shared), len(steps[1]) - len(shared)),
        votes=votes,
    )


def _first_unlike(first: Sequence[MessageStep], second: Sequence[MessageStep]) -> int | None:
    for place, (one, other) in enumerate(zip_longest(step_texts(first), step_texts(second))):
        if one != other:
            return place
    return None


def _step(steps: Sequence[Mapping[str, Sequence[MessageStep]]], message_id: str, at: int) -> MessageStep:
    """Return the earlier of the two steps at a place; one run may have none."""
    return min((run[message_id][at] for run in steps if at < len(run[message_id])), key=lambda step: step.time_ns)


def _side_by_side(first: Sequence[MessageStep], second: Sequence[MessageStep]) -> Iterator[StepPair]:
    matcher = SequenceMatcher(None, step_texts(first), step_texts(second), autojunk=False)
    for kind, begin, end, other_begin, other_end in matcher.get_opcodes():
        for one, other in zip_longest(first[begin:end], second[other_begin:other_end]):
            yield StepPair(one, other, kind == "equal")


def _cause(first: ComparedRun, second: ComparedRun, time_ns: int) -> str:
    """Return what was unlike when the first difference came: a fault, the level, the seed, or nothing that is known."""
    bands = [one.run.faults() for one in (first, second)]
    for words, when in (("in force", _in_force), ("before that", _begun)):
        names = [{band.fault.partition(":")[2] for band in own if when(band, time_ns)} for own in bands]
        for place, which in enumerate(("first", "second")):
            if alone := sorted(names[place] - names[1 - place]):
                return f"{', '.join(alone)} was {words} in the {which} run alone"
    infos = [one.run.info for one in (first, second)]
    for name in ("scenario", "level", "arm", "seed"):
        one, other = (getattr(info, name) for info in infos)
        if one != other:
            return f"no fault was unlike before it; the {name} is: {one} and {other}"
    return "no fault was unlike before it, nor scenario, level, arm or seed"


def _in_force(band: FaultBand, time_ns: int) -> bool:
    return band.begin_ns <= time_ns and (band.end_ns is None or band.end_ns >= time_ns)


def _begun(band: FaultBand, time_ns: int) -> bool:
    return band.begin_ns <= time_ns


def nearest_passing(run: RunDirectory, *, watcher: Watcher | None = None) -> tuple[RunDifference, str] | None:
    """Leave out one fault after another and return the valid run that is most like ``run``, and what it leaves out.

    Returns None if no fault alone makes ``run`` invalid. Raises ``NotMadeAgain`` if it cannot be made again, and
    ``RunError``.
    """
    scenario = kept_scenario(run, messages_max=VOTED_MESSAGES_MAX)
    own = ComparedRun.of(run, watcher=watcher)
    if own.unknown:
        raise NotMadeAgain(own.unknown)
    found = [(run_difference(own, one), what) for one, what in _passing(scenario, watcher)]
    return min(found, key=lambda one: one[0].differing, default=None)


def _passing(scenario: Scenario, watcher: Watcher | None) -> Iterable[tuple[ComparedRun, str]]:
    for number, fault in enumerate(scenario.faults):
        rest = tuple(other for place, other in enumerate(scenario.faults) if place != number)
        log = CommandLog()
        trial = attempt(scenario.model_copy(update={"faults": rest}), observe=log.testbed, watcher=watcher)
        if trial.verdict is not None and trial.verdict.valid is True:
            what = f"fault {number}: {fault.kind}"
            yield ComparedRun(name=f"without {what}", run=trial.recorded, commands=log.commands), what
