"""Inputs that need runs of their own: rate, lag and work, each at its low and its high end, for finalists only."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zonelab.analysis.number_text import digits
from zonelab.analysis.rates.decisions import ObjectiveJudgement, ObjectiveStatus
from zonelab.analysis.rates.recommendation import Recommendation, SettingChoice
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.scenarios.spec.evaluate import UncertainInputs
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.evaluate.budget import LEAST, Budget
from zonelab.studies.evaluate.evaluation import Evaluation, EvaluationRounds
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.reporting.progress import RunBar

PART = 0.4
"""Part of a budget of time that goes to the ends of such inputs."""

UNBOUNDED_S = 120.0
"""Time for each end if nothing bounds that of an evaluation."""

FINALISTS = 2

_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)\b")


@dataclass(frozen=True, kw_only=True, slots=True)
class InputEnd:
    """One end of an input. ``found``: what its runs show of the finalists; None if the budget had no room for them."""

    what: str
    factor: float
    found: Recommendation | None

    @property
    def name(self) -> str:
        return f"at {digits(self.factor)} times the {self.what}"

    def missed(self, setting: str, place: int) -> str | None:
        """Return how the objective at ``place`` fares there, if it is not met or accepted."""
        if self.found is None:
            return f"{self.name}: no time for runs"
        row = next(row for row in self.found.rows if row.setting == setting)
        judged = row.judged[place]
        if judged.status is ObjectiveStatus.MET or (judged.unseen and row.accepts_unseen):
            return None
        return f"{self.name} it is {judged.status}: {judged}"

    def to_json(self) -> dict[str, Any]:
        rows = () if self.found is None else self.found.rows
        return {
            "what": self.what,
            "factor": self.factor,
            "settings": {
                row.setting: [{"status": str(one.status), "told": str(one)} for one in row.judged] for row in rows
            },
        }


def scaled(scenario: Scenario, what: str, factor: float) -> Scenario:
    """Return ``scenario`` with so many times the rate, the lag or the work. Raises ``ScenarioError``."""
    if what == "rate":
        return scenario.model_copy(update={"load": scenario.load.at_rates(lambda rate: rate * factor)})
    if what == "work":
        work = {"processing": _times(scenario.consumers.processing, factor, "work")}
        return scenario.model_copy(update={"consumers": scenario.consumers.model_copy(update=work)})
    links = scenario.links
    overrides = {name: _times(one, factor, "lag") for name, one in links.overrides.items()}
    changed = links.model_copy(update={"lag": _times(links.lag, factor, "lag"), "overrides": overrides})
    return scenario.model_copy(update={"links": changed})


def check_inputs(rollout: Rollout) -> None:
    """Raise ``ScenarioError`` if an uncertain input of ``rollout`` cannot be scaled."""
    for what, factor in _ends(rollout.evaluate.inputs):
        for setting in rollout.settings:
            scaled(setting.scenario, what, factor)


def finalists(found: Recommendation) -> list[str]:
    """Return the recommended setting and the first tied with it; nothing without one."""
    return [] if found.recommended is None else [found.recommended, *found.tied][:FINALISTS]


@dataclass(frozen=True, kw_only=True, slots=True)
class InputRuns:
    """``each``: the budget of one end."""

    evaluation: Evaluation
    each: Budget

    @classmethod
    def within(cls, budget: Budget, evaluation: Evaluation) -> "InputRuns":
        """Return those that ``budget`` has room for."""
        ends = max(1, len(list(_ends(evaluation.rollout.evaluate.inputs))))
        if budget.runs is not None:
            least = LEAST * len(evaluation.rollout.year.cells)
            return cls(evaluation=evaluation, each=replace(budget, runs=max(least, budget.runs // ends)))
        seconds = UNBOUNDED_S if budget.seconds is None else PART * budget.seconds / ends
        return cls(evaluation=evaluation, each=replace(budget, seconds=seconds))

    def rest(self, budget: Budget) -> Budget:
        """Return what is left of ``budget`` for the evaluation itself."""
        asked = list(_ends(self.evaluation.rollout.evaluate.inputs))
        whole = budget.seconds is None or budget.is_short or not asked
        return budget if whole else replace(budget, seconds=(1 - PART) * (budget.seconds or 0.0))

    def made(self, evaluated: EvaluationRounds, directory: Path) -> tuple[InputEnd, ...]:
        """Evaluate the finalists at every end. Raises ``OSError``, ``ManyRunsFailed``."""
        names = finalists(evaluated.found)
        if not names:
            return ()
        return tuple(self._end(what, factor, names, directory) for what, factor in self._asked)

    @property
    def _asked(self) -> list[tuple[str, float]]:
        return list(_ends(self.evaluation.rollout.evaluate.inputs))

    def _end(self, what: str, factor: float, names: Sequence[str], directory: Path) -> InputEnd:
        rollout = self.evaluation.rollout
        settings = tuple(
            replace(one, scenario=scaled(one.scenario, what, factor)) for one in rollout.settings if one.name in names
        )
        other = Evaluation(
            replace(rollout, settings=settings),
            first_seed=self.evaluation.first_seed,
            workers=self.evaluation.workers,
        )
        with (
            other.experiment.state(directory, name=f"input-{what}-{factor:g}.jsonl") as state,
            RunBar(f"{rollout.scenario.name} {what} x {factor:g}", done=len(state.results)) as bar,
        ):
            other.progress = bar.show
            try:
                found = other.run(self.each, state=state).found
            except NotAccepted:
                found = None
        return InputEnd(what=what, factor=factor, found=found)


def at_every_end(found: Recommendation, ends: Sequence[InputEnd]) -> Recommendation:
    """Return the recommendation in which what a finalist does not meet at every end is open."""
    names = finalists(found) if ends else []
    rows = tuple(_at_every_end(row, ends) if row.setting in names else row for row in found.rows)
    return replace(
        found,
        rows=rows,
        undecided=tuple(row.setting for row in rows if row.status is not ObjectiveStatus.NOT_MET and row.open),
    )


def _at_every_end(row: SettingChoice, ends: Sequence[InputEnd]) -> SettingChoice:
    def judged(one: ObjectiveJudgement, place: int) -> ObjectiveJudgement:
        missed = tuple(text for end in ends if (text := end.missed(row.setting, place)) is not None)
        accepted = one.status is ObjectiveStatus.MET or (one.unseen and row.accepts_unseen)
        if not missed or not accepted:
            return one
        return replace(one, status=ObjectiveStatus.OPEN, unseen=False, at_ends=missed)

    return replace(row, judged=tuple(judged(one, place) for place, one in enumerate(row.judged)))


def _ends(inputs: UncertainInputs | None) -> Iterator[tuple[str, float]]:
    given: Mapping[str, Any] = {} if inputs is None else dict(inputs)
    for what, span in given.items():
        if span is not None:
            yield from ((what, end) for end in (span.low, span.high) if end != 1)


def _times(text: str, factor: float, what: str) -> str:
    """Return a distribution with all its times so many times as long."""
    other = _TIME.sub(lambda match: f"{float(match[1]) * factor:.9g}{match[2]}", text)
    if other == text:
        raise ScenarioError([f"evaluate.inputs.{what}: got {text!r}; accepted: a distribution with its times"])
    return other
