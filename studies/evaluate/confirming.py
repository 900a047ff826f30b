"""The best settings of an evaluation on real zones: the same scenarios and seeds, in processes or containers."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from zonelab.analysis.comparison.confirmation import ConfirmationStatus, MedianPair, decided, medians_ms, pairs_of
from zonelab.analysis.lags.distributions import quantiles_ms
from zonelab.analysis.number_text import counted
from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import ObjectiveStatus
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.year import RunKind
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.scenarios.arms import Arm, ZoneKind
from zonelab.scenarios.faults.catalogue import CLASSES
from zonelab.scenarios.lags.distributions import distribution_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.simulation import ServiceSection
from zonelab.studies.evaluate.confirmation import Confirmation, ConfirmationRow
from zonelab.studies.evaluate.evaluation import Evaluation, EvaluationRounds
from zonelab.studies.evaluate.real_run import OVERLOADED, RealRuns, RealRunsEnded
from zonelab.studies.evaluate.rollout import Rollout, run_name
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.task import FinishedTask, Key
from zonelab.studies.reporting.progress import Display, RunBar

RESULTS_NAME = "confirm.jsonl"
SETTINGS = 2

PREDICTED = 40
"""Simulated runs of each kind that is confirmed, at least: they cost little beside real ones."""

QUIET = 6
"""Runs on a machine that was not busy; where a kind has as many, only these count."""

LINKS_MS = 2.0
"""Lag between zones below which the work of programs and servers is a good part of every time."""

CONFIRM_S = 600.0
"""Time for real runs."""

START_S = 4.0
"""Time of a real run beside its load and the half of its drain, about."""

_BEST_FIRST = (ObjectiveStatus.MET, ObjectiveStatus.OPEN, ObjectiveStatus.NOT_MET)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfirmationRuns:
    """``repeats``: runs of each kind, as long as ``seconds`` last. ``evaluation``: of what real zones run."""

    evaluation: Evaluation
    real: RealRuns
    repeats: int
    seconds: float = CONFIRM_S
    now_s: Callable[[], float] = time.monotonic

    @property
    def _rollout(self) -> Rollout:
        return self.evaluation.rollout

    def confirmed(self, evaluated: EvaluationRounds, *, simulated: RunState, directory: Path) -> Confirmation:
        """Make the runs that ``simulated`` and ``directory`` do not know yet, until Ctrl-C.

        Real ones on a busy machine are made again next time. Raises ``OSError``, ``ManyRunsFailed``.
        """
        settings = best_settings(evaluated, self._rollout)
        known: dict[Key, Observation] = {}
        counts = {cell: max(PREDICTED, evaluated.runs.get(cell, 0)) for cell in self._cells()}
        with RunBar(f"{self._rollout.scenario.name} predict") as bar:
            self.evaluation.progress = bar.show
            predicted, complete = self.evaluation.at_least(counts, settings=settings, state=simulated)
        ended = None if complete else RealRunsEnded()
        with self.evaluation.experiment.state(directory, name=RESULTS_NAME) as state:
            try:
                if complete:
                    self._make(settings, state, known)
            except RealRunsEnded as error:
                ended = error
            except KeyboardInterrupt:
                ended = RealRunsEnded()
        return Confirmation(
            on=self.real.on,
            rows=tuple(row for name in settings for row in self._rows(name, predicted[name].outcomes, known)),
            cautions=tuple(run.problem for run in known.values() if run.problem is not None),
            complete=ended is None,
            failure=None if ended is None else ended.failure,
        )

    def _make(self, settings: Sequence[str], state: RunState, known: dict[Key, Observation]) -> None:
        """Row by row, so that as many as there is time for are decided. Raises ``RealRunsEnded``."""
        planned = dict(self._planned(settings))
        known.update({key: state.results[key] for key in planned if key in state.results})
        missing = {key: scenario for key, scenario in planned.items() if key not in known}
        begin_s, made = self.now_s(), 0
        with Display() as shown:
            shown.announce("confirm", list(missing.values()))
            shown.tell(f"confirm: {self._words_before(list(missing.values()))}")
            for key, scenario in missing.items():
                if made and (self.now_s() - begin_s) * (1 + 1 / made) > self.seconds:
                    break
                made += 1
                run = known[key] = self.real.make(scenario, title=f"{key[0]}, seed {key[1]}", shown=shown)
                if run.problem is None:
                    state.add(FinishedTask(key=key, result=run))

    def _words_before(self, missing: Sequence[Scenario]) -> str:
        """Return how long the runs may take, before the first one."""
        needed_s = sum(map(_about_s, missing))
        runs = f"{counted(len(missing), 'real run')}, about {ceil(needed_s / 60)}min"
        return runs if needed_s <= self.seconds else f"{runs}; as many as fit into {self.seconds / 60:g}min"

    def _planned(self, settings: Sequence[str]) -> Iterator[tuple[Key, Scenario]]:
        names = [one.name for one in self._rollout.settings]
        for cell in self._cells():
            for name in settings:
                for seed in self._rollout.seeds(cell, self.repeats, first=self.evaluation.first_seed):
                    scenario = self._rollout.run(names.index(name), cell, seed)
                    yield self._key(name, cell, seed), scenario.model_copy(update={"arm": Arm.REAL})

    def _cells(self) -> Iterator[RunKind]:
        """Kinds of runs that real zones can have: without a fault, and with each for as long as it is simulated."""
        yield self._rollout.year.calm
        for one in self._rollout.year.faults:
            if self._unconfirmable(one.name) is None:
                yield one.cells[-1]

    def _unconfirmable(self, fault: str) -> str | None:
        """Why real runs say nothing of simulated ones with this fault; None if they do."""
        for kind in self._rollout.kinds_of_class(fault):
            if CLASSES[kind].simulated_only:
                return f"{kind} is in simulation only"
            if CLASSES[kind].of_files and self.real.on is not ZoneKind.PROCESS:
                return f"{kind} is in simulation and on process zones only"
            if not CLASSES[kind].same_in_both_arms:
                return f"{kind} is not the same on real servers"
        return None

    def _key(self, setting: str, cell: RunKind, seed: int) -> Key:
        return f"{self.real.on}: {run_name(setting, cell)}", seed

    def _rows(self, name: str, outcomes: Outcomes, known: Mapping[Key, Observation]) -> Iterator[ConfirmationRow]:
        for cell in self._cells():
            predicted = [medians_ms(run) for run in outcomes.runs[cell].values()]
            seeds = self._rollout.seeds(cell, self.repeats, first=self.evaluation.first_seed)
            made = [known[key] for seed in seeds if (key := self._key(name, cell, seed)) in known]
            quiet = [run for run in made if run.problem is None]
            measured = quiet if len(quiet) >= QUIET else made
            pairs = pairs_of(predicted, [run.numbers for run in measured])
            status, why = decided(pairs, busy=len(quiet) < len(measured))
            if status is ConfirmationStatus.UNDECIDED and len(made) < self.repeats:
                lacking_s = (self.repeats - len(made)) * _about_s(self._scenario(name))
                why = "; ".join(filter(None, (why, f"needs {ceil(lacking_s / 60)}min")))
            notes = self._notes(name, measured, pairs) if status is ConfirmationStatus.NOT else ()
            yield ConfirmationRow(
                setting=name,
                kind=str(cell),
                status=status,
                why="; ".join([why, *notes]) if why else "",
                pairs=pairs,
                runs=tuple(run.directory for run in measured),
            )
        for one in self._rollout.year.faults:
            if (reason := self._unconfirmable(one.name)) is not None:
                yield ConfirmationRow(
                    setting=name,
                    kind=str(one.cells[-1]),
                    status=ConfirmationStatus.NOT_CONFIRMABLE,
                    why=reason,
                )

    def _scenario(self, name: str) -> Scenario:
        return next(one.scenario for one in self._rollout.settings if one.name == name)

    def _notes(self, name: str, measured: Sequence[Observation], pairs: Sequence[MedianPair]) -> Iterator[str]:
        """Yield what may make real zones slower than simulated ones."""
        if all(pair.relative < 0 for pair in pairs):
            return
        scenario = self._scenario(name)
        shortest_ms = min(map(_median_ms, (scenario.links.lag, *scenario.links.overrides.values())))
        if shortest_ms < LINKS_MS:
            yield f"links have a median of {shortest_ms:.2g} ms, and agreement is expected from {LINKS_MS:g} ms on"
        if scenario.simulation.service == ServiceSection():
            yield "programs and coordinators take no time in it; how long they take here: zonelab measure-service"
        if zones := sorted({zone for run in measured for zone in run.samples[OVERLOADED]}):
            yield f"overloaded: {', '.join(zones)}"


def best_settings(evaluated: EvaluationRounds, rollout: Rollout) -> list[str]:
    """The two to be confirmed: the recommended one, then by how their objectives fare, then by what is preferred."""
    found, prefer = evaluated.found, rollout.evaluate.prefer

    def place(name: str) -> tuple[float, ...]:
        status = next(row.status for row in found.rows if row.setting == name)
        values = (evaluated.measured[name].estimate(figure) for figure in prefer)
        return (name != found.recommended, _BEST_FIRST.index(status), name not in found.tied, *values)

    return sorted(evaluated.measured, key=place)[:SETTINGS]


def _about_s(scenario: Scenario) -> float:
    return START_S + scenario.load.duration_s + scenario.drain.bound_s / 2


def _median_ms(lag: str) -> float:
    return float(quantiles_ms(distribution_of(parse_lag(lag)), 0.5))
