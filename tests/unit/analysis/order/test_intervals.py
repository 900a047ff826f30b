"""Goal: sorting, running maxima and searches find what comparing in pairs finds. Method: small drawn columns with many
equal values, none at all included, beside the definition written out.
"""

from collections.abc import Iterator

import numpy as np
import pytest

from zonelab.analysis.checkers.order.intervals import (
    count_before,
    dense,
    first_of_each,
    latest_before,
    least,
    still_open,
)

Ints = np.ndarray


def columns(*lengths: int | None, seed: int) -> Iterator[Ints]:
    """Columns of values from a few; those without a length have one drawn for all of them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(0, 9))
    for length in lengths:
        yield rng.integers(-3, 6, count if length is None else length) * 10**15


@pytest.fixture(params=range(60))
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_the_latest_of_a_group_that_had_ended_by_then(seed: int) -> None:
    group, end, value, at_group, at = columns(None, None, None, seed % 7, seed % 7, seed=seed)
    found = latest_before(group, end, value, at_group, at)
    for row, (its, then) in zip(found.tolist(), zip(at_group, at, strict=True), strict=True):
        known = [one for one in range(len(group)) if group[one] == its and end[one] <= then]
        assert (row in known) if known else row == -1
        assert not known or value[row] == max(value[known])


def test_an_interval_of_the_group_that_began_before_and_ends_last(seed: int) -> None:
    group, start, length = columns(None, None, None, seed=seed)
    end = start + np.abs(length)
    found = still_open(group, start, end)
    order = np.lexsort((start, group)).tolist()
    for place, one in enumerate(order):
        before = [other for other in order[:place] if group[other] == group[one]]
        assert (found[one] in before) if before else found[one] == -1
        assert not before or end[found[one]] == max(end[before])


def test_how_many_of_a_group_come_before_a_time(seed: int) -> None:
    group, time, at_group, at = columns(None, None, seed % 5, seed % 5, seed=seed)
    expected = [int(((group == its) & (time < then)).sum()) for its, then in zip(at_group, at, strict=True)]
    assert count_before(group, time, at_group, at).tolist() == expected


def test_the_least_of_a_group(seed: int) -> None:
    group, value, wanted = columns(None, None, seed % 6, seed=seed)
    expected = [min(value[group == one], default=7) for one in wanted]
    assert least(group, value, wanted, otherwise=7).tolist() == expected


def test_the_first_row_of_each_run_of_equal_rows(seed: int) -> None:
    one, two = columns(None, None, seed=seed)
    order = np.lexsort((two, one))
    rows = list(zip(one[order].tolist(), two[order].tolist(), strict=True))
    assert first_of_each(one[order], two[order]).tolist() == [
        place == 0 or rows[place] != rows[place - 1] for place in range(len(rows))
    ]


def test_dense_numbers_are_in_the_order_of_the_values(seed: int) -> None:
    (values,) = columns(None, seed=seed)
    known = sorted(set(values.tolist()))
    assert dense(values).tolist() == [known.index(value) for value in values.tolist()]
