"""Prices of runs: processor time that each kind takes of a setting, and how long what is open would need."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.decisions import ObjectiveJudgement
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.year import RunKind, Year
from zonelab.studies.evaluate.allotment import RunCosts
from zonelab.studies.evaluate.budget import FEWEST, LEAST, mean_costs_s
from zonelab.studies.evaluate.one_run import PROCESSOR_S


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPrices:
    """``size_s``: what a run takes for each second of a load that is not thinned, if none was run yet."""

    year: Year
    size_s: float = 1.0

    def of_setting(self, measured: SettingRates) -> dict[RunKind, float]:
        """Return the seconds of a processor of a run of each kind."""
        runs = measured.outcomes.runs
        costs = {cell: list(map(cost_s, by_seed.values())) for cell, by_seed in runs.items()}
        return mean_costs_s(costs, self.year, size_s=self.size_s)

    def of_all(self, settings: Iterable[SettingRates]) -> RunCosts:
        """Return what a run of each kind costs of all of ``settings`` together."""
        of_each = [self.of_setting(one) for one in settings]
        return RunCosts(each={cell: sum(one[cell] for one in of_each) for cell in self.year.cells})

    def up_to(self, count: int, kinds: Collection[RunKind], settings: Iterable[SettingRates]) -> float:
        """Return what is to be paid until each of ``settings`` has so many runs of each of ``kinds``."""
        wanted = dict.fromkeys(kinds, count)
        return sum(RunCosts(each=self.of_setting(one)).of(wanted, _counts(one)) for one in settings)

    def needs_s(self, measured: SettingRates, judged: ObjectiveJudgement, *, jobs: int) -> float | None:
        """Return for how long ``jobs`` processes would have to go on with this setting alone; None if nobody knows."""
        counts, costs, needs = _counts(measured), RunCosts(each=self.of_setting(measured)), judged.needs
        figure, condition = judged.objective.figure, judged.objective.condition
        deciding = [cell for cell, weight in measured.weights(figure, condition).items() if weight]
        if judged.hidden:
            own = [cell for cell in deciding if cell.fault is not None or cell == measured.year.calm]
            return costs.unthinned_s(own, needs, least=FEWEST) / jobs
        if not needs and any(counts.get(cell, 0) < FEWEST for cell in deciding):
            needs = dict.fromkeys(deciding, LEAST)
        return costs.of(needs, counts) / jobs if needs else None


def cost_s(run: Observation) -> float:
    """Return the processor time of a run; a second if it was not measured."""
    return run.numbers.get(PROCESSOR_S, 1.0)


def _counts(measured: SettingRates) -> dict[RunKind, int]:
    return {cell: len(by_seed) for cell, by_seed in measured.outcomes.runs.items()}
