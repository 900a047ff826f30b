"""Findings: the cases of one checker while it works."""

from collections import Counter
from collections.abc import Collection, Iterable

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.judgement import FIRST_CASES, Case


class Findings:
    """Count of the cases of each class, and the first of each. Those of ``not_judged`` are left out."""

    def __init__(self, *, not_judged: Collection[CaseClass] = ()) -> None:
        self.not_judged = tuple(map(str, not_judged))
        self._counts: Counter[str] = Counter()
        self._first: dict[str, list[Case]] = {}

    def counts(self, classes: Iterable[CaseClass]) -> dict[str, int]:
        """Return the number of cases of each of ``classes``."""
        return {str(name): self._counts[name] for name in classes}

    def count(self, name: CaseClass, cases: int) -> None:
        """Count ``cases`` of which none is among the first."""
        self._counts[name] += cases

    def keep(self, name: CaseClass, cases: Iterable[Case]) -> None:
        """Keep those of ``cases`` that are among the first of their class, which are counted elsewhere."""
        known = [*self._first.get(name, ()), *cases]
        self._first[str(name)] = sorted(known, key=_history_order)[:FIRST_CASES]

    def first(self, classes: Iterable[CaseClass]) -> dict[str, tuple[Case, ...]]:
        """Return the first cases of those of ``classes`` that have any."""
        return {str(name): tuple(self._first[name]) for name in classes if name in self._first}


def _history_order(case: Case) -> tuple[int, str, int, str, str, int]:
    """By event; those that only an end state shows come first, by place in the log, message and zone.

    Cases of a key have none of that, and stay as they were found.
    """
    index, offset = (-1 if value is None else value for value in (case.index, case.offset))
    zone = (case.zone or "") if case.message_id else ""
    return index, case.partition, offset, case.message_id, zone, case.delivery or 0
