"""What each option of the replication layer is good for: registers and sets under faults, with it and without any.

Runs of one seed and fault class are alike but for the options: equal load, equal faults, equal lags. So every run has a
twin without options, and a sign test over the twins tells an effect from chance, as in ``scenarios.ablation``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Any

from analysis.checkers.consistency.verdict import FORBIDDEN_OF
from analysis.runs.accesses import WorkloadKind
from cluster.options.versions.clock import Votes
from cluster.votes.vote import Level
from scenarios.ablation import CONFIDENCE, sign_test
from scenarios.consistency.trial import AccessTrial, attempt_accesses
from scenarios.fault_draws.fault_classes import LOAD_S, EngineMode, FaultClass, scenario_of_class
from scenarios.parallel import results
from scenarios.spec import scenario as spec
from scenarios.spec.scenario import Scenario
from scenarios.spec.topology import AntiEntropy, Handoff, Replication

LEVEL = Level.DC_QUORUM
KEYS = 3
RATE_PER_S = 40.0
DRAIN_S = 20.0
INTERVAL_MS = 100

MIXES = {WorkloadKind.REGISTER: {"read": 5.0, "write": 4.0}, WorkloadKind.SET: {"add": 7.0, "members": 3.0}}

WATCHED = tuple(dict.fromkeys((*FORBIDDEN_OF[WorkloadKind.REGISTER], *FORBIDDEN_OF[WorkloadKind.SET])))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the options are tried."""

    kind: WorkloadKind
    fault_class: FaultClass


_FAULTS = (
    FaultClass.ZONE_PAUSED_LONG,
    FaultClass.ZONE_KILLED_KEEP,
    FaultClass.ZONE_WIPED,
    FaultClass.CUT_HOLD,
    FaultClass.CUT_DROP,
)

PLACES = (
    Place(WorkloadKind.REGISTER, FaultClass.LAG_HEAVY),
    *(Place(WorkloadKind.REGISTER, fault_class) for fault_class in _FAULTS),
    Place(WorkloadKind.REGISTER, FaultClass.CLOCKS_WRONG),
    *(Place(WorkloadKind.SET, fault_class) for fault_class in _FAULTS),
)


class Option(StrEnum):
    READ_REPAIR = "read-repair"
    HINTED_HANDOFF = "hinted-handoff"
    ANTI_ENTROPY = "anti-entropy"
    VERSION_VOTES = "version-votes"


SETTINGS: Mapping[Option, Mapping[str, Any]] = {
    Option.READ_REPAIR: {"read_repair": True},
    Option.HINTED_HANDOFF: {"hinted_handoff": Handoff()},
    Option.ANTI_ENTROPY: {"anti_entropy": AntiEntropy(interval_ms=INTERVAL_MS)},
    Option.VERSION_VOTES: {"votes": Votes.VERSION},
}

ROWS: tuple[tuple[Option, ...], ...] = (
    (),
    *((option,) for option in Option),
    (Option.ANTI_ENTROPY, Option.VERSION_VOTES),
    (Option.HINTED_HANDOFF, Option.ANTI_ENTROPY, Option.VERSION_VOTES),
)
"""Which options are on. The first row has none; read repair keeps versions of its own and goes with no other row."""


def scenario_of(options: Sequence[Option], place: Place, *, seed: int) -> Scenario:
    """The run of ``seed``: clients in three zones use a few keys while the faults of the class happen."""
    drawn = scenario_of_class(place.fault_class, level=LEVEL, mode=EngineMode.DEFAULT, seed=seed)
    settings = {name: value for option in options for name, value in SETTINGS[option].items()}
    return Scenario(
        name=f"{place.fault_class}-{place.kind}",
        about=f"{place.kind}s at {LEVEL} with {', '.join(options) or 'no option'}; drawn by seed {seed}",
        arm=spec.Arm.SIM,
        seed=seed,
        level=LEVEL,
        links=drawn.links,
        replication=Replication(**settings),
        load=spec.Load(duration_s=LOAD_S, rate_per_s=RATE_PER_S),
        workload=spec.Workload(kind=place.kind, keys=KEYS, mix=MIXES[place.kind]),
        faults=drawn.faults,
        drain=spec.Drain(bound_s=DRAIN_S),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One run: cases of ``WATCHED`` by name, operations begun and answered, and what the options have done."""

    cases: Mapping[str, int]
    begun: int
    answered: int
    done: Mapping[str, int]
    problem: str | None = None

    @property
    def fails(self) -> bool:
        return bool(self.cases)


@dataclass(slots=True)
class OptionResult:
    """The runs of one row and place. ``fewer`` and ``more``: twins by class, against the runs without options."""

    runs: int = 0
    failing: int = 0
    begun: int = 0
    answered: int = 0
    by_class: dict[str, int] = field(default_factory=dict)
    fewer: dict[str, int] = field(default_factory=dict)
    more: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, measured: Measured, without: Measured) -> None:
        self.runs += 1
        self.failing += measured.fails
        self.begun += measured.begun
        self.answered += measured.answered
        _count(self.done, measured.done)
        _count(self.by_class, dict.fromkeys(measured.cases, 1))
        if measured.problem is not None:
            self.problems.append(measured.problem)
        for name in WATCHED:
            mine, theirs = measured.cases.get(name, 0), without.cases.get(name, 0)
            if mine != theirs:
                _count(self.fewer if mine < theirs else self.more, {name: 1})


def _count(counts: dict[str, int], further: Mapping[str, int]) -> None:
    for name, number in further.items():
        counts[name] = counts.get(name, 0) + number


Cell = tuple[tuple[Option, ...], Place]


@dataclass(frozen=True, kw_only=True, slots=True)
class OptionResults:
    cells: Mapping[Cell, OptionResult]
    runs: int
    complete: bool

    def changed(self, cell: Cell) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The classes with fewer cases than without options, and those with more, oftener than chance explains."""
        result = self.cells[cell]
        limit = (1 - CONFIDENCE) / (2 * len(self.cells) * len(WATCHED))
        fewer = [name for name in WATCHED if _beyond(result.fewer, result.more, name) < limit]
        more = [name for name in WATCHED if _beyond(result.more, result.fewer, name) < limit]
        return tuple(fewer), tuple(more)


def _beyond(one: Mapping[str, int], other: Mapping[str, int], name: str) -> float:
    return sign_test(one.get(name, 0), other.get(name, 0))


def ablate_options(
    *,
    runs: int,
    jobs: int,
    rows: Sequence[tuple[Option, ...]] = ROWS,
    places: Sequence[Place] = PLACES,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> OptionResults:
    """Run every row with ``runs`` seeds at each place. The first is what others are compared with. Ctrl-C ends it."""
    cells = list(product(rows, places))
    tasks = [(row, place, seed) for seed in range(1, runs + 1) for row, place in cells]
    found = {cell: OptionResult() for cell in cells}
    without: dict[tuple[Place, int], Measured] = {}
    done = 0
    try:
        with results(_run, tasks, jobs=jobs) as all_measured:
            for (row, place, seed), measured in zip(tasks, all_measured, strict=True):
                found[row, place].add(measured, without.setdefault((place, seed), measured))
                done += 1
                told(done, len(tasks))
    except KeyboardInterrupt:
        return OptionResults(cells=found, runs=done, complete=False)
    return OptionResults(cells=found, runs=done, complete=True)


def _run(task: tuple[tuple[Option, ...], Place, int]) -> Measured:
    row, place, seed = task
    trial = attempt_accesses(scenario_of(row, place, seed=seed))
    done: dict[str, int] = {}
    for statistics in trial.run.record.coordinators.values():
        _count(done, statistics["options"])
    if trial.verdict is None:
        return Measured(cases={}, begun=0, answered=0, done=done, problem=f"seed {seed}: {trial.run.record.error}")
    counts, operations = trial.verdict.counts, trial.verdict.operations
    return Measured(
        cases={str(name): counts[name] for name in WATCHED if counts[name]},
        begun=sum(sum(outcomes.values()) for outcomes in operations.values()),
        answered=sum(outcomes.get("ok", 0) for outcomes in operations.values()),
        done=done,
        problem=_problem(trial, seed),
    )


def _problem(trial: AccessTrial, seed: int) -> str | None:
    """Why what the run did not show may nevertheless have been."""
    if not trial.run.record.drained:
        return f"seed {seed}: not at rest within {DRAIN_S:g} s"
    verdict = trial.verdict
    return f"seed {seed}: {'; '.join(verdict.reasons)}" if verdict and verdict.valid == "unknown" else None
