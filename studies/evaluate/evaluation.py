"""An evaluation: rounds of runs of every setting, more where they tell most, up to five looks at what is known."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import LOOKS_MAX, error_at
from zonelab.analysis.rates.figures import SettingRates, rates_of
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.precision import rates_given_faults
from zonelab.analysis.rates.recommendation import Recommendation, recommend
from zonelab.analysis.rates.year import RunKind
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.spec.evaluate import AcceptedOpen
from zonelab.scenarios.spec.traces import digests
from zonelab.studies.evaluate.one_run import EvaluationMeasure
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS, AllRuns
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.task import RunTask, Workers
from zonelab.studies.sweep.settings import Setting, identities, own_functions

LEAST = 4
"""Runs of each kind before anything is decided.

Student's factor of a 95 % interval is 12.7 with 2 runs, 4.3 with 3 and 3.2 with 4; from there on it falls slowly.
"""

FLOOR = 1.0
"""Weight, in objectives, that all kinds share evenly, however little they seem to matter.

Which kind matters is itself an estimate from few runs: without it, a kind whose first runs show no case gets no more.
"""

KNOWN_PART = 2 / 3
"""Largest part of the runs that is spent on knowing rates given a fault well.

Rare faults would take any budget; the rest is left for deciding the objectives, which is what was asked.
"""

_LEAST_S = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Either ``seconds``, for ``jobs`` processes at once, or so many ``runs`` of each setting."""

    seconds: float | None = None
    jobs: int = 1
    runs: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationRounds:
    """``looks``: how many there were. ``complete`` is False if Ctrl-C ended it.

    ``seconds_a_run``: by the clock, of the runs that were made now, in as many processes as there were; None: none was.
    """

    measured: Mapping[str, SettingRates]
    found: Recommendation
    looks: int
    runs: Mapping[RunKind, int]
    known: int
    failures: Mapping[str, str]
    complete: bool
    seconds_a_run: float | None = None


@dataclass(slots=True)
class Evaluation:
    rollout: Rollout
    first_seed: int = 1
    workers: Workers = IN_THIS_PROCESS
    progress: Callable[[int, int], None] = lambda done, total: None
    begins: Callable[[], None] = lambda: None
    now_s: Callable[[], float] = time.monotonic
    experiment: Experiment[tuple[int, RunKind, int]] = field(init=False)
    _counts: dict[RunKind, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        faults = [one.model_dump(mode="json")["fault"] for one in self.rollout.evaluate.faults.values()]
        beside = (str(self.rollout.year.cells), *map(str, faults), *digests(faults))
        self.experiment = Experiment(
            verb="evaluate",
            name=self.rollout.scenario.name,
            measure=EvaluationMeasure(self.rollout),
            decided_by=(*identities(self.rollout.settings), *beside),
            factories=own_functions(self.rollout.settings),
        )

    def run(self, budget: Budget, *, state: RunState) -> EvaluationRounds:
        """Raises ``NotAccepted`` if the budget is too small for one round, or ``ManyRunsFailed``."""
        self._afford(budget, known=bool(state.results))
        self.begins()
        self._counts = dict.fromkeys(self.rollout.year.cells, LEAST)
        begin_s, known = self.now_s(), len(state.results)
        done, look = self._round(state), 1
        while True:
            made = len(state.results) - known
            each_s = (self.now_s() - begin_s) / max(1, made)
            left_s = (budget.seconds or 0.0) * look / LOOKS_MAX - (self.now_s() - begin_s)
            total = self._total(budget, look, more=max(0, round(left_s / max(each_s, _LEAST_S))))
            if done.complete and self._allot(total, self._measured(done), look):
                done = self._round(state)
            measured = self._measured(done)
            found = self._decided(measured, look)
            if look == LOOKS_MAX or found.complete or not done.complete:
                break
            look += 1
        return EvaluationRounds(
            measured=measured,
            found=found,
            looks=look,
            runs={cell: len(next(iter(measured.values())).outcomes.runs[cell]) for cell in self.rollout.year.cells},
            known=known,
            failures={f"{name}, seed {seed}": why for (name, seed), why in done.failures.items()},
            complete=done.complete,
            seconds_a_run=each_s if made else None,
        )

    def at_least(
        self,
        counts: Mapping[RunKind, int],
        *,
        settings: Collection[str],
        state: RunState,
    ) -> tuple[Mapping[str, SettingRates], bool]:
        """Make ``counts`` runs of some kinds and settings, whatever the budget is; False if Ctrl-C ended it.

        Raises ``ManyRunsFailed``.
        """
        done = self._made(counts, settings, state)
        return self._measured(done), done.complete

    def kept(self, state: RunState) -> Mapping[str, SettingRates]:
        """Return what the runs that are there say of each setting, without a new one."""
        return self._measured(AllRuns(results=state.results))

    def _afford(self, budget: Budget, *, known: bool) -> None:
        """Raises ``NotAccepted`` if it is too small for one round. A run is made twice: the first has imports in it."""
        cells = self.rollout.year.cells
        kinds = f"{LEAST} of each of {len(cells)} kinds"
        if budget.runs is not None and budget.runs < LEAST * len(cells):
            raise NotAccepted(f"--runs: got {budget.runs}; accepted: at least {LEAST * len(cells)}, {kinds}")
        if budget.seconds is None or known:
            return
        taken_s = 0.0
        for _ in range(2):
            begin_s = self.now_s()
            EvaluationMeasure(self.rollout)((0, cells[-1], self.rollout.seeds(cells[-1], 1, first=self.first_seed)[0]))
            taken_s = self.now_s() - begin_s
        runs = LEAST * len(cells) * len(self.rollout.settings)
        needed_s = runs * taken_s / budget.jobs
        if needed_s > budget.seconds:
            text = f"one round is {runs} runs of {taken_s:.2g} s: {kinds}, {len(self.rollout.settings)} settings"
            raise NotAccepted(f"--budget: got {budget.seconds:g} s; accepted: at least {ceil(needed_s)} s, as {text}")

    def _total(self, budget: Budget, look: int, *, more: int) -> int:
        """Return how many runs a setting has after this look; by time, ``more`` of all settings together."""
        if budget.runs is not None:
            return ceil(budget.runs * look / LOOKS_MAX)
        return sum(self._counts.values()) + more // len(self.rollout.settings)

    def _allot(self, total: int, measured: Mapping[str, SettingRates], look: int) -> bool:
        """More runs of each kind, ``total`` of all kinds; False if there are none to be made.

        Some are placed where they let rates given a fault be known well, the rest where objectives are open.
        """
        shares, needed = self._shares(measured, self._decided(measured, look)), self._needed(measured)
        known = min(1.0, total * KNOWN_PART / max(1, sum(needed.values())))
        rest = total - known * sum(needed.values())
        open_ = {
            cell: max(0.0, needed.get(cell, 0) * known + rest * share - self._counts[cell])
            for cell, share in shares.items()
        }
        more = max(0, total - sum(self._counts.values())) / max(sum(open_.values()), 1e-300)
        wanted = {cell: self._counts[cell] + round(more * part) for cell, part in open_.items()}
        changed = wanted != self._counts
        self._counts = wanted
        return changed

    def _needed(self, measured: Mapping[str, SettingRates]) -> Mapping[RunKind, int]:
        """Return how many runs of a kind let every setting know its rates, of those that are to be known well."""
        needed: dict[RunKind, int] = {}
        for one in measured.values():
            for rate in rates_given_faults(one):
                if rate.is_wanted and rate.runs_needed is not None:
                    for cell in self.rollout.year.fault(rate.fault).cells:
                        needed[cell] = max(needed.get(cell, 0), ceil(self._counts[cell] * rate.runs_needed / rate.runs))
        return needed

    def _shares(self, measured: Mapping[str, SettingRates], found: Recommendation) -> Mapping[RunKind, float]:
        """By weight and spread (Neyman 1934); for all settings the same, so their runs are pairs.

        Every objective of a setting that is open has the same say.
        """
        year = self.rollout.year
        shares = dict.fromkeys(year.cells, FLOOR / len(year.cells))
        for row in found.rows:
            for one in row.judged:
                if one.is_open:
                    parts = self._parts(measured[row.setting], one.objective)
                    for cell, part in parts.items():
                        shares[cell] += part / max(sum(parts.values()), 1e-300)
        for fault in year.faults:
            for middle in fault.cells[1:-1]:
                shares[middle] = max(shares[middle], (shares[fault.cells[0]] + shares[fault.cells[-1]]) / 4)
        return {cell: share / sum(shares.values()) for cell, share in shares.items()}

    def _parts(self, measured: SettingRates, objective: Objective) -> Mapping[RunKind, float]:
        """Return what each kind of run adds to the uncertainty of one objective; for zeros all that may show
        a case count.
        """
        if objective.is_zero:
            return {cell: 1.0 for cell in self.rollout.year.cells if objective.condition in (None, cell.fault)}
        at_s = 0.0 if objective.figure.percentile is None else objective.bound
        return measured.spread(objective.figure, objective.condition, at_s=at_s)

    def _round(self, state: RunState) -> AllRuns:
        """Every run that is wanted by now and not there yet, seed by seed and all settings of a seed together."""
        return self._made(self._counts, [one.name for one in self.rollout.settings], state)

    def _made(
        self,
        counts: Mapping[RunKind, int],
        settings: Collection[str],
        state: RunState,
    ) -> AllRuns:
        tasks = [
            RunTask(_named(setting, cell), seed, (index, cell, seed))
            for cell, seed in self._in_turn(counts)
            for index, setting in enumerate(self.rollout.settings)
            if setting.name in settings
        ]
        return self.experiment.run(tasks, workers=self.workers, state=state, progress=self.progress)

    def _in_turn(self, counts: Mapping[RunKind, int]) -> Iterable[tuple[RunKind, int]]:
        """Yield runs of all kinds in proportion, so that what Ctrl-C leaves is of all kinds."""
        places = [
            ((place + 0.5) / count, cell, seed)
            for cell, count in counts.items()
            for place, seed in enumerate(self.rollout.seeds(cell, count, first=self.first_seed))
        ]
        return [(cell, seed) for _, cell, seed in sorted(places, key=lambda one: one[0])]

    def _measured(self, done: AllRuns) -> dict[str, SettingRates]:
        by_name: dict[str, dict[int, Observation]] = {}
        for (name, seed), outcome in done.results.items():
            by_name.setdefault(name, {})[seed] = outcome
        outcomes = {
            setting.name: Outcomes({cell: by_name.get(_named(setting, cell), {}) for cell in self.rollout.year.cells})
            for setting in self.rollout.settings
        }
        return rates_of(outcomes, self.rollout.year)

    def _decided(self, measured: Mapping[str, SettingRates], look: int) -> Recommendation:
        evaluate = self.rollout.evaluate
        return recommend(
            measured,
            evaluate.objectives,
            prefer=evaluate.prefer,
            error=error_at(look, LOOKS_MAX),
            accepts_unseen=evaluate.accept is AcceptedOpen.UNSEEN,
        )


def _named(setting: Setting, cell: RunKind) -> str:
    return f"{setting.name}, {cell}"
