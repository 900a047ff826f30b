"""The one comparison of two settings in pairs of runs: how far they differ, and how likely chance alone does that."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

from scipy import special

from zonelab.analysis.observation import Observation
from zonelab.analysis.proportions import Interval
from zonelab.analysis.statistics import paired_share_interval

ObservedPair = tuple[Observation, Observation]
"""The run of the setting to which another one is compared, and that of the other one, with the same seed."""


def is_pair(first: Observation, second: Observation) -> bool:
    """Return whether both runs have a verdict of true or false; any other run is evidence of nothing."""
    return first.is_decided and second.is_decided


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The differences of one measure, second run less first, pair by pair.

    Runs of one seed share faults, load and lags, so what these do to both cancels out. Two questions are asked of the
    same pairs. How likely would chance alone make so many differ this way: the exact sign test, for yes and no
    McNemar's (Psychometrika 12, 1947; Conover, Practical Nonparametric Statistics, 3.4). It takes only the order of
    values, so it holds for counts of any distribution, and a table can hold it against one bound over all its rows
    (``zonelab.studies.guarantees.paired``). How large is the difference: an interval at 95 %, which says nothing of the
    other rows of a table. A year put together from runs of several kinds has no pairs of its own; its differences, pair
    by pair within each kind, are weighted in ``zonelab.analysis.rates.recommendation``.
    """

    values: tuple[float, ...]

    @classmethod
    def of(cls, pairs: Iterable[ObservedPair], measure: Callable[[Observation], float | None]) -> Self:
        """Return the differences of ``measure``; a pair in which it is None for a run is left out."""
        both = ((measure(first), measure(second)) for first, second in pairs)
        return cls(tuple(after - before for before, after in both if before is not None and after is not None))

    @property
    def more(self) -> int:
        """Pairs in which the second run has more."""
        return sum(value > 0 for value in self.values)

    @property
    def fewer(self) -> int:
        """Pairs in which it has less."""
        return sum(value < 0 for value in self.values)

    @property
    def chance_of_more(self) -> float:
        """The probability of so many pairs with more, or of even more such, if there were no difference (one-sided)."""
        return sign_test(self.more, self.fewer)

    @property
    def chance_of_fewer(self) -> float:
        """The same of pairs with less."""
        return sign_test(self.fewer, self.more)

    @property
    def share(self) -> float:
        """The difference of the shares of runs for which the measure, 1 or 0, is 1. Needs a pair."""
        return (self.more - self.fewer) / len(self.values)

    @property
    def share_interval(self) -> Interval:
        """The interval of ``share`` (``zonelab.analysis.statistics.paired_share_interval``). Needs a pair."""
        return paired_share_interval(self.fewer, self.more, len(self.values))


def sign_test(more: int, fewer: int) -> float:
    """Return the probability of at least ``more`` heads in ``more + fewer`` tosses of a fair coin."""
    return float(special.bdtrc(more - 1, more + fewer, 0.5)) if more else 1.0
