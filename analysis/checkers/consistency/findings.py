"""Findings of the rules for registers, sets, locks, counters and lists."""

from collections.abc import Collection

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.checkers.consistency.section import Counterexample, Share
from zonelab.analysis.checkers.findings import Findings
from zonelab.analysis.checkers.judgement import Case


class AccessFindings(Findings):
    """``all``: every case. The other fields are those of ``ConsistencySection``."""

    def __init__(self, *, not_judged: Collection[Anomaly] = ()) -> None:
        super().__init__(not_judged=not_judged)
        self.all: dict[Anomaly, list[Case]] = {}
        self.shares: dict[str, dict[str, Share]] = {}
        self.staleness: dict[str, dict[str, dict[str, float]]] = {}
        self.figures: dict[str, int] = {}
        self.counterexamples: list[Counterexample] = []

    def add(self, name: Anomaly, case: Case) -> None:
        """Count a case, in the order in which they are found, unless its class is not judged."""
        if str(name) in self.not_judged:
            return
        self.all.setdefault(name, []).append(case)
        self.count(name, 1)
        self.keep(name, [case])
