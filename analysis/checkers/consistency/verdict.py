"""What can go wrong with registers, sets, locks, counters and lists, and the verdict on one run of such a workload."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from zonelab.analysis.checkers.judgement import FIRST_OFFENDERS, Validity
from zonelab.analysis.workloads import WorkloadKind


class Anomaly(StrEnum):
    """What a single copy of the data, used by one client at a time, would never show."""

    NONLINEARIZABLE = "nonlinearizable"
    UNWRITTEN = "unwritten"
    STALE_READ = "stale_read"
    CAS_TWICE = "cas_twice"
    LOST_WRITE = "lost_write"
    READ_YOUR_WRITES = "read_your_writes"
    MONOTONIC_READS = "monotonic_reads"
    MONOTONIC_WRITES = "monotonic_writes"
    LOST_ADD = "lost_add"
    VANISHED = "vanished"
    TWO_OWNERS = "two_owners"
    NO_OWNER = "no_owner"
    DUPLICATE_NUMBER = "duplicate_number"
    POPPED_TWICE = "popped_twice"
    LEFT_BEHIND = "left_behind"
    DIVERGENT = "divergent"
    APPLIED_IN_DOUBT = "applied_in_doubt"
    APPLIED_AFTER_FAIL = "applied_after_fail"
    UNDECIDED = "undecided"


MEANINGS: Mapping[Anomaly, str] = {
    Anomaly.NONLINEARIZABLE: "a key whose operations fit into no order that a register could have had",
    Anomaly.UNWRITTEN: "a read returned a value that nobody had begun to write",
    Anomaly.STALE_READ: "a read that missed a write confirmed before it began",
    Anomaly.CAS_TWICE: "two compare-and-sets succeeded on the same value",
    Anomaly.LOST_WRITE: "the last write of a key was confirmed, and no zone holds it at rest",
    Anomaly.READ_YOUR_WRITES: "a client's read missed its own confirmed write",
    Anomaly.MONOTONIC_READS: "a client's read went back behind what it had read before",
    Anomaly.MONOTONIC_WRITES: "one client's two writes were seen in the other order",
    Anomaly.LOST_ADD: "the addition was confirmed, and no zone holds the member at rest",
    Anomaly.VANISHED: "a member that an earlier read had shown was missing in a later one",
    Anomaly.TWO_OWNERS: "a lock that was granted more than once",
    Anomaly.NO_OWNER: "a lock that was granted to nobody and is taken all the same",
    Anomaly.DUPLICATE_NUMBER: "a number that was given out more than once",
    Anomaly.POPPED_TWICE: "an item that was taken more than once",
    Anomaly.LEFT_BEHIND: "an item that was taken, and that some zone still lists at rest",
    Anomaly.DIVERGENT: "a key that the zones hold differently at rest",
    Anomaly.APPLIED_IN_DOUBT: "an update that was answered with an error, and that was seen or is held all the same",
    Anomaly.APPLIED_AFTER_FAIL: "an update that was said to have certainly failed, and that was seen or is held",
    Anomaly.UNDECIDED: "a key whose linearizability is too costly to decide",
}

FORBIDDEN_OF: Mapping[WorkloadKind, tuple[Anomaly, ...]] = {
    WorkloadKind.REGISTER: (
        Anomaly.NONLINEARIZABLE,
        Anomaly.UNWRITTEN,
        Anomaly.LOST_WRITE,
        Anomaly.DIVERGENT,
        Anomaly.APPLIED_AFTER_FAIL,
    ),
    WorkloadKind.SET: (Anomaly.LOST_ADD, Anomaly.UNWRITTEN, Anomaly.DIVERGENT, Anomaly.APPLIED_AFTER_FAIL),
    WorkloadKind.LOCK: (Anomaly.TWO_OWNERS,),
    WorkloadKind.COUNTER: (Anomaly.DUPLICATE_NUMBER,),
    WorkloadKind.LIST: (Anomaly.POPPED_TWICE, Anomaly.DIVERGENT),
}
"""What makes a run invalid unless its scenario says otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One case of an anomaly: the key, the operations that show it (``op_id``), and what there is to say."""

    key: str
    ops: tuple[int, ...] = ()
    zone: str | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """``hits`` of ``trials``, with the 95 % interval of Clopper and Pearson."""

    hits: int
    trials: int
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Counterexample:
    """The smallest part of one key's history that is still not linearizable: the operations, and their picture."""

    key: str
    ops: tuple[int, ...]
    timeline: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConsistencyVerdict:
    """The result of checking one run of a scenario with a workload; the content of its ``verdict.json``.

    ``workload``: its kind. ``valid``: True, False or ``"unknown"``; ``reasons``: why, in words. ``forbid``: the
    anomalies that must have no cases. ``operations``: by f and outcome. ``counts``: cases of every ``Anomaly``.
    ``cases``: the first 20 of each; all in ``anomalies.parquet``. ``shares``: by name, what share of its possible
    places an anomaly took, under ``all`` and by zone. ``staleness``: per zone, quantiles of the staleness of stale
    reads in ``ms`` and in ``versions``. ``figures``: what is particular to the workload, such as how many locks had how
    many owners. ``counterexamples``: of keys that are not linearizable, the smallest part that is not.

    Example, which those of the methods continue::

        told = {"name": "mine", "load": {"duration_s": 1, "rate_per_s": 20}, "workload": {"kind": "register"}}
        verdict = run(told).verdict
        assert isinstance(verdict, ConsistencyVerdict)
    """

    workload: WorkloadKind
    valid: Validity
    reasons: tuple[str, ...]
    forbid: tuple[str, ...]
    operations: Mapping[str, Mapping[str, int]]
    counts: Mapping[str, int]
    cases: Mapping[str, tuple[Case, ...]]
    shares: Mapping[str, Mapping[str, Share]] = field(default_factory=dict)
    staleness: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    figures: Mapping[str, int] = field(default_factory=dict)
    counterexamples: tuple[Counterexample, ...] = ()

    @property
    def violated(self) -> tuple[str, ...]:
        """The forbidden anomalies that have cases.

        Example::

            print(verdict.valid, verdict.violated)  # True ()
        """
        return tuple(name for name in self.forbid if self.counts[name])

    @property
    def begun(self) -> int:
        """The number of operations that were begun.

        Example::

            print(verdict.begun == sum(sum(each.values()) for each in verdict.operations.values()))  # True
        """
        return sum(sum(outcomes.values()) for outcomes in self.operations.values())

    def to_json(self) -> dict[str, Any]:
        """Returns the content of ``verdict.json``; ``from_json`` inverts it.

        Example::

            print(verdict.to_json()["workload"])  # register
        """
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ConsistencyVerdict":
        """Returns the verdict of ``value``, the content of ``verdict.json``.

        Raises ``KeyError`` or ``TypeError`` if it is no such content.

        Example::

            print(ConsistencyVerdict.from_json(verdict.to_json()) == verdict)  # True
        """
        parts: dict[str, Any] = {
            "workload": WorkloadKind(value["workload"]),
            "reasons": tuple(value["reasons"]),
            "forbid": tuple(value["forbid"]),
            "cases": {name: tuple(map(_case, cases)) for name, cases in value["cases"].items()},
            "shares": {
                name: {zone: Share(**share) for zone, share in zones.items()} for name, zones in value["shares"].items()
            },
            "counterexamples": tuple(
                Counterexample(key=one["key"], ops=tuple(one["ops"]), timeline=tuple(one["timeline"]))
                for one in value["counterexamples"]
            ),
        }
        return cls(**{**value, **parts})


def _case(value: Mapping[str, Any]) -> Case:
    return Case(**{**value, "ops": tuple(value["ops"])})


@dataclass(slots=True)
class Findings:
    """What the checkers of one run have found so far."""

    cases: dict[Anomaly, list[Case]] = field(default_factory=dict)
    shares: dict[str, dict[str, Share]] = field(default_factory=dict)
    staleness: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    figures: dict[str, int] = field(default_factory=dict)
    counterexamples: list[Counterexample] = field(default_factory=list)

    def add(self, name: Anomaly, case: Case) -> None:
        self.cases.setdefault(name, []).append(case)

    @property
    def counts(self) -> dict[str, int]:
        return {str(name): len(self.cases.get(name, ())) for name in Anomaly}

    def first(self) -> dict[str, tuple[Case, ...]]:
        return {str(name): tuple(self.cases.get(name, ())[:FIRST_OFFENDERS]) for name in Anomaly}


def judge_consistency(
    *, counts: Mapping[str, int], forbid: Collection[str], doubts: Collection[str]
) -> tuple[Validity, tuple[str, ...]]:
    """False if a forbidden anomaly occurred, else unknown if there is any doubt, else true; and why, in words."""
    broken = tuple(
        f"{counts[name]} {name.replace('_', ' ')}: {MEANINGS[name]}"
        for name in Anomaly
        if name in forbid and counts[name]
    )
    if broken:
        return False, broken + tuple(doubts)
    return ("unknown", tuple(doubts)) if doubts else (True, ())
