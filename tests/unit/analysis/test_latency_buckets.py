"""Goal: counts in buckets tell quantiles to within 0.1 %, and may be merged in any order. Method: drawn values against
exact quantiles, every border of a bucket, and the same rule in Spark's SQL.
"""

from collections.abc import Iterable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zonelab.analysis.latency_buckets import (
    ERROR_MAX,
    BucketCount,
    bucket_of,
    bucket_sql,
    merged,
    quantiles_ms,
)
from zonelab.analysis.spark.session import spark_session
from zonelab.analysis.statistics import QUANTILES

TO_P9999 = {**QUANTILES, "p9999": 0.9999}
BORDERS = [sign * ((1 << power) + near) for sign in (1, -1) for power in range(1, 63) for near in (-1, 0, 1)]


def bucket_counts(values: Iterable[int]) -> list[BucketCount]:
    return merged([[BucketCount(bucket_of(value), 1, value)] for value in values])


values_ns = st.lists(st.integers(-(10**9), 10**13), min_size=1, max_size=60)


def test_no_bucket_is_wider_than_a_thousandth_and_none_is_skipped() -> None:
    for power in range(11, 40):
        first, last = bucket_of(1 << power), bucket_of((2 << power) - 1)
        assert last - first == 1023
        assert bucket_of(2 << power) == last + 1
    assert [bucket_of(value) for value in (0, 1, 2047, 2048, 2049, 2050)] == [0, 1, 2047, 2048, 2048, 2049]
    assert ERROR_MAX < 0.001


def test_a_value_between_others_is_told_as_the_middle_of_its_bucket() -> None:
    for value, middle in ((2047, 2047), (2048, 2048.5), (2049, 2048.5), (4096, 4097.5), (-2048, -2048.5)):
        low, high = BucketCount(bucket_of(-(10**9)), 1, -(10**9)), BucketCount(bucket_of(10**9), 1, 10**9)
        found = merged([[low, high, BucketCount(bucket_of(value), 3, value + 9)]])
        assert quantiles_ms(found, {"p50": 0.5})["p50"] == pytest.approx(middle / 1e6, abs=1e-12)


@given(st.lists(st.integers(-(10**18), 10**18)))
def test_buckets_are_in_the_order_of_their_values(values: list[int]) -> None:
    assert [bucket_of(value) for value in sorted(values)] == sorted(map(bucket_of, values))


@pytest.mark.parametrize("sigma", [0.2, 1.0, 3.0])
def test_quantiles_up_to_p9999_are_true_to_a_thousandth(sigma: float) -> None:
    drawn = np.random.default_rng(7).lognormal(15, sigma, 200_000).astype(np.int64)
    exact = np.quantile(drawn, list(TO_P9999.values())) / 1e6
    told = quantiles_ms(bucket_counts(drawn.tolist()), TO_P9999)
    assert list(told.values()) == pytest.approx(exact.tolist(), rel=ERROR_MAX)
    assert told["max"] == drawn.max() / 1e6


@given(values_ns)
def test_each_value_of_a_small_sample_is_told_as_truly(values: list[int]) -> None:
    counts = bucket_counts(values)
    steps = max(len(values) - 1, 1)
    told = quantiles_ms(counts, {str(rank): rank / steps for rank in range(len(values))})
    for place, value in zip(told.values(), sorted(values), strict=True):
        # A place in between that rounding made is told from its two neighbours.
        assert place * 1e6 == pytest.approx(value, rel=2 * ERROR_MAX, abs=1e-3)


@given(st.lists(values_ns, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_parts_in_any_order_make_the_same_whole(parts: list[list[int]], draw: Random) -> None:
    whole = bucket_counts(value for part in parts for value in part)
    counted = [bucket_counts(part) for part in parts]
    draw.shuffle(counted)
    assert merged([merged(counted[:2]), *counted[2:]]) == whole


@pytest.mark.parametrize("counts", [[BucketCount(5, 1, 5)] * 2, [BucketCount(5, 1, 5), BucketCount(4, 1, 4)]])
def test_counts_that_were_put_together_without_being_merged_are_refused(counts: list[BucketCount]) -> None:
    with pytest.raises(ValueError, match="each bucket once"):
        quantiles_ms(counts)
    assert quantiles_ms([]) == {}


def test_counts_that_were_merged_twice_are_not_those_of_the_whole() -> None:
    parts = [bucket_counts(range(1_000_000, 9_000_000, 50_000)), bucket_counts(range(50_000_000, 90_000_000, 500_000))]
    once, twice = merged(parts), merged([*parts, parts[1]])
    assert sum(one.values for one in once) == 240
    assert sum(one.values for one in twice) == 320
    assert quantiles_ms(twice)["p50"] > 1.1 * quantiles_ms(once)["p50"]


@pytest.mark.java
def test_spark_puts_every_value_in_the_same_bucket() -> None:
    with spark_session(master="local[1]", brief=True) as session:
        values = ", ".join(f"({value}L)" for value in BORDERS)
        rows = session.sql(f"SELECT v, {bucket_sql('v')} AS bucket FROM VALUES {values} AS t(v)").collect()
        assert {row["v"]: row["bucket"] for row in rows} == {value: bucket_of(value) for value in BORDERS}
        assert session.sql(f"SELECT {bucket_sql('CAST(NULL AS BIGINT)')} AS bucket").collect()[0]["bucket"] is None
