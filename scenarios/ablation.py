"""The ablation table: what fails when one safety mechanism is switched off, beside the same runs with none off.

After the ablations of jobqueue by simloop (failures per 1,000 seeds with each mechanism off). Every run has a twin with
the mechanism on, of the same seed, so the two differ by the mechanism alone, and a sign test over the twins tells
detection from chance also under faults that break the queue anyway.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from scipy import special

from analysis.checkers.verdict import FORBIDDEN_DEFAULT, MessageClass
from cluster.votes.vote import Level
from scenarios.fault_draws.fault_classes import FaultClass, scenario_of_class
from scenarios.mechanisms import Mechanism
from scenarios.parallel import results
from scenarios.studies.ablated_queue import Ablation
from scenarios.studies.ablation_costs import Cost, costs_of
from scenarios.studies.matrix import Shown
from scenarios.trial import attempt

CONFIDENCE = 0.95
"""That no mechanism of a whole table is called detected by chance (Bonferroni over its rows and classes)."""

NONE_OFF = Ablation()
EACH_OFF = (
    *(Ablation.of(mechanism) for mechanism in Mechanism),
    Ablation.of(Mechanism.LEASE_NX, Mechanism.REMOVE_CHECK),
    Ablation.of(Mechanism.LEASE_HEARTBEAT, Mechanism.DELIVERY_TOKENS),
)
"""The last two, since each mechanism of them covers for most of what the other one prevents."""

WATCHED = (*FORBIDDEN_DEFAULT, MessageClass.ZOMBIE_ACK, MessageClass.ORPHAN)
"""Hardened mode promises that no late ack succeeds; nobody forbids it to the original. Orphans are forbidden where
producers of V1 crash."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an ablation is tried."""

    fault_class: FaultClass
    level: Level


def _at_both(fault_class: FaultClass) -> tuple[Place, ...]:
    return Place(fault_class, Level.DC_ONE), Place(fault_class, Level.DC_QUORUM)


def _at_quorum(*fault_classes: FaultClass) -> tuple[Place, ...]:
    return tuple(Place(fault_class, Level.DC_QUORUM) for fault_class in fault_classes)


WHERE: Mapping[Mechanism, tuple[Place, ...]] = {
    Mechanism.UNACK_HANDLER: _at_both(FaultClass.CONSUMER_CRASH),
    Mechanism.LEASE_NX: _at_quorum(FaultClass.LAG_HEAVY, FaultClass.WORK_OVERLONG, FaultClass.CRASH_OVERLONG),
    Mechanism.REMOVE_CHECK: _at_quorum(FaultClass.LAG_HEAVY, FaultClass.WORK_OVERLONG, FaultClass.CRASH_OVERLONG),
    Mechanism.LEASE_BEFORE_REMOVE: _at_both(FaultClass.CONSUMER_CRASH),
    Mechanism.REQUEUE_BEFORE_UNLEASE: (Place(FaultClass.CRASH_OVERLONG, Level.DC_ONE),),
    Mechanism.ACK_LEASE_FIRST: _at_both(FaultClass.WORK_OVERLONG),
    Mechanism.PAYLOAD_BEFORE_ID: (Place(FaultClass.ZONE_PAUSED, Level.DC_ONE),),
    Mechanism.QUORUM_PAYLOAD_READ: _at_quorum(FaultClass.ZONE_KILLED_KEEP),
    Mechanism.DUE_CHECK: _at_both(FaultClass.NONE),
    Mechanism.LEASE_END_CHECK: _at_both(FaultClass.WORK_OVERLONG),
    Mechanism.WARM_RESTART: _at_both(FaultClass.ZONE_KILLED_WARM),
    Mechanism.HINTED_HANDOFF: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.CUT_DROP),
    Mechanism.DELIVERY_TOKENS: _at_quorum(FaultClass.WORK_OVERLONG, FaultClass.CRASH_OVERLONG),
    Mechanism.LEASE_PROOF: _at_quorum(FaultClass.ZONE_KILLED_KEEP),
    Mechanism.TOMBSTONES: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.CUT_DROP, FaultClass.LAG_HEAVY),
    Mechanism.ANTI_ENTROPY: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.ZONE_WIPED, FaultClass.CUT_DROP),
    Mechanism.HEAD_OF_LINE_REPAIR: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.CUT_DROP),
    Mechanism.LEASE_HEARTBEAT: _at_quorum(FaultClass.WORK_OVERLONG),
    Mechanism.SHARD_TAKEOVER: _at_quorum(FaultClass.ZONE_UNSERVED),
    Mechanism.IDEMPOTENT_PUSH: _at_quorum(FaultClass.LINKS_DUPLICATE),
    Mechanism.ORPHAN_SWEEPER: _at_quorum(FaultClass.V1_PRODUCERS_CRASH),
    Mechanism.DEAD_LETTER: _at_quorum(FaultClass.POISON),
    Mechanism.PRIORITY_ORDER: _at_quorum(FaultClass.ZONE_UNSERVED, FaultClass.ZONE_PAUSED_LONG),
    Mechanism.CLOCK_MARGIN: _at_quorum(FaultClass.ANY_OF_ONE_ZONE),
}
"""The faults that a mechanism is against; under others it has little to do, and its runs would tell little."""


def places_of(ablation: Ablation) -> tuple[Place, ...]:
    return tuple(dict.fromkeys(place for mechanism in ablation.off for place in WHERE[mechanism]))


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One run: what it showed, and what it cost."""

    shown: Shown
    deliveries: int
    delivered: int
    costs: Mapping[Cost, float] = field(default_factory=dict)


@dataclass(slots=True)
class AblationResult:
    """The runs of one ablation against their twins, with none off; ``failed_twins`` of them failed, too.

    ``failing``: runs by place and violated class. ``worse`` and ``better``: twins by class or cost, with more and with
    less of it than with none off. ``costs``: sums, without the mechanisms and with them.
    """

    runs: int = 0
    failed_runs: int = 0
    failed_twins: int = 0
    deliveries: int = 0
    delivered: int = 0
    twin_deliveries: int = 0
    twin_delivered: int = 0
    costs: dict[Cost, tuple[float, float]] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    failing: dict[MessageClass, dict[Place, int]] = field(default_factory=dict)
    worse: dict[MessageClass | Cost, int] = field(default_factory=dict)
    better: dict[MessageClass | Cost, int] = field(default_factory=dict)

    def add(self, place: Place, measured: Measured, twin: Measured) -> None:
        shown, other = measured.shown, twin.shown
        self.runs += 1
        self.failed_runs += bool(shown.violated)
        self.failed_twins += bool(other.violated)
        self.deliveries += measured.deliveries
        self.delivered += measured.delivered
        self.twin_deliveries += twin.deliveries
        self.twin_delivered += twin.delivered
        if shown.problem is not None:
            self.problems[shown.seed] = shown.problem
        for name in WATCHED:
            mine, theirs = shown.violated.get(name, 0), other.violated.get(name, 0)
            if mine:
                places = self.failing.setdefault(name, {})
                places[place] = places.get(place, 0) + 1
            self._compare(name, mine, theirs)
        for cost in Cost:
            pair = measured.costs.get(cost, 0.0), twin.costs.get(cost, 0.0)
            self._compare(cost, *pair)
            before = self.costs.get(cost, (0.0, 0.0))
            self.costs[cost] = before[0] + pair[0], before[1] + pair[1]

    def _compare(self, name: MessageClass | Cost, mine: float, theirs: float) -> None:
        if mine != theirs:
            side = self.worse if mine > theirs else self.better
            side[name] = side.get(name, 0) + 1

    @property
    def redelivered_per_1000(self) -> float:
        """Deliveries beyond the first, of 1,000 messages that were delivered at all."""
        return _extra_per_1000(self.deliveries, self.delivered)

    @property
    def twins_redelivered_per_1000(self) -> float:
        return _extra_per_1000(self.twin_deliveries, self.twin_delivered)

    def mean(self, cost: Cost) -> tuple[float, float]:
        """Of a run, on average: without the mechanism, and with it."""
        without, on = self.costs.get(cost, (0.0, 0.0))
        runs = max(1, self.runs)
        return without / runs, on / runs

    def failing_runs(self, name: MessageClass) -> int:
        return sum(self.failing.get(name, {}).values())

    def worst_place(self, name: MessageClass) -> Place:
        places = self.failing[name]
        return max(places, key=lambda place: places[place])


def _extra_per_1000(deliveries: int, delivered: int) -> float:
    return 1000 * (deliveries - delivered) / max(1, delivered)


def sign_test(worse: int, better: int) -> float:
    """The chance of so many twins worse, or more, if the mechanism made no difference (one-sided sign test)."""
    return float(special.bdtrc(worse - 1, worse + better, 0.5)) if worse else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Ablations:
    """``complete`` is False if it was broken off. ``runs`` includes those with none off."""

    results: Mapping[Ablation, AblationResult]
    runs: int
    complete: bool

    def detected(self, ablation: Ablation) -> tuple[MessageClass, ...]:
        """The classes that have more cases than with none off, oftener than chance explains."""
        return tuple(name for name in WATCHED if self._shows(ablation, name))

    def dearer(self, ablation: Ablation) -> tuple[Cost, ...]:
        """The costs that are higher than with none off, oftener than chance explains."""
        return tuple(cost for cost in Cost if self._shows(ablation, cost))

    def _shows(self, ablation: Ablation, name: MessageClass | Cost) -> bool:
        result = self.results[ablation]
        limit = (1 - CONFIDENCE) / (len(self.results) * (len(WATCHED) + len(Cost)))
        return sign_test(result.worse.get(name, 0), result.better.get(name, 0)) < limit


def ablate(
    ablations: Sequence[Ablation],
    *,
    places: Sequence[Place] = (),
    runs: int,
    jobs: int,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Ablations:
    """Run each of ``ablations`` with ``runs`` seeds, and those seeds with none off. Ctrl-C ends it.

    The seeds of an ablation are dealt out to ``places``, or to those of ``WHERE`` if none is given.
    """
    tasks = _tasks(ablations, places, runs)
    found = {ablation: AblationResult() for ablation in ablations}
    twins: dict[_Task, Measured] = {}
    done = 0
    try:
        with results(_run, tasks, jobs=jobs) as all_measured:
            for (ablation, place, seed), measured in zip(tasks, all_measured, strict=True):
                if not ablation.off:
                    twins[ablation, place, seed] = measured
                else:
                    found[ablation].add(place, measured, twins[ablation.twin, place, seed])
                done += 1
                told(done, len(tasks))
    except KeyboardInterrupt:
        return Ablations(results=found, runs=done, complete=False)
    return Ablations(results=found, runs=done, complete=True)


_Task = tuple[Ablation, Place, int]


def _tasks(ablations: Sequence[Ablation], places: Sequence[Place], runs: int) -> list[_Task]:
    """Every twin once, before the first run that is compared with it."""
    tasks: dict[_Task, None] = {}
    for seed in range(1, runs + 1):
        for ablation in ablations:
            chosen = places or places_of(ablation)
            place = chosen[seed % len(chosen)]
            tasks[ablation.twin, place, seed] = None
            tasks[ablation, place, seed] = None
    return list(tasks)


def _run(task: _Task) -> Measured:
    ablation, place, seed = task
    drawn = scenario_of_class(place.fault_class, level=place.level, mode=ablation.mode, seed=seed)
    trial = attempt(ablation.scenario(drawn), make_queue=ablation.make_queue)
    totals = trial.verdict.totals if trial.verdict is not None else None
    return Measured(
        shown=Shown.of(trial),
        deliveries=totals.deliveries if totals else 0,
        delivered=totals.delivered if totals else 0,
        costs=costs_of(trial),
    )
