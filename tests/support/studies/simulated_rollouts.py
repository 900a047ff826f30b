"""Rollouts that are simulated, with their right answers: files in ``rollouts``, and what many unthinned runs showed.

``truth.json`` is written by ``python benchmarks/simulated_rollouts.py --truth``.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zonelab.analysis.rates.decisions import ObjectiveStatus
from zonelab.analysis.rates.decisive_inputs import changes
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.recommendation import Recommendation, recommend
from zonelab.analysis.rates.rollout_question import RolloutQuestion
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.rollout import Rollout

FOLDER = Path(__file__).with_name("rollouts")
TRUTH = FOLDER / "truth.json"

RUNS = 20
"""Runs of each setting in one evaluation."""

SEEDS_APART = 1_000
TRUTH_SEED = 1_000_000
"""The truth is of other seeds than any evaluation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Findings of an evaluation: ``measured`` are the runs that it rests on."""

    asked: Rollout
    found: Recommendation
    measured: Mapping[str, SettingRates]

    def objectives(self, setting: str, status: ObjectiveStatus) -> set[str]:
        row = next(row for row in self.found.rows if row.setting == setting)
        return {str(one.objective) for one in row.judged if one.status is status}

    def without(self, *objectives: str) -> str | None:
        """The setting that would be recommended without these objectives."""
        left = [one for one in self.asked.evaluate.objectives if str(one) not in objectives]
        return self._recommended(self.measured, left)

    def at_end(self, place: int) -> str | None:
        """The setting that would be recommended if all inputs were at their low (0) or high (-1) ends."""
        at = {name: one.on(one.year.ends[place]) for name, one in self.measured.items()}
        return self._recommended(at, self.asked.evaluate.objectives)

    @property
    def flips(self) -> dict[str, float]:
        """By input, its value from which on another setting is recommended, as a part of the value in the file."""
        evaluate = self.asked.evaluate
        question = RolloutQuestion(settings=self.measured, objectives=evaluate.objectives, prefer=evaluate.prefer)
        return {one.what: one.factor for one in changes(question)}

    def _recommended(self, measured: Mapping[str, SettingRates], objectives: Any) -> str | None:
        evaluate = self.asked.evaluate
        accepts = evaluate.accept is not None
        return recommend(measured, objectives, prefer=evaluate.prefer, accepts_unseen=accepts).recommended


@dataclass(frozen=True, kw_only=True)
class SimulatedRollout:
    """``reason`` returns whether an answer with the right settings has them for the right reason, given the truth."""

    name: str
    recommended: str
    reason: Callable[[Answer, Mapping[str, Any]], bool]
    tied: tuple[str, ...] = ()

    @cached_property
    def asked(self) -> Rollout:
        return Rollout.load(str(FOLDER / f"{self.name}.yaml"))

    @cached_property
    def truth(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(TRUTH.read_text(encoding="utf-8"))[self.name]
        return found

    def answer(self, seed: int) -> Answer:
        """Evaluate, with seeds that no other ``seed`` has."""
        evaluation = Evaluation(self.asked, first_seed=seed * SEEDS_APART)
        with TemporaryDirectory() as folder, evaluation.experiment.state(Path(folder)) as state:
            done = evaluation.run(Budget(runs=RUNS), state=state)
        return Answer(asked=self.asked, found=done.found, measured=done.measured)

    def is_right(self, answer: Answer) -> bool:
        best = {answer.found.recommended, *answer.found.tied}
        return best == {self.recommended, *self.tied} and self.reason(answer, self.truth)

    def true_rates(self, runs: int) -> Answer:
        """Make so many unthinned runs of each kind and setting."""
        assert {one.thinning for one in self.asked.year.faults} <= {1}
        evaluation = Evaluation(self.asked, first_seed=TRUTH_SEED)
        names = [one.name for one in self.asked.settings]
        with TemporaryDirectory() as folder, evaluation.experiment.state(Path(folder)) as state:
            counts = dict.fromkeys(self.asked.year.cells, runs)
            measured, _ = evaluation.at_least(counts, settings=names, state=state)
        evaluate = self.asked.evaluate
        found = recommend(measured, evaluate.objectives, prefer=evaluate.prefer, accepts_unseen=True)
        return Answer(asked=self.asked, found=found, measured=measured)


def told(answer: Answer, runs: int) -> dict[str, Any]:
    """Its entry in ``truth.json``: by setting and objective the value and its 95 % interval, and the flip points."""
    figures = {
        row.setting: {
            str(one.objective): {**one.value.to_json(), "cases": one.cases, "messages": one.messages}
            for one in row.judged
        }
        for row in answer.found.rows
    }
    return {"runs": runs, "settings": figures, "flips": answer.flips}


def _zone_outage(answer: Answer, truth: Mapping[str, Any]) -> bool:
    lost = "losses == 0 with a zone is out"
    rejected = answer.objectives("queue.mode=default", ObjectiveStatus.NOT_MET)
    return rejected == {lost} and answer.without(lost) == "queue.mode=default"


def _lease(answer: Answer, truth: Mapping[str, Any]) -> bool:
    return answer.objectives("queue.unack_ms=400", ObjectiveStatus.NOT_MET) == {"duplicates < 5%"}


def _interval(answer: Answer, truth: Mapping[str, Any]) -> bool:
    """One is recommended at the low end, the other at the high end, and the flip point is where it truly is."""
    is_open = answer.objectives("level=DC_ONE", ObjectiveStatus.OPEN) == {"error_rate < 5%"}
    ends = [answer.at_end(place) for place in (0, -1)] == ["level=DC_ONE", "level=DC_QUORUM"]
    (now,), (truly,) = (
        [factor for what, factor in flips.items() if "a year" in what] for flips in (answer.flips, truth["flips"])
    )
    return is_open and ends and 1 / FLIP_CLOSE < now / truly < FLIP_CLOSE


FLIP_CLOSE = 1.5
"""Flip points of an evaluation of few runs may differ from the true one by this factor; by two is wrong."""


def _nothing_decides(answer: Answer, truth: Mapping[str, Any]) -> bool:
    return not any(answer.objectives(row.setting, ObjectiveStatus.NOT_MET) for row in answer.found.rows)


SIMULATED = {
    one.name: one
    for one in (
        SimulatedRollout(name="zone-outage-decides", recommended="queue.mode=hardened", reason=_zone_outage),
        SimulatedRollout(name="lease-decides", recommended="queue.unack_ms=2000", reason=_lease),
        SimulatedRollout(name="interval-flips", recommended="level=DC_QUORUM", reason=_interval),
        SimulatedRollout(
            name="tie", recommended="queue.unack_ms=600", tied=("queue.unack_ms=2000",), reason=_nothing_decides
        ),
    )
}
