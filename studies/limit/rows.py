"""The throughput limit of one setting, over seeds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from typing import Any

from zonelab.analysis.number_text import NONE, digits, percent
from zonelab.analysis.observation import Observation
from zonelab.analysis.statistics import mean_interval
from zonelab.studies.limit.search import ABOVE, PRECISION, value_per_s


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitRow:
    """Limit of one setting, a second, all zones together. ``found``: how many seeds have a limit; of the others the
    largest run kept up. ``given_per_s``: the rate of the scenario. ``value_per_s``: None if no seed was searched.

    ``varies``: seeds differ, so ``low`` and ``high`` are a 95 % interval over them; else they are what a search
    leaves open.
    """

    setting: str
    seeds: int
    found: int
    given_per_s: float
    value_per_s: float | None
    low_per_s: float | None
    high_per_s: float | None
    varies: bool
    behind: Mapping[str, int]
    failures: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "behind": dict(self.behind), "failures": list(self.failures)}

    @property
    def words(self) -> str:
        """The highest rate at which zones keep up, with its interval, as the table shows it."""
        if self.value_per_s is None:
            return NONE
        if self.found < self.seeds:
            return f"more than {digits(self.value_per_s)}"
        if not self.varies:
            seeds = "with each seed" if self.seeds > 1 else "one seed"
            return f"{digits(self.value_per_s)} ± {percent(sqrt(PRECISION) - 1)}, {seeds}"
        return f"{digits(self.value_per_s)} ({digits(self.low_per_s)} to {digits(self.high_per_s)})"


def row_of(setting: str, searches: Mapping[int, Observation], *, given_per_s: float) -> LimitRow:
    """Return the row of one setting. ``searches``: by seed; one with a problem has found nothing."""
    found = [one for one in searches.values() if one.problem is None]
    values = [value_per_s(one) for one in found]
    value, low, high = _interval(values)
    return LimitRow(
        setting=setting,
        seeds=len(found),
        found=sum(ABOVE in one.numbers for one in found),
        given_per_s=given_per_s,
        value_per_s=value,
        low_per_s=low,
        high_per_s=high,
        varies=len(set(values)) > 1,
        behind=Counter(name for one in found for name in one.counts),
        failures=tuple(f"seed {seed}: {one.problem}" for seed, one in searches.items() if one.problem is not None),
    )


def _interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Geometric mean and 95 % interval over seeds (Student, of logarithms), wider by half a step of the search."""
    if not values:
        return None, None, None
    logs = [log(value) for value in values]
    middle, step = sum(logs) / len(logs), log(PRECISION) / 2
    interval = mean_interval(logs)
    low, high = (middle, middle) if interval is None else (interval.low, interval.high)
    return exp(middle), exp(low - step), exp(high + step)
