"""An evaluation of programs of the user's own: runs on real servers, and the objectives that they decide."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import ERROR
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import CASES, Figure, Objective, TimedOperation
from zonelab.analysis.rates.recommendation import Recommendation, recommend
from zonelab.analysis.rates.year import RunKind
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.errors import RunError
from zonelab.scenarios.spec.evaluate import AcceptedOpen
from zonelab.studies.evaluate.one_run import measured_run
from zonelab.studies.evaluate.program_rollout import ProgramRollout
from zonelab.studies.evaluate.real_run import RealRuns, RealRunsEnded
from zonelab.studies.evaluate.rollout import run_name
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.task import FinishedTask, Key
from zonelab.studies.reporting.progress import Display
from zonelab.studies.sweep.settings import identities

NOT_JUDGED = "not_judged"
"""Samples of a run: what its programs do not say."""

_INSTANTS: Mapping[str, TimedOperation] = {"pop": TimedOperation.LEASE, "ack": TimedOperation.ACK}


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramAnswer:
    """``found``: of the objectives that the runs can judge; ``not_judged``: the others.

    ``runs``: of each kind, in each setting. ``left_out``: runs of which nothing is known for certain, each with why.
    ``failure``: why no more could be made.
    """

    measured: Mapping[str, SettingRates]
    found: Recommendation
    not_judged: tuple[Objective, ...]
    runs: Mapping[RunKind, int]
    left_out: tuple[str, ...]
    complete: bool
    failure: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProgramEvaluation:
    """Makes ``repeats`` runs of each kind and setting of ``rollout``, one at a time, and keeps them."""

    rollout: ProgramRollout
    real: RealRuns
    repeats: int
    first_seed: int = 1

    @property
    def experiment(self) -> Experiment[Key]:
        """Return what names the folder of its results: settings, faults and the kind of zones decide them."""
        faults = [one.model_dump_json() for one in self.rollout.evaluate.faults.values()]
        return Experiment(
            verb="evaluate",
            name=self.rollout.scenario.name,
            measure=_never,
            decided_by=(str(self.real.on), *identities(self.rollout.settings), *faults),
        )

    def answer(self, state: RunState) -> ProgramAnswer:
        """Make the runs that ``state`` does not have, until Ctrl-C, and decide. Raises ``OSError``."""
        left_out: list[str] = []
        complete, failure = True, None
        try:
            self._make(state, left_out)
        except RealRunsEnded as error:
            complete, failure = False, error.failure
        except KeyboardInterrupt:
            complete = False
        return self._decided(state, left_out, complete=complete, failure=failure)

    def _planned(self) -> Iterator[tuple[Key, tuple[int, RunKind, int]]]:
        """Yield every run, kinds and settings in turn, so that what Ctrl-C leaves is of all of them."""
        cells = self.rollout.year.cells
        for number in range(self.repeats):
            for kind in cells:
                seed = self.rollout.seeds(kind, self.repeats, first=self.first_seed)[number]
                for place, setting in enumerate(self.rollout.settings):
                    yield (run_name(setting.name, kind), seed), (place, kind, seed)

    def _make(self, state: RunState, left_out: list[str]) -> None:
        planned = {key: which for key, which in self._planned() if key not in state.results}
        scenarios = {key: self.rollout.run(*which) for key, which in planned.items()}
        with Display() as shown:
            shown.announce("evaluate", list(scenarios.values()))
            for key, scenario in scenarios.items():
                title = f"{key[0]}, seed {key[1]}"
                directory = self.real.made(scenario, title=title, shown=shown)
                shown.done("complete")
                run = _observed(directory)
                if run.problem is None:
                    state.add(FinishedTask(key=key, result=run))
                else:
                    left_out.append(f"{title}: {run.problem}; see {directory}")

    def _decided(
        self, state: RunState, left_out: Sequence[str], *, complete: bool, failure: str | None
    ) -> ProgramAnswer:
        year, evaluate = self.rollout.year, self.rollout.evaluate
        measured = self.rollout.measured(state.results)
        outcomes = {name: one.outcomes for name, one in measured.items()}
        made = [run for one in outcomes.values() for by_seed in one.runs.values() for run in by_seed.values()]
        unjudged = [one for one in evaluate.objectives if not _is_judged(one.figure, made)]
        found = recommend(
            measured,
            [one for one in evaluate.objectives if one not in unjudged],
            prefer=[one for one in evaluate.prefer if _is_judged(one, made)],
            error=ERROR,
            planned=ERROR,
            accepts_unseen=evaluate.accept is AcceptedOpen.UNSEEN,
        )
        return ProgramAnswer(
            measured=measured,
            found=found,
            not_judged=tuple(unjudged),
            runs={kind: min(len(one.runs[kind]) for one in outcomes.values()) for kind in year.cells},
            left_out=tuple(left_out),
            complete=complete,
            failure=failure,
        )


def _observed(directory: Path) -> Observation:
    """Return what a run shows, and what its programs did not say; its problem is why nothing is certain of it."""
    try:
        run = measured_run(directory)
    except RunError as error:
        return Observation(problem=str(error))
    queue = RunDirectory.open(directory).info.queue
    silent = [*map(str, queue.unstated), *(str(_INSTANTS[one]) for one in queue.instants if one in _INSTANTS)]
    doubtful = run.valid == "unknown"
    return replace(
        run,
        samples={**run.samples, NOT_JUDGED: silent},
        problem=(run.problem or "its verdict is unknown") if doubtful else None,
        directory=str(directory),
    )


def _is_judged(figure: Figure, runs: Sequence[Observation]) -> bool:
    """Return whether ``runs`` say enough of ``figure``: what a program leaves out of its events nobody knows."""
    silent = {name for run in runs for name in run.samples.get(NOT_JUDGED, ())}
    if figure.operation is not None:
        return figure.operation not in silent and any(run.samples.get(figure.operation) for run in runs)
    return not figure.counts_cases or figure.name not in CASES or not set(CASES[figure.name]) <= silent


def _never(which: Key) -> Observation:
    raise AssertionError(f"{which} is made on real servers, one run at a time")
