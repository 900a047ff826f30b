"""An evaluation: rounds of runs of settings that may be taken, more where they decide most, and looks in between."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import PLANNED, UNPLANNED_LOOKS_MAX, UNSEEN_RUNS, ObjectiveJudgement, error_at
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.recommendation import Recommendation, recommend
from zonelab.analysis.rates.year import RunKind
from zonelab.scenarios.spec.evaluate import AcceptedOpen
from zonelab.scenarios.spec.traces import digests
from zonelab.studies.evaluate.allotment import KNOWN_PART, RunCosts, by_spread, for_needs, has_badly_known
from zonelab.studies.evaluate.budget import DAY_S, FEWEST, LEAST, Budget, load_size_s
from zonelab.studies.evaluate.first_stages import FirstStage, first_stages, without_broken
from zonelab.studies.evaluate.one_run import EvaluationMeasure
from zonelab.studies.evaluate.rollout import Rollout, run_name
from zonelab.studies.evaluate.run_prices import RunPrices, cost_s
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS, AllRuns
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.task import FinishedTask, RunTask, Workers
from zonelab.studies.sweep.settings import identities, own_functions

_LONG_S = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationRounds:
    """``looks``: how many there were, ``looks_most`` there could have been. ``complete`` is False if Ctrl-C ended it.

    ``runs``: of each kind, in the setting with most; ``left``: settings that got fewer. ``needs_s``: by setting and
    objective that is open, for how long the same processes would have to go on; None if that cannot be told.
    ``seconds_a_run``: by the clock, of the runs that were made now, in as many processes as there were; None: none was.
    """

    measured: Mapping[str, SettingRates]
    found: Recommendation
    looks: int
    looks_most: int
    runs: Mapping[RunKind, int]
    known: int
    failures: Mapping[str, str]
    complete: bool
    seconds_a_run: float | None = None
    left: tuple[str, ...] = ()
    needs_s: Mapping[tuple[str, Objective], float | None] = field(default_factory=dict)


class _TimeIsUp(Exception):
    """Raised in between runs, as the budget is spent."""


@dataclass(slots=True)
class Evaluation:
    """``first_answer``: is called with what is known after the first runs, if more are made."""

    rollout: Rollout
    first_seed: int = 1
    workers: Workers = IN_THIS_PROCESS
    progress: Callable[[int, int], None] = lambda done, total: None
    begins: Callable[[], None] = lambda: None
    first_answer: Callable[[Recommendation, float], None] = lambda found, after_s: None
    now_s: Callable[[], float] = time.monotonic
    experiment: Experiment[tuple[int, RunKind, int]] = field(init=False)
    _counts: dict[RunKind, int] = field(default_factory=dict)
    _going_on: list[str] = field(default_factory=list)
    _done: AllRuns = field(default_factory=AllRuns)
    _rates: Mapping[str, SettingRates] = field(default_factory=dict)
    _found: Recommendation = field(init=False)
    _prices: RunPrices = field(init=False)
    _end_s: float = float("inf")
    _paid_s: float = 0.0
    _purse_s: float = float("inf")

    def __post_init__(self) -> None:
        self._prices = RunPrices(year=self.rollout.year)
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
        """Raises ``NotAccepted`` if the budget is too small for the first runs, or ``ManyRunsFailed``."""
        cells, begin_s, known = self.rollout.year.cells, self.now_s(), len(state.results)
        budget.check_runs(cells)
        stages = first_stages(self.rollout.year, self.rollout.evaluate.objectives, budget)
        self._afford(budget, stages[0].kinds[0], state)
        self.begins()
        self._end_s = begin_s + budget.seconds if budget.seconds is not None else float("inf")
        self._counts, self._going_on = dict.fromkeys(cells, 0), [one.name for one in self.rollout.settings]
        self._done = AllRuns()
        self._rates = self.rollout.measured(self._done.results)
        looks, look, going_on = budget.looks(len(stages)), 0, True
        for number, stage in enumerate(stages):
            going_on = going_on and self._of_stage(stage, state)
            found = self._decided(look + 1, looks)
            if budget.runs is None:
                look += 1
                self._drop(found, halve=False)
                if number == 0 and going_on:
                    self.first_answer(found, self.now_s() - begin_s)
        while going_on and look < (looks or UNPLANNED_LOOKS_MAX):
            look += 1
            purse = self._purse(budget, look, looks, begin_s, len(state.results) - known)
            if not purse and look < (looks or 0):
                continue  # the first runs are more than this look may have
            wanted = self._wanted(purse, budget)
            if wanted == self._counts:
                break
            self._counts = wanted
            going_on = self._round(state)
            found = self._decided(look, looks)
            self._drop(found, halve=budget.seconds is not None)
            if not self._open(found):
                break
        return self._ended(budget, look, looks, state, known, self.now_s() - begin_s)

    def _ended(
        self, budget: Budget, look: int, looks: int | None, state: RunState, known: int, taken_s: float
    ) -> EvaluationRounds:
        """Return what is known at the end, by the error that is left for the last look."""
        measured, found = self._rates, self._decided(looks or max(1, look), looks)
        made = len(state.results) - known
        return EvaluationRounds(
            measured=measured,
            found=found,
            looks=max(1, look),
            looks_most=looks or UNPLANNED_LOOKS_MAX,
            runs={cell: max(len(one.outcomes.runs[cell]) for one in measured.values()) for cell in self._counts},
            known=known,
            failures={f"{name}, seed {seed}": why for (name, seed), why in self._done.failures.items()},
            complete=self._done.complete,
            seconds_a_run=taken_s / made if made else None,
            left=tuple(row.setting for row in found.rows if row.binding is None and row.setting not in self._going_on),
            needs_s={
                (row.setting, one.objective): self._prices.needs_s(measured[row.setting], one, jobs=budget.jobs)
                for row in found.rows
                for one in row.judged
                if one.is_open and not one.objective.is_zero
            },
        )

    def at_least(
        self, counts: Mapping[RunKind, int], *, settings: Collection[str], state: RunState
    ) -> tuple[Mapping[str, SettingRates], bool]:
        """Make ``counts`` runs of some kinds and settings, whatever the budget is; False if Ctrl-C ended it.

        Raises ``ManyRunsFailed``.
        """
        self._end_s = float("inf")
        done = self._made(counts, settings, state)
        return self.rollout.measured(done.results), done.complete

    def kept(self, state: RunState) -> Mapping[str, SettingRates]:
        """Return what the runs that are there say of each setting, without a new one."""
        return self.rollout.measured(state.results)

    def _afford(self, budget: Budget, cell: RunKind, state: RunState) -> None:
        """Learn what a run takes: of runs that are there, or of one that is made; raises ``NotAccepted``.

        A short one is made twice, as the first has imports in it.
        """
        year, size_s = self.rollout.year, load_size_s(self.rollout.year, cell)
        if state.results:
            each_s = sum(map(cost_s, state.results.values())) / len(state.results)
            self._prices = RunPrices(year=year, size_s=each_s / size_s)
        if budget.seconds is None or state.results:
            return
        took_s = 0.0
        for _ in range(2):
            begin_s = time.process_time()
            EvaluationMeasure(self.rollout)((0, cell, self.first_seed))
            took_s = time.process_time() - begin_s
            if took_s > _LONG_S:
                break
        self._prices = RunPrices(year=year, size_s=took_s / size_s)
        budget.check_seconds(self.rollout, a_run_s=took_s)

    def _of_stage(self, stage: FirstStage, state: RunState) -> bool:
        if stage.others:
            return self._of_others(stage, state)
        return self._first_runs(stage, state) if stage.fewest is None else self._first_that_fit(stage, state)

    def _first_that_fit(self, stage: FirstStage, state: RunState) -> bool:
        """Make as many first runs of some kinds as fit, the fewest in any case if nothing is known yet."""
        most, fewest = dict.fromkeys(stage.kinds, LEAST), dict.fromkeys(stage.kinds, stage.fewest or FEWEST)
        first = list(self._going_on)
        if stage.rejected_too:
            best = self._ranked()[:FEWEST]
            rejected = [name for name in self._rates if name not in first]
            first = list(dict.fromkeys((*best, *rejected, *first)))
        end_s = self._paid_s + stage.room_s
        for names, counts in ((first, fewest), (self._going_on, most)):
            self._purse_s = end_s if self._done.results else float("inf")
            self._counts |= counts
            if self._paid_s < self._purse_s and not self._round(state, names):
                break
        self._purse_s = float("inf")
        made = [self._rates[name].outcomes.runs for name in self._going_on]
        self._counts |= {cell: min((len(runs[cell]) for runs in made), default=0) for cell in stage.kinds}
        return self._done.complete and self.now_s() < self._end_s

    def _first_runs(self, stage: FirstStage, state: RunState) -> bool:
        """Make the first runs of some kinds, of as many settings as fit; of all, if nothing is known of them yet.

        Where two of all do not fit, and one does, that may reject some before others have more.
        """
        room_s, before_s = stage.room_s, self._paid_s
        if self._done.results and self._price(1, stage.kinds) <= room_s < self._price(FEWEST, stage.kinds):
            self._counts |= dict.fromkeys(stage.kinds, 1)
            if not self._round(state):
                return False
            unbroken = without_broken(self._rates, self.rollout.evaluate.objectives)
            self._going_on = [name for name in self._going_on if name in unbroken]
            room_s -= self._paid_s - before_s
        names = self._ranked() if self._done.results else self._going_on
        sizes = [len(names)]
        while self._done.results and sizes[-1] > FEWEST:
            sizes.append(max(FEWEST, ceil(sizes[-1] / 2)))
        tries = [(LEAST, len(names)), *((FEWEST, size) for size in sizes)]
        fit = (one for one in tries if self._price(one[0], stage.kinds, names[: one[1]]) <= room_s)
        count, size = next(fit, tries[-1])
        self._going_on = names[:size]
        self._counts |= dict.fromkeys(stage.kinds, count)
        return self._round(state)

    def _price(self, count: int, kinds: Collection[RunKind], names: Sequence[str] | None = None) -> float:
        rates = [self._rates[name] for name in (self._going_on if names is None else names)]
        return self._prices.up_to(count, kinds, rates)

    def _of_others(self, stage: FirstStage, state: RunState) -> bool:
        """Make a run of some kinds of each setting that has none and is not rejected, as many as fit."""
        rejected = {row.setting for row in self._found.rows if row.binding is not None}
        names = [
            name
            for name, one in self._rates.items()
            if name not in rejected and not all(one.outcomes.runs[cell] for cell in stage.kinds)
        ]
        self._purse_s = self._paid_s + stage.room_s
        self._round(state, names, dict.fromkeys(stage.kinds, 1))
        self._purse_s = float("inf")
        return self._done.complete and self.now_s() < self._end_s

    def _purse(self, budget: Budget, look: int, looks: int | None, begin_s: float, made: int) -> float:
        """Return what this look may cost: runs of all settings that go on, or seconds of processors."""
        if budget.runs is not None:
            total = ceil(budget.runs * look / (looks or 1)) - sum(self._counts.values())
            return float(max(0, total) * len(self._going_on))
        if looks is None:
            return DAY_S * budget.jobs
        taken_s = self.now_s() - begin_s
        pace = min(1.0, self._paid_s / (taken_s * budget.jobs)) if made and taken_s else 1.0
        return max(0.0, self._end_s - self.now_s()) / (looks - look + 1) * budget.jobs * pace

    def _wanted(self, purse: float, budget: Budget) -> dict[RunKind, int]:
        """Return the runs of each kind after this look: what open objectives need, then where intervals are wide."""
        going_on = {name: self._rates[name] for name in self._going_on}
        costs = self._costs(self._going_on, by_time=budget.runs is None)
        rows = [row for row in self._found.rows if row.setting in going_on]
        open_ = self._open(self._found)
        if not open_ or not purse:
            return self._counts
        needs = [one.needs for one in open_ if one.needs]
        if budget.until_decided:
            needs = [one for one in needs if costs.of(one, self._counts) <= purse]
            if not needs:
                return self._counts
            return for_needs(needs, self._counts, costs, purse=purse)[0]
        kept = purse * KNOWN_PART if has_badly_known(self._counts, going_on) else 0.0
        wanted, left = for_needs(needs, self._counts, costs, purse=purse - kept)
        return by_spread(wanted, going_on, rows, costs, purse=left + kept)

    def _open(self, found: Recommendation) -> list[ObjectiveJudgement]:
        """Return what more runs of the settings that go on may decide."""
        return [
            one
            for row in found.rows
            if row.setting in self._going_on
            for one in row.judged
            if one.is_open
            and not (one.unseen and one.runs >= UNSEEN_RUNS and (one.objective.is_zero or row.accepts_unseen))
        ]

    def _drop(self, found: Recommendation, *, halve: bool) -> None:
        """Make no more runs of settings that are rejected; ``halve``: nor of the half that is preferred least."""
        rejected = {row.setting for row in found.rows if row.binding is not None}
        ranked = [name for name in self._ranked() if name not in rejected]
        kept = ranked[: max(FEWEST, ceil(len(ranked) / 2))] if halve else ranked
        self._going_on = [name for name in self._going_on if name in kept]

    def _ranked(self) -> list[str]:
        """Return the settings that go on, the leading one first and the likely ones before the others."""
        found = self._found
        rows = {row.setting: row for row in found.rows}
        prefer = found.prefer[0]

        def place(name: str) -> tuple[bool, bool, bool, bool, float]:
            return (
                name != found.leading,
                name not in found.tied,
                not rows[name].is_likely,
                not rows[name].is_possible,
                self._rates[name].estimate(prefer),
            )

        return sorted(self._going_on, key=place)

    def _costs(self, names: Collection[str], *, by_time: bool = True) -> RunCosts:
        """Return what a run of each kind costs of all of ``names``; without ``by_time`` each run costs one."""
        if not by_time:
            return RunCosts(each=dict.fromkeys(self.rollout.year.cells, float(len(names))))
        return self._prices.of_all(self._rates[name] for name in names)

    def _round(
        self, state: RunState, names: Sequence[str] | None = None, counts: Mapping[RunKind, int] | None = None
    ) -> bool:
        """Make every run that is wanted by now and not there yet, seed by seed and all settings of a seed together.

        ``names``: of these settings; of those that go on if not given. ``counts``: so many of each kind. False if there
        is no time for more.
        """
        names, counts = self._going_on if names is None else names, self._counts if counts is None else counts
        try:
            done = self._made(counts, names, state)
        except _TimeIsUp:
            done = AllRuns(complete=True)
            wanted = {
                (run_name(name, cell), seed)
                for cell, seed in self.rollout.in_turn(counts, first=self.first_seed)
                for name in names
            }
            done.results.update({key: state.results[key] for key in wanted if key in state.results})
        self._done.results.update(done.results)
        self._done.failures.update(done.failures)
        self._done.complete = done.complete
        self._rates = self.rollout.measured(self._done.results)
        return done.complete and self.now_s() < self._end_s

    def _show(self, done: int, total: int) -> None:
        self.progress(done, total)
        if self.now_s() >= self._end_s or self._paid_s >= self._purse_s:
            raise _TimeIsUp

    def _pay(self, finished: FinishedTask[Observation]) -> None:
        if finished.result is not None:
            self._paid_s += cost_s(finished.result)

    def _made(
        self,
        counts: Mapping[RunKind, int],
        settings: Collection[str],
        state: RunState,
    ) -> AllRuns:
        places = {setting.name: place for place, setting in enumerate(self.rollout.settings)}
        tasks = [
            RunTask(run_name(setting, cell), seed, (places[setting], cell, seed))
            for cell, seed in self.rollout.in_turn(counts, first=self.first_seed)
            for setting in settings
        ]
        return self.experiment.run(tasks, workers=self.workers, state=state, progress=self._show, on_finished=self._pay)

    def _decided(self, look: int, looks: int | None) -> Recommendation:
        evaluate = self.rollout.evaluate
        self._found = recommend(
            self._rates,
            evaluate.objectives,
            prefer=evaluate.prefer,
            error=error_at(look, looks),
            planned=PLANNED if looks is not None else error_at(look, None),
            accepts_unseen=evaluate.accept is AcceptedOpen.UNSEEN,
        )
        return self._found
