"""Which came before which, without comparing in pairs: sorting, running maxima and searches, all O(n log n)."""

import numpy as np

from zonelab.analysis.checkers.order.rows import Bools, Ints


def dense(values: Ints) -> Ints:
    """Numbers from 0 in the order of the values."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def latest_before(group: Ints, end: Ints, value: Ints, at_group: Ints, at: Ints) -> Ints:
    """For each of ``at``: which row of its group that had ended by then has the greatest value; -1 if none had.

    What ended in the very nanosecond counts: an answer comes after the effect, a question before it.
    """
    count = len(group)
    if not count or not len(at):
        return np.full(len(at), -1, dtype=np.int64)
    groups, times = dense(np.concatenate([group, at_group])), dense(np.concatenate([end, at]))
    moments = groups * (int(times.max()) + 1) + times
    by_value = np.argsort(value, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[by_value] = np.arange(count)
    order = np.argsort(moments[:count], kind="stable")
    greatest = np.maximum.accumulate(groups[:count][order] * count + rank[order])
    before = np.searchsorted(moments[:count][order], moments[count:], side="right") - 1
    best = greatest[np.maximum(before, 0)]
    found = (before >= 0) & (best // count == groups[count:])
    return np.where(found, by_value[best % count], -1)


def still_open(group: Ints, start: Ints, end: Ints) -> Ints:
    """For each interval: that of its group which began before it, or with it, and ends last; -1 if it is the first."""
    count = len(group)
    groups = dense(group)
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[by_end] = np.arange(count)
    order = np.lexsort((start, groups))
    greatest = np.maximum.accumulate(groups[order] * count + rank[order])
    found = np.full(count, -1, dtype=np.int64)
    same = groups[order][1:] == groups[order][:-1]
    found[order[1:]] = np.where(same, by_end[greatest[:-1] % max(count, 1)], -1)
    return found


def first_of_each(*columns: Ints) -> Bools:
    """Return, for rows sorted by ``columns``, whether a row differs in one of them from that in front of it."""
    count = len(columns[0])
    first = np.ones(count, dtype=np.bool_)
    if count:
        first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return first


def count_before(group: Ints, time: Ints, at_group: Ints, at: Ints) -> Ints:
    """For each of ``at``: how many rows of its group have a time before it."""
    groups, times = dense(np.concatenate([group, at_group])), dense(np.concatenate([time, at]))
    moments = groups * (int(times.max(initial=0)) + 1) + times
    own = np.sort(moments[: len(group)])
    begins = groups[len(group) :] * (int(times.max(initial=0)) + 1)
    counted: Ints = np.searchsorted(own, moments[len(group) :]) - np.searchsorted(own, begins)
    return counted


def least(group: Ints, value: Ints, wanted: Ints, *, otherwise: int) -> Ints:
    """For each of ``wanted``: the least value of its group; ``otherwise`` if there is none."""
    if not len(group):
        return np.full(len(wanted), otherwise, dtype=np.int64)
    order = np.lexsort((value, group))
    keys, values = group[order], value[order]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], otherwise)
