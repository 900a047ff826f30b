"""Runs of the recommended setting without a safety mechanism of its queue, within a part of the budget."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.year import RunKind
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.evaluate.ablations import PAIRS_LEAST, Ablations, ablations_of
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.evaluation import Evaluation, EvaluationRounds
from zonelab.studies.evaluate.one_run import measured
from zonelab.studies.evaluate.rollout import Rollout, run_name
from zonelab.studies.guarantees.mechanisms import ClusterMechanism, mechanisms_of, parse_ablation
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.task import Key, RunTask
from zonelab.studies.reporting.progress import RunBar

RESULTS_NAME = "ablations.jsonl"

PART = 0.15
"""Part of a budget of time that goes to ablations."""

PAIRS_MOST = 24
RUNS_A_PAIR = 10
"""With a number of runs of each setting as the budget, one pair of each kind for so many."""

UNBOUNDED_S = 60.0
"""Time for ablations if nothing bounds that of an evaluation."""

NOTHING_OFF = "nothing"

Subject = tuple[int, str, RunKind, int]


class _PartIsSpent(Exception):
    """Raised in between runs, as their part of the budget is spent."""


@dataclass(frozen=True, slots=True)
class AblatedMeasure:
    """Runs of settings of ``rollout``, each without a mechanism, or with all: ``NOTHING_OFF``."""

    rollout: Rollout

    def __call__(self, which: Subject) -> Observation:
        """Raises ``RuntimeError`` if there is no verdict."""
        setting, mechanism, cell, seed = which
        scenario = self.rollout.run(setting, cell, seed)
        whole = mechanism == NOTHING_OFF
        make = queue_under_test if whole else parse_ablation(mechanism, engine=scenario.queue.engine).make_queue
        found = measured(attempt(scenario, make_queue=make))
        return replace(found, numbers={**found.numbers, **self.rollout.scale(setting, cell).numbers()})


def mechanisms_off(scenario: Scenario) -> list[str]:
    """Return what the queue of ``scenario`` can be tried without, in its mode; nothing of a queue of the user's own."""
    queue = scenario.queue
    if queue.factory is not None or queue.compat:
        return []
    every = [str(one) for one in mechanisms_of(queue.engine) if not isinstance(one, ClusterMechanism)]
    return [one for one in every if str(parse_ablation(one, engine=queue.engine).mode) == str(queue.mode)]


@dataclass(frozen=True, kw_only=True, slots=True)
class AblationRuns:
    """``pairs``: of each kind of runs, at most; in at most ``seconds``."""

    evaluation: Evaluation
    pairs: int
    seconds: float
    now_s: Callable[[], float] = time.monotonic

    @classmethod
    def within(cls, budget: Budget, evaluation: Evaluation) -> "AblationRuns":
        """Return those that ``budget`` has room for."""
        if budget.runs is not None:
            return cls(evaluation=evaluation, pairs=min(PAIRS_MOST, budget.runs // RUNS_A_PAIR), seconds=float("inf"))
        seconds = UNBOUNDED_S if budget.seconds is None else PART * budget.seconds
        pairs = 0 if budget.is_short else PAIRS_MOST
        return cls(evaluation=evaluation, pairs=pairs, seconds=seconds)

    def rest(self, budget: Budget) -> Budget:
        """Return what is left of ``budget`` for the evaluation itself."""
        ablated = any(mechanisms_off(one.scenario) for one in self.evaluation.rollout.settings)
        if budget.seconds is None or budget.is_short or not ablated:
            return budget
        return replace(budget, seconds=(1 - PART) * budget.seconds)

    def made(self, evaluated: EvaluationRounds, directory: Path) -> Ablations | None:
        """Make the runs that ``directory`` does not know yet, and compare all with those of the recommended setting.

        None if there is no such setting, or it has no mechanism to be tried without. Raises ``OSError``,
        ``ManyRunsFailed``.
        """
        rollout, name = self.evaluation.rollout, evaluated.found.recommended
        place = next((at for at, one in enumerate(rollout.settings) if one.name == name), None)
        if name is None or place is None or self.pairs < PAIRS_LEAST:
            return None
        mechanisms = mechanisms_off(rollout.settings[place].scenario)
        if not mechanisms:
            return None
        experiment, own = self._experiment(), evaluated.measured[name].outcomes
        with experiment.state(directory, name=RESULTS_NAME) as state:
            title = f"{rollout.scenario.name} ablations"
            with RunBar(title, done=len(state.results), most_s=self.seconds, now_s=self.now_s) as bar:

                def show(done: int, total: int) -> None:
                    bar.show(done, total)
                    if bar.is_over:
                        raise _PartIsSpent

                try:
                    tasks = list(self._tasks(place, mechanisms, own))
                    experiment.run(tasks, state=state, workers=self.evaluation.workers, progress=show)
                except _PartIsSpent:
                    pass
            made = {one: self._runs(one, place, state.results) for one in (NOTHING_OFF, *mechanisms)}
        whole = {cell: {**runs, **own.runs.get(cell, {})} for cell, runs in made.pop(NOTHING_OFF).items()}
        without = {one: Outcomes(runs) for one, runs in made.items()}
        return ablations_of(name, Outcomes(whole), without, self._kinds)

    @property
    def _kinds(self) -> list[RunKind]:
        """Without a fault, and with each class for its shortest length."""
        year = self.evaluation.rollout.year
        return [year.calm, *(one.cells[0] for one in year.faults)]

    def _experiment(self) -> Experiment[Subject]:
        evaluate = self.evaluation.experiment
        return Experiment(
            verb="ablations",
            name=evaluate.name,
            measure=AblatedMeasure(self.evaluation.rollout),
            decided_by=evaluate.decided_by,
            factories=evaluate.factories,
        )

    def _tasks(self, setting: int, mechanisms: list[str], own: Outcomes) -> Iterator[RunTask[Subject]]:
        """Yield the runs in the order in which they are wanted: the fewest of a kind before the next kind.

        Those of ``own`` have nothing off, and are not made again.
        """
        for first, last in ((0, PAIRS_LEAST), (PAIRS_LEAST, self.pairs)):
            for cell in self._kinds:
                for seed in self._seeds(cell)[first:last]:
                    known = seed in own.runs.get(cell, {})
                    for one in mechanisms if known else (NOTHING_OFF, *mechanisms):
                        yield RunTask(self._named(setting, one, cell), seed, (setting, one, cell, seed))

    def _seeds(self, cell: RunKind) -> range:
        return self.evaluation.rollout.seeds(cell, self.pairs, first=self.evaluation.first_seed)

    def _runs(
        self, mechanism: str, setting: int, results: Mapping[Key, Observation]
    ) -> dict[RunKind, dict[int, Observation]]:
        runs = {}
        for cell in self._kinds:
            name = self._named(setting, mechanism, cell)
            runs[cell] = {seed: results[name, seed] for seed in self._seeds(cell) if (name, seed) in results}
        return runs

    def _named(self, setting: int, mechanism: str, cell: RunKind) -> str:
        return run_name(f"{self.evaluation.rollout.settings[setting].name} without {mechanism}", cell)
