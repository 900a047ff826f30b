"""One metric of two runs: quantiles side by side, their differences with intervals, and the distance of both samples.

Operations of a run are not independent: a slow moment slows its neighbours. Every interval and p value here is
therefore made from blocks of neighbouring operations, as long as the dependence that the sample itself shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from zonelab.analysis.comparison.samples import DESCRIPTIONS, Floats, Metric, Series
from zonelab.analysis.proportions import Interval
from zonelab.analysis.statistics import (
    QUANTILES,
    block_bootstrap_quantiles,
    dependence_block_length,
    ks_block_p_value,
    ks_distance,
    quantiles,
)

Agreement = Literal["yes", "no", "undecided"]

WITHIN = 0.15
COMPARED_QUANTILES = ("p50", "p90", "p99")
SEED = 20_040
RESAMPLES = 1_000
PERMUTATIONS = 999
BLOCKS_MIN = 10
"""Fewer blocks than this a run show too little of how blocks differ: no interval and no p value."""
BEYOND_MIN = 5
"""Values that must lie beyond a quantile for an interval of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QuantileDifference:
    """One quantile of both runs and how the second's differs from the first's.

    ``relative`` is the difference divided by the first run's quantile; ``None`` if that is not above 0. An interval
    is ``None`` if the samples are too small for one (``BLOCKS_MIN``, ``BEYOND_MIN``).
    """

    name: str
    first_ms: float
    second_ms: float
    difference_ms: float
    interval_ms: Interval | None
    relative: float | None
    relative_interval: Interval | None

    def agree(self, within: float) -> Agreement:
        """Return whether the relative difference is surely within ± ``within``, surely outside of it, or neither."""
        check_within(within)
        sure = self.relative_interval
        if sure is None:
            return "undecided"
        if -within <= sure.low and sure.high <= within:
            return "yes"
        return "no" if sure.low > within or sure.high < -within else "undecided"


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleInfo:
    """The sample of one run: ``count`` values, every ``every``-th of them used, in blocks of ``block_length``."""

    count: int
    every: int
    block_length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricComparison:
    """One metric of both runs; without quantiles and distance if a run has no value of it.

    ``ks_p_value``: ``None`` if the samples are too small. In large samples it is small for differences that do not
    matter: read the distance (0..1) first.
    """

    metric: Metric
    description: str
    first: SampleInfo
    second: SampleInfo
    ks_distance: float | None
    ks_p_value: float | None
    quantiles: tuple[QuantileDifference, ...]

    def agree(self, within: float = WITHIN) -> Agreement:
        """Return whether the medians agree within ``within`` of the first run's: ``undecided`` if the interval is too
        wide.
        """
        check_within(within)
        return next((row.agree(within) for row in self.quantiles if row.name == "p50"), "undecided")


def compare_series(metric: Metric, first: Series, second: Series) -> MetricComparison:
    """Compare two samples of ``metric``, each in the order of time. The same samples always give the same result."""
    rng = np.random.default_rng([SEED, list(Metric).index(metric)])
    lengths = dependence_block_length(first.values_ms), dependence_block_length(second.values_ms)
    both = first.values_ms.size > 0 and second.values_ms.size > 0
    return MetricComparison(
        metric=metric,
        description=DESCRIPTIONS[metric],
        first=SampleInfo(count=first.count, every=first.every, block_length=lengths[0]),
        second=SampleInfo(count=second.count, every=second.every, block_length=lengths[1]),
        ks_distance=ks_distance(first.values_ms, second.values_ms) if both else None,
        ks_p_value=_ks_p_value(first, second, max(lengths), rng),
        quantiles=tuple(_quantile_differences(first, second, lengths, rng)) if both else (),
    )


def _ks_p_value(first: Series, second: Series, block_length: int, rng: np.random.Generator) -> float | None:
    samples = first.values_ms, second.values_ms
    if min(sample.size for sample in samples) < BLOCKS_MIN * block_length:
        return None
    return ks_block_p_value(*samples, block_length=block_length, permutations=PERMUTATIONS, rng=rng)


def _quantile_differences(
    first: Series, second: Series, lengths: tuple[int, int], rng: np.random.Generator
) -> Iterator[QuantileDifference]:
    samples = first.values_ms, second.values_ms
    one, two = (quantiles(sample, COMPARED_QUANTILES) for sample in samples)
    probabilities = [QUANTILES[name] for name in COMPARED_QUANTILES]
    size = min(sample.size for sample in samples)
    redrawn = None
    if min(sample.size / length for sample, length in zip(samples, lengths, strict=True)) >= BLOCKS_MIN:
        redrawn = [
            block_bootstrap_quantiles(sample, probabilities, block_length=length, resamples=RESAMPLES, rng=rng)
            for sample, length in zip(samples, lengths, strict=True)
        ]
    for position, (name, probability) in enumerate(zip(COMPARED_QUANTILES, probabilities, strict=True)):
        drawn = None
        # With a margin for rounding: 1 - 0.99 is a little more than 0.01, 1 - 0.9 a little less than 0.1.
        if redrawn is not None and size * (1 - probability) >= BEYOND_MIN - 1e-9:
            drawn = redrawn[0][:, position], redrawn[1][:, position]
        yield _quantile_difference(name, one[name], two[name], drawn)


def _quantile_difference(
    name: str, first_ms: float, second_ms: float, drawn: tuple[Floats, Floats] | None
) -> QuantileDifference:
    comparable = drawn is not None and first_ms > 0 and drawn[0].min() > 0
    return QuantileDifference(
        name=name,
        first_ms=first_ms,
        second_ms=second_ms,
        difference_ms=second_ms - first_ms,
        interval_ms=None if drawn is None else _middle(drawn[1] - drawn[0]),
        relative=second_ms / first_ms - 1 if first_ms > 0 else None,
        relative_interval=_middle(drawn[1] / drawn[0] - 1) if drawn is not None and comparable else None,
    )


def _middle(draws: Floats) -> Interval:
    low, high = np.quantile(draws, (0.025, 0.975)).tolist()
    return Interval(low, high)


def check_within(within: float) -> None:
    if not within > 0:
        raise ValueError(f"within must be above 0, got {within}")
