"""Effect of each option of replication and of clients: registers and sets under faults, with it and without."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import Any

from zonelab.analysis.checkers.consistency.anomalies import FORBIDDEN_OF, Anomaly
from zonelab.analysis.observation import Observation
from zonelab.analysis.workloads import WorkloadKind
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.options.versions.settings import AntiEntropySettings
from zonelab.cluster.votes.levels import VoteBy
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.scenarios.fault_draws.loads import LOAD_S
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec import scenario as spec
from zonelab.scenarios.spec.clients import Clients
from zonelab.scenarios.spec.replication import Replication
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.guarantees.paired import Conditions, PairedStudy, Pairs

KEYS = 3
RATE_PER_S = 40.0
DRAIN_S = 20.0
INTERVAL_MS = 100
BACK_AFTER_MS = 2_000.0
"""A fourth of what Dyno's takes, as a run is short: 200 ms at the time factor of a tenth."""

MIXES = {WorkloadKind.REGISTER: {"read": 5.0, "write": 4.0}, WorkloadKind.SET: {"add": 7.0, "members": 3.0}}

WATCHED = tuple(dict.fromkeys((*FORBIDDEN_OF[WorkloadKind.REGISTER], *FORBIDDEN_OF[WorkloadKind.SET])))

BEGUN, ANSWERED = "operations begun", "operations answered"
"""Numbers of a run; all its other numbers are of what the options have done."""

TESTS = 2 * (len(WATCHED) + 1)
"""Tests of each row: more, or fewer, cases of each class, and operations that are answered."""

_FAULTS = (
    FaultClass.ZONE_PAUSED_LONG,
    FaultClass.ZONE_KILLED_KEEP,
    FaultClass.ZONE_WIPED,
    FaultClass.CUT_HOLD,
    FaultClass.CUT_DROP,
)

UNDER = (
    Conditions(FaultClass.LAG_HEAVY, workload=WorkloadKind.REGISTER),
    *(Conditions(fault_class, workload=WorkloadKind.REGISTER) for fault_class in _FAULTS),
    Conditions(FaultClass.CLOCKS_WRONG, workload=WorkloadKind.REGISTER),
    Conditions(FaultClass.COORDINATOR_LOST, workload=WorkloadKind.REGISTER),
    *(Conditions(fault_class, workload=WorkloadKind.SET) for fault_class in _FAULTS),
    Conditions(FaultClass.COORDINATOR_LOST, workload=WorkloadKind.SET),
)


class Option(StrEnum):
    READ_REPAIR = "read-repair"
    HINTED_HANDOFF = "hinted-handoff"
    ANTI_ENTROPY = "anti-entropy"
    VERSION_VOTES = "version-votes"
    CLIENT_FAILOVER = "client-failover"
    CLIENT_RETRIES = "client-retries"


SETTINGS: Mapping[Option, Mapping[str, Any]] = {
    Option.READ_REPAIR: {"read_repair": True},
    Option.HINTED_HANDOFF: {"hinted_handoff": HandoffSettings()},
    Option.ANTI_ENTROPY: {"anti_entropy": AntiEntropySettings(interval_ms=INTERVAL_MS)},
    Option.VERSION_VOTES: {"votes": VoteBy.VERSION},
}
"""Settings of the replication layer."""

POLICIES: Mapping[Option, Mapping[str, Any]] = {
    Option.CLIENT_FAILOVER: {"failover": True, "back_after_ms": BACK_AFTER_MS},
    Option.CLIENT_RETRIES: {"retries": 1},
}
"""Settings of clients."""

ROWS: tuple[tuple[Option, ...], ...] = (
    (),
    *((option,) for option in SETTINGS),
    (Option.CLIENT_FAILOVER,),
    (Option.CLIENT_FAILOVER, Option.CLIENT_RETRIES),
    (Option.ANTI_ENTROPY, Option.VERSION_VOTES),
    (Option.HINTED_HANDOFF, Option.ANTI_ENTROPY, Option.VERSION_VOTES),
)
"""Which options are on. The first row has none; read repair keeps versions of its own and goes with no other row."""


def scenario_of(options: Sequence[Option], conditions: Conditions, *, seed: int) -> Scenario:
    """The run of ``seed``: clients in three zones use a few keys while the faults of the class happen."""
    workload = conditions.workload
    assert workload is not None, "options are tried with clients of registers and sets"
    drawn = scenario_of_class(conditions.fault_class, level=conditions.level, mode=EngineMode.DEFAULT, seed=seed)
    settings, policy = (
        {name: value for option in options for name, value in table.get(option, {}).items()}
        for table in (SETTINGS, POLICIES)
    )
    return Scenario(
        name=f"{conditions.fault_class}-{workload}",
        about=f"{workload}s at {conditions.level} with {', '.join(options) or 'no option'}; drawn by seed {seed}",
        arm=Arm.SIM,
        seed=seed,
        level=conditions.level,
        links=drawn.links,
        replication=Replication(**settings),
        clients=Clients(**policy),
        load=spec.Load(duration_s=LOAD_S, rate_per_s=RATE_PER_S),
        workload=spec.Workload(kind=workload, keys=KEYS, mix=MIXES[workload]),
        faults=drawn.faults,
        drain=spec.Drain(bound_s=DRAIN_S),
    )


Cell = tuple[tuple[Option, ...], Conditions]


@dataclass(frozen=True, slots=True)
class OptionRun:
    """A ``PairedRun`` with ``options`` on; its twin has none of them."""

    options: tuple[Option, ...]
    conditions: Conditions
    seed: int

    @property
    def row(self) -> Cell:
        return self.options, self.conditions

    @property
    def setting(self) -> str:
        return f"{' + '.join(self.options) or 'no option'}, {self.conditions.name}"

    @property
    def twin(self) -> "OptionRun":
        return OptionRun((), self.conditions, self.seed)

    def measure(self) -> Observation:
        """Make the run in simulation, and tell what it broke and what the options counted."""
        trial = attempt(scenario_of(self.options, self.conditions, seed=self.seed))
        numbers: Counter[str] = Counter()
        for statistics in trial.run.record.coordinators.values():
            numbers.update(statistics["options"])
        for counted in trial.run.record.clients.values():
            numbers.update({f"client {name.replace('_', '-')}": count for name, count in counted.items()})
        observation = trial.observation()
        if trial.verdict is None:
            return replace(observation, numbers=dict(numbers))
        operations = trial.verdict.consistency.operations.values()
        numbers[BEGUN] = sum(sum(outcomes.values()) for outcomes in operations)
        numbers[ANSWERED] = sum(outcomes.get("ok", 0) for outcomes in operations)
        counts = {str(name): observation.counts[name] for name in WATCHED if name in observation.counts}
        problem = observation.problem if trial.run.record.drained else f"not at rest within {DRAIN_S:g} s"
        return replace(observation, counts=counts, numbers=dict(numbers), problem=problem)


def option_pairs(
    *, seeds: Sequence[int], rows: Sequence[tuple[Option, ...]] = ROWS, under: Sequence[Conditions] = UNDER
) -> Pairs[Cell]:
    """Return every row, of which the first has no option, with ``seeds`` under all conditions."""
    cells = list(product(rows, under))
    all_runs = [OptionRun(row, conditions, seed) for seed in seeds for row, conditions in cells]
    return Pairs(name="options", rows=cells, runs=all_runs, tests=TESTS)


def changed(study: PairedStudy[Cell], cell: Cell) -> tuple[tuple[Anomaly, ...], tuple[Anomaly, ...]]:
    """The classes with fewer cases than without options, and those with more, oftener than chance explains."""
    return study.fewer(cell, WATCHED), study.more(cell, WATCHED)


def answers(study: PairedStudy[Cell], cell: Cell) -> str:
    """Return whether ``more`` operations, or ``fewer``, are answered than without options, oftener than
    chance explains.
    """
    found = {"more": study.more(cell, (ANSWERED,)), "fewer": study.fewer(cell, (ANSWERED,))}
    return next((side for side, names in found.items() if names), "")
