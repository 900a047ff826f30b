"""The smallest part of a history that is still not linearizable, and its picture in text.

A part is evidence against the whole only if it asks nothing that the whole does not: a read may be left out at any
time, an update only together with everything that saw its value (otherwise a value would seem to come from nowhere)
and with every refusal that does not tell what it found (the update may be the cause of it).
Parts are tried by delta debugging (Zeller and Hildebrandt, IEEE Trans. Software Engineering 28, 2002): ever smaller
chunks are left out as long as what remains fails.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from zonelab.analysis.checkers.consistency.linear import (
    UPDATES,
    RegisterOperation,
    RegisterStep,
    SearchBudget,
    Value,
    check_register,
    relevant,
)

NEAR = 50
"""Answers before and after the failure that are looked at first."""


def smallest_violation(
    operations: Iterable[RegisterOperation], *, initial: Value = None, budget: SearchBudget | None = None
) -> tuple[RegisterOperation, ...]:
    """A part of ``operations`` that is not linearizable and of which nothing can be left out, in order of begin.

    Raises ``ValueError`` if ``operations`` are linearizable, or if it cannot be told within ``budget``.
    """
    shrinking = _Shrinker(initial, budget or SearchBudget())
    whole = sorted(relevant(list(operations)), key=lambda one: (one.begin, one.id))
    if not shrinking.fails(whole):
        raise ValueError("the history is linearizable, or too costly to tell: there is no violation to shrink")
    near = shrinking.near_failure(whole)
    return tuple(shrinking.without_chunks(shrinking.shortest_prefix(near)))


class _Shrinker:
    def __init__(self, initial: Value, budget: SearchBudget) -> None:
        self._initial = initial
        self._budget = budget

    def fails(self, operations: Sequence[RegisterOperation]) -> bool:
        return check_register(operations, initial=self._initial, budget=self._budget).valid is False

    def near_failure(self, operations: list[RegisterOperation]) -> list[RegisterOperation]:
        """Return what lies around the failure, if that fails by itself: most violations are local, most
        histories long.
        """
        ends = sorted(one.end for one in operations if one.end is not None)
        place, width = self._first_failure(operations, ends), NEAR
        while width < len(ends):
            low, high = ends[max(0, place - width)], ends[min(len(ends) - 1, place + width)]
            near = [one for one in operations if one.begin <= high and (one.end is None or one.end >= low)]
            kept = {one.id for one in near}
            candidate = _supported(near, self._initial, gone=[one for one in operations if one.id not in kept])
            if self.fails(candidate):
                return candidate
            width *= 4
        return operations

    def shortest_prefix(self, operations: list[RegisterOperation]) -> list[RegisterOperation]:
        """Up to the first return at which the history fails; every longer prefix fails too, so halving finds it.

        The search, which knows what will be read, gives up at that return or earlier, so it is looked for from there.
        """
        ends = sorted(one.end for one in operations if one.end is not None)
        low, high = self._first_failure(operations, ends), len(ends) - 1
        step = 1
        while low + step < high and not self.fails(_prefix(operations, ends[low + step])):
            low, step = low + step + 1, 2 * step
        high = min(high, low + step)
        while low < high:
            middle = (low + high) // 2
            if self.fails(_prefix(operations, ends[middle])):
                high = middle
            else:
                low = middle + 1
        return _supported(_prefix(operations, ends[low]), self._initial)

    def _first_failure(self, operations: list[RegisterOperation], ends: list[int]) -> int:
        failed = check_register(operations, initial=self._initial, budget=self._budget).failed
        end = next(one.end for one in operations if one.id == failed)
        assert end is not None, "a history fails at a return"
        return bisect_left(ends, end)

    def without_chunks(self, operations: list[RegisterOperation]) -> list[RegisterOperation]:
        size = max(1, len(operations) // 2)
        while True:
            shrunk = self._one_round(operations, size)
            if len(shrunk) == len(operations):
                if size == 1:
                    return operations
                size //= 2
            operations = shrunk
            size = max(1, min(size, len(operations) // 2))

    def _one_round(self, operations: list[RegisterOperation], size: int) -> list[RegisterOperation]:
        begin = 0
        while begin < len(operations):
            rest = operations[:begin] + operations[begin + size :]
            candidate = _supported(rest, self._initial, gone=operations[begin : begin + size])
            if self.fails(candidate):
                operations = candidate
            else:
                begin += size
        return operations


def _prefix(operations: Sequence[RegisterOperation], until: int) -> list[RegisterOperation]:
    """Return what had begun by ``until``; of what had not returned only the updates, which are then in doubt."""
    return [
        one if one.end is not None and one.end <= until else _in_doubt(one)
        for one in operations
        if one.begin <= until and ((one.end is not None and one.end <= until) or one.kind in UPDATES)
    ]


def _in_doubt(operation: RegisterOperation) -> RegisterOperation:
    return RegisterOperation(
        id=operation.id,
        kind=operation.kind,
        value=operation.value,
        expected=operation.expected,
        begin=operation.begin,
        end=None,
    )


def _supported(
    operations: Sequence[RegisterOperation], initial: Value, *, gone: Sequence[RegisterOperation] = ()
) -> list[RegisterOperation]:
    """``operations`` without those that saw a value whose updates are all among ``gone``."""
    kept = list(operations)
    lost = list(gone)
    while True:
        if any(one.kind in UPDATES for one in lost):
            kept = [one for one in kept if one.kind is not RegisterStep.DIFFERS]
        written = {one.value for one in kept if one.kind in UPDATES} | {initial}
        removed = {one.value for one in lost if one.kind in UPDATES} - written
        unsupported = [
            one for one in kept if _needs(one) in removed and one.kind in (RegisterStep.READ, RegisterStep.CAS)
        ]
        if not unsupported:
            return kept
        missing = {one.id for one in unsupported}
        kept = [one for one in kept if one.id not in missing]
        lost += unsupported


def _needs(operation: RegisterOperation) -> Value:
    return operation.expected if operation.kind is RegisterStep.CAS else operation.value
