"""Values counted in buckets of integer nanoseconds, and quantiles from those counts.

The buckets are those of HdrHistogram with 3 significant digits (https://hdrhistogram.org): each value below 2,048 ns
has one of its own, and above that every power of two is divided into 1,024 of equal width. Negative values mirror the
positive ones. Counts are merged by adding integers, so the result is the same in any order, on any number of machines.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from zonelab.analysis.statistics import QUANTILES

_BITS = 11
"""Bits of a value that a bucket keeps: 2 ** 11 is the first power of two above 2 × 10 ** 3, for 3 significant digits.
"""

_SINGLE = 1 << _BITS
_HALF = _SINGLE >> 1

ERROR_MAX = 1 / _SINGLE
"""A value is told from the middle of its bucket with at most this relative error, which is less than 0.1 %."""


class BucketCount(NamedTuple):
    """Count of the values in a bucket, and the largest of them."""

    bucket: int
    values: int
    largest_ns: int


def bucket_of(value_ns: int) -> int:
    """The number of the bucket of a value; larger values have larger numbers."""
    magnitude = abs(value_ns)
    shift = max(0, magnitude.bit_length() - _BITS)
    number = shift * _HALF + (magnitude >> shift)
    return -number if value_ns < 0 else number


def bucket_sql(value: str) -> str:
    """``bucket_of`` as an expression of Spark's SQL. ``value``: an expression of whole nanoseconds, or null."""
    shift = f"greatest(length(bin(abs({value}))) - {_BITS}, 0)"
    return f"IF({value} < 0, -1L, 1L) * ({shift} * {_HALF}L + shiftright(abs({value}), {shift}))"


def merged(parts: Iterable[Iterable[BucketCount]]) -> list[BucketCount]:
    """All counts of ``parts`` together, in the order of the buckets."""
    together: dict[int, BucketCount] = {}
    for part in parts:
        for one in part:
            other = together.get(one.bucket)
            together[one.bucket] = one if other is None else _added(one, other)
    return sorted(together.values())


def _added(one: BucketCount, other: BucketCount) -> BucketCount:
    return BucketCount(one.bucket, one.values + other.values, max(one.largest_ns, other.largest_ns))


def quantiles_ms(counts: Sequence[BucketCount], probabilities: Mapping[str, float] = QUANTILES) -> dict[str, float]:
    """Quantiles in milliseconds, by name; none if nothing was counted.

    They interpolate as exact ones do (``zonelab.analysis.statistics.quantiles``), between values that are each told
    with an error of at most ``ERROR_MAX``; the largest of a bucket, so the largest of all, is exact. Raises
    ``ValueError`` unless ``counts`` are sorted and each bucket occurs once.
    """
    if not counts:
        return {}
    if any(one.bucket >= other.bucket for one, other in pairwise(counts)):
        raise ValueError("counts must be in the order of their buckets, each bucket once: merge them first")
    through = list(accumulate(one.values for one in counts))

    def told_ns(rank: int) -> float:
        place = bisect_right(through, rank)
        largest_ns = counts[place].largest_ns
        return largest_ns if rank == through[place] - 1 else min(_middle_ns(counts[place].bucket), largest_ns)

    def quantile_ms(probability: float) -> float:
        rank, share = divmod(probability * (through[-1] - 1), 1)
        low = told_ns(int(rank))
        return (low + share * (told_ns(int(rank) + 1) - low) if share else low) / 1e6

    return {name: quantile_ms(probability) for name, probability in probabilities.items()}


def _middle_ns(bucket: int) -> float:
    magnitude = abs(bucket)
    if magnitude < _SINGLE:
        return bucket
    shift = magnitude // _HALF - 1
    low = (magnitude - shift * _HALF) << shift
    middle = low + ((1 << shift) - 1) / 2
    return -middle if bucket < 0 else middle
