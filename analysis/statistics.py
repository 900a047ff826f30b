"""Quantiles, their intervals, intervals of rates, and the distance of two samples."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from zonelab.analysis.proportions import Interval, proportion_interval

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}

_BOOTSTRAP_CELLS = 1 << 20  # values of resamples held at once
_ROUNDING = 1e-12


def quantiles(sample: ArrayLike, names: Sequence[str] = tuple(QUANTILES)) -> dict[str, float]:
    """Exact quantiles of a whole sample with linear interpolation (Hyndman-Fan type 7, as numpy and Spark do).

    An empty sample has none: the result is empty.
    """
    values = np.asarray(sample)
    if not values.size:
        return {}
    ordered = np.sort(values)
    places = np.array([QUANTILES[name] for name in names]) * (ordered.size - 1)
    before = places.astype(np.int64)
    low, high = ordered[before], ordered[np.minimum(before + 1, ordered.size - 1)]
    share, gap = places - before, high - low
    # As ``np.quantile``, to the last bit, which takes ten times as long for the few values of a hunted run.
    found = np.where(share < 0.5, low + gap * share, high - gap * (1 - share))
    return dict(zip(names, found.tolist(), strict=True))


def quantile_interval(sample: ArrayLike, probability: float, *, confidence: float = 0.95) -> Interval | None:
    """Distribution-free interval of a quantile from order statistics.

    The number of values below the true quantile is binomial, so two ranks enclose it with the wanted confidence
    (Hahn and Meeker, Statistical Intervals, chapter 5). ``None`` if the sample is too small for such ranks to exist.
    """
    values = np.asarray(sample)
    ranks = quantile_ranks(values.size, probability, confidence=confidence)
    if ranks is None:
        return None
    part = np.partition(values, ranks)
    return Interval(*(float(part[rank]) for rank in ranks))


def quantile_ranks(count: int, probability: float, *, confidence: float = 0.95) -> tuple[int, int] | None:
    """Between which of ``count`` ordered values, from 0, the interval of ``quantile_interval`` lies."""
    _check_probability(probability)
    tail = (1 - confidence) / 2
    low = _binomial_quantile(tail, count, probability) - 1
    high = _binomial_quantile(1 - tail, count, probability)
    return None if low < 0 or high >= count else (low, high)


def rate_interval(events: int, exposure: float, *, confidence: float = 0.95) -> Interval:
    """Exact Poisson interval (Garwood 1936) of events per unit of ``exposure``.

    For rates that may exceed one, such as extra deliveries per delivered message.
    """
    if events < 0 or exposure <= 0:
        raise ValueError(f"events must be >= 0 and exposure > 0, got {events} and {exposure}")
    tail = (1 - confidence) / 2
    low = special.gammaincinv(events, tail) if events else 0.0
    high = special.gammaincinv(events + 1, 1 - tail)
    return Interval(float(low / exposure), float(high / exposure))


def mean_interval(sample: ArrayLike, *, confidence: float = 0.95) -> Interval | None:
    """Student's interval of a mean; right for any sample of normal values, and for others if they are many.

    None for fewer than two values, and where all are equal, as nothing then tells how much they vary.
    """
    values = np.asarray(sample, dtype=np.float64)
    if values.size < 2 or values.min() == values.max():
        return None
    half = special.stdtrit(values.size - 1, (1 + confidence) / 2) * values.std(ddof=1) / np.sqrt(values.size)
    return Interval(float(values.mean() - half), float(values.mean() + half))


def mean_difference_interval(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> Interval | None:
    """Interval of the difference of the means of two independent samples, second minus first.

    Welch's, whose samples may vary by different amounts (Biometrika 34, 1947). None for fewer than two of either.
    """
    samples = [np.asarray(sample, dtype=np.float64) for sample in (first, second)]
    if min(sample.size for sample in samples) < 2:
        return None
    difference = float(samples[1].mean() - samples[0].mean())
    errors = np.array([sample.var(ddof=1) / sample.size for sample in samples])
    if not errors.sum():
        return Interval(difference, difference)
    freedom = errors.sum() ** 2 / sum(
        error**2 / (sample.size - 1) for error, sample in zip(errors, samples, strict=True)
    )
    half = float(special.stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(errors.sum()))
    return Interval(difference - half, difference + half)


def paired_share_interval(only_first: int, only_second: int, pairs: int, *, confidence: float = 0.95) -> Interval:
    """Interval of the difference of two proportions, second minus first, in ``pairs`` that are observed together.

    Each kind of discordant pair has a Clopper-Pearson interval of half the error, and their difference is at most as
    far apart as their ends (Bonferroni): coverage is at least ``confidence``, with few pairs and with rare ones, too.
    """
    each = (1 + confidence) / 2
    first = proportion_interval(only_first, pairs, confidence=each)
    second = proportion_interval(only_second, pairs, confidence=each)
    return Interval(second.low - first.high, second.high - first.low)


def ks_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Kolmogorov-Smirnov distance: the largest gap between the two empirical distribution functions, 0..1."""
    one, two = np.sort(np.asarray(first)), np.sort(np.asarray(second))
    if not one.size or not two.size:
        raise ValueError("both samples must hold at least one value")
    at = np.concatenate([one, two])
    gap = np.searchsorted(one, at, side="right") / one.size - np.searchsorted(two, at, side="right") / two.size
    return float(np.abs(gap).max())


def empirical_cdf(sample: ArrayLike, *, points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """At most ``points`` (value, share of the sample at or below it) pairs, the first and last always among them."""
    values = np.sort(np.asarray(sample, dtype=np.float64))
    ranks = np.arange(values.size)
    if values.size > points:
        ranks = np.unique(np.linspace(0, values.size - 1, points).round().astype(np.int64))
    return values[ranks], (ranks + 1) / values.size


def distribution_margin(count: int, *, confidence: float = 0.95) -> float:
    """Return how far an empirical distribution function of ``count`` values may lie from the true one, anywhere.

    The inequality of Dvoretzky, Kiefer and Wolfowitz with the constant of Massart (Annals of Probability 18, 1990): it
    holds for every distribution and for all places at once.
    """
    if count < 1:
        raise ValueError(f"count must be >= 1, got {count}")
    return float(np.sqrt(np.log(2 / (1 - confidence)) / (2 * count)))


def _binomial_quantile(share: float, trials: int, probability: float) -> int:
    """The smallest number of successes whose cumulative probability is at least ``share``."""
    near = max(0, int(np.ceil(special.bdtrik(share, trials, probability)))) if trials else 0
    # The inverse is a root of a continuous extension: settle the last step on the exact distribution.
    while near and special.bdtr(near - 1, trials, probability) >= share:
        near -= 1
    while special.bdtr(near, trials, probability) < share:
        near += 1
    return near


def _check_probability(probability: float) -> None:
    if not 0 < probability < 1:
        raise ValueError(f"probability must be between 0 and 1, got {probability}")


def wilson_interval(hits: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a proportion (Wilson, JASA 22, 1927); 0..1 without trials."""
    if not 0 <= hits <= trials:
        raise ValueError(f"hits must be 0..{trials} (trials), got {hits}")
    if not trials:
        return Interval(0.0, 1.0)
    z = float(special.ndtri((1 + confidence) / 2))
    share, spread = hits / trials, z * z / trials
    middle = share + spread / 2
    half = z * np.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    # Rounding may leave a bound just outside of where it is exactly.
    low = 0.0 if hits == 0 else (middle - half) / (1 + spread)
    high = 1.0 if hits == trials else (middle + half) / (1 + spread)
    return Interval(float(low), float(high))


def newcombe_interval(first: tuple[int, int], second: tuple[int, int], *, confidence: float = 0.95) -> Interval:
    """Interval of the difference of two proportions, second minus first, each given as (hits, trials).

    Newcombe's hybrid score method without continuity correction (method 10 of Statistics in Medicine 17, 1998,
    873-890): it keeps its coverage where proportions are near 0, as those of duplicates are.
    """
    one = wilson_interval(*first, confidence=confidence)
    two = wilson_interval(*second, confidence=confidence)
    if not first[1] or not second[1]:
        return Interval(two.low - one.high, two.high - one.low)
    share_one, share_two = first[0] / first[1], second[0] / second[1]
    difference = share_two - share_one
    below = np.hypot(share_two - two.low, one.high - share_one)
    above = np.hypot(two.high - share_two, share_one - one.low)
    return Interval(float(difference - below), float(difference + above))


def dependence_block_length(series: ArrayLike) -> int:
    """Length of blocks that keep the dependence of neighbours in ``series``, for a block bootstrap.

    The automatic choice of Politis and White (Econometric Reviews 23, 2004, with the correction of Patton, Politis
    and White, 28, 2009) for circular blocks, on ranks instead of values so that a heavy tail cannot hide the
    dependence. At least the cube root of the length, the general rate for blocks; at most three times its square root.
    """
    values = np.asarray(series)
    n = values.size
    least = max(1, int(np.ceil(n ** (1 / 3))))
    if n < 10 or values.min() == values.max():
        return least
    run_length = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    lag_max = min(n - 1, int(np.ceil(np.sqrt(n))) + run_length)
    covariance = _autocovariance(average_ranks(values), lag_max)
    small = np.abs(covariance[1:] / covariance[0]) < 2 * np.sqrt(np.log10(n) / n)
    quiet = np.convolve(small, np.ones(run_length), mode="valid") == run_length
    last_lag = int(np.argmax(quiet)) if quiet.any() else lag_max
    width = min(2 * max(last_lag, 1), lag_max)
    lags = np.arange(1, width + 1)
    weighted = np.minimum(1.0, 2 * (1 - lags / width)) * covariance[1 : width + 1]
    density = covariance[0] + 2 * weighted.sum()
    slope = 2 * (lags * weighted).sum()
    most = int(np.ceil(min(3 * np.sqrt(n), n / 3)))
    if density <= 0:
        return max(least, most)
    return max(least, min(most, int(np.ceil((1.5 * (slope / density) ** 2 * n) ** (1 / 3)))))


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Ranks from 1 on; equal values share the mean of theirs. ``scipy.stats`` has it, but takes seconds to import."""
    _, place, ties = np.unique(values, return_inverse=True, return_counts=True)
    ranks: NDArray[np.float64] = (np.cumsum(ties) - (ties - 1) / 2)[place]
    return ranks


def _autocovariance(values: NDArray[np.float64], lag_max: int) -> NDArray[np.float64]:
    centred = values - values.mean()
    spectrum = np.fft.rfft(centred, 2 * centred.size)
    found: NDArray[np.float64] = np.fft.irfft(np.abs(spectrum) ** 2)[: lag_max + 1] / centred.size
    return found


def block_bootstrap_quantiles(
    series: ArrayLike, probabilities: Sequence[float], *, block_length: int, resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Quantiles of moving-block resamples of ``series`` (in the order of time), one row a resample.

    A resample strings together stretches of ``block_length`` neighbours that begin anywhere (Künsch, Annals of
    Statistics 17, 1989), so it keeps the dependence within a block. Blocks of 1 are the plain bootstrap, which
    takes neighbours for independent.
    """
    values = np.asarray(series, dtype=np.float64)
    n = values.size
    if not 1 <= block_length <= n:
        raise ValueError(f"block_length must be 1..{n} (values), got {block_length}")
    blocks = -(-n // block_length)
    rows_at_once = max(1, _BOOTSTRAP_CELLS // n)
    found = []
    for begin in range(0, resamples, rows_at_once):
        rows = min(rows_at_once, resamples - begin)
        starts = rng.integers(0, n - block_length + 1, size=(rows, blocks, 1))
        places = (starts + np.arange(block_length)).reshape(rows, -1)[:, :n]
        found.append(np.quantile(values[places], probabilities, axis=1).T)
    return np.concatenate(found)


def ks_block_p_value(
    first: ArrayLike, second: ArrayLike, *, block_length: int, permutations: int, rng: np.random.Generator
) -> float:
    """Return how often chance alone makes the KS distance of two series at least as large as it is.

    Both series (in the order of time) are cut into blocks of ``block_length``, and whole blocks are dealt out to two
    sides at random. If both come from one distribution whose dependence ends within a block, every such deal is as
    likely as the one seen. The smallest value is 1 / (``permutations`` + 1).
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    blocks_one, blocks_two = -(-one.size // block_length), -(-two.size // block_length)
    block = np.concatenate([np.arange(one.size) // block_length, blocks_one + np.arange(two.size) // block_length])
    pooled = np.concatenate([one, two])
    order = np.argsort(pooled, kind="stable")
    block = block[order]
    last_of_ties = np.append(np.diff(pooled[order]) != 0, True)
    at_or_below = np.arange(1, pooled.size + 1)
    in_first = np.arange(blocks_one + blocks_two) < blocks_one

    def distance(deal: NDArray[np.bool_]) -> float:
        ours = np.cumsum(deal[block])
        gap = ours / ours[-1] - (at_or_below - ours) / (pooled.size - ours[-1])
        return float(np.abs(gap[last_of_ties]).max())

    seen = distance(in_first) - _ROUNDING
    as_large = sum(distance(rng.permutation(in_first)) >= seen for _ in range(permutations))
    return (as_large + 1) / (permutations + 1)
