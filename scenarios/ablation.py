"""The ablation table: what fails when one safety mechanism is switched off, beside the same runs with none off.

After the ablations of jobqueue by simloop (failures per 1,000 seeds with each mechanism off). Every run has a twin with
the mechanism on, of the same seed, so the two differ by the mechanism alone, and a sign test over the twins tells
detection from chance also under faults that break the queue anyway.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from scipy import special

from analysis.checkers.verdict import FORBIDDEN_DEFAULT, MessageClass
from cluster.levels import Level
from scenarios.ablated import Ablation
from scenarios.fault_classes import FaultClass, scenario_of_class
from scenarios.matrix import Shown
from scenarios.mechanisms import Mechanism
from scenarios.parallel import results
from scenarios.trial import attempt

CONFIDENCE = 0.95
"""That no mechanism of a whole table is called detected by chance (Bonferroni over its rows and classes)."""

FAULTS = (
    FaultClass.LAG_HEAVY,
    FaultClass.WORK_OVERLONG,
    FaultClass.CONSUMER_CRASH,
    FaultClass.CRASH_OVERLONG,
    FaultClass.ZONE_PAUSED,
    FaultClass.ZONE_KILLED_WARM,
    FaultClass.ZONE_KILLED_KEEP,
)
LEVELS = (Level.DC_ONE, Level.DC_QUORUM)

NONE_OFF = Ablation()
EACH_OFF = (
    *(Ablation((mechanism,)) for mechanism in Mechanism),
    Ablation((Mechanism.LEASE_NX, Mechanism.REMOVE_CHECK)),
)
"""The last one, since each of these two covers for most of what the other one prevents."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an ablation is tried."""

    fault_class: FaultClass
    level: Level


PLACES = tuple(Place(fault_class, level) for fault_class, level in product(FAULTS, LEVELS))


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One run: what it showed, and what it cost."""

    shown: Shown
    deliveries: int
    delivered: int


@dataclass(slots=True)
class AblationResult:
    """The runs of one ablation against their twins.

    ``failing``: runs by place and violated class. ``worse`` and ``better``: twins by class, with more and with fewer
    cases than with none off.
    """

    runs: int = 0
    failed_runs: int = 0
    deliveries: int = 0
    delivered: int = 0
    problems: dict[int, str] = field(default_factory=dict)
    failing: dict[MessageClass, dict[Place, int]] = field(default_factory=dict)
    worse: dict[MessageClass, int] = field(default_factory=dict)
    better: dict[MessageClass, int] = field(default_factory=dict)

    def add(self, place: Place, measured: Measured, twin: Measured) -> None:
        shown, other = measured.shown, twin.shown
        self.runs += 1
        self.failed_runs += bool(shown.violated)
        self.deliveries += measured.deliveries
        self.delivered += measured.delivered
        if shown.problem is not None:
            self.problems[shown.seed] = shown.problem
        for name in FORBIDDEN_DEFAULT:
            mine, theirs = shown.violated.get(name, 0), other.violated.get(name, 0)
            if mine:
                places = self.failing.setdefault(name, {})
                places[place] = places.get(place, 0) + 1
            if mine != theirs:
                side = self.worse if mine > theirs else self.better
                side[name] = side.get(name, 0) + 1

    @property
    def extra_deliveries_per_1000(self) -> float:
        """Deliveries beyond the first, of 1,000 messages that were delivered at all."""
        return 1000 * (self.deliveries - self.delivered) / max(1, self.delivered)

    def failing_runs(self, name: MessageClass) -> int:
        return sum(self.failing.get(name, {}).values())

    def worst_place(self, name: MessageClass) -> Place:
        places = self.failing[name]
        return max(places, key=lambda place: places[place])


def sign_test(worse: int, better: int) -> float:
    """The chance of so many twins worse, or more, if the mechanism made no difference (one-sided sign test)."""
    return float(special.bdtrc(worse - 1, worse + better, 0.5)) if worse else 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Ablations:
    """``results`` begins with none off. ``complete`` is False if it was broken off."""

    results: Mapping[Ablation, AblationResult]
    complete: bool

    @property
    def runs(self) -> int:
        return sum(result.runs for result in self.results.values())

    def detected(self, ablation: Ablation) -> tuple[MessageClass, ...]:
        """The classes that occur more often than chance explains, and than with none off."""
        result = self.results[ablation]
        comparisons = max(1, len(self.results) - 1) * len(FORBIDDEN_DEFAULT)
        limit = (1 - CONFIDENCE) / comparisons
        return tuple(name for name in result.worse if sign_test(result.worse[name], result.better.get(name, 0)) < limit)


def ablate(
    ablations: Sequence[Ablation],
    *,
    places: Sequence[Place] = PLACES,
    runs: int,
    jobs: int,
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Ablations:
    """Run each of ``ablations``, and none off, with ``runs`` seeds in each of ``places``. Ctrl-C ends it.

    No two places share a seed, so that all twins are independent.
    """
    everything = (NONE_OFF, *ablations)
    seeded = [(place, turn * len(places) + index + 1) for turn in range(runs) for index, place in enumerate(places)]
    tasks = [(ablation, place, seed) for place, seed in seeded for ablation in everything]
    found = {ablation: AblationResult() for ablation in everything}
    done = 0
    try:
        with results(_run, tasks, jobs=jobs) as all_measured:
            for (ablation, place, _), measured in zip(tasks, all_measured, strict=True):
                if ablation == NONE_OFF:
                    twin = measured
                found[ablation].add(place, measured, twin)
                done += 1
                told(done, len(tasks))
    except KeyboardInterrupt:
        return Ablations(results=found, complete=False)
    return Ablations(results=found, complete=True)


def _run(task: tuple[Ablation, Place, int]) -> Measured:
    ablation, place, seed = task
    drawn = scenario_of_class(place.fault_class, level=place.level, compat=False, seed=seed)
    trial = attempt(ablation.scenario(drawn), make_queue=ablation.make_queue)
    totals = trial.verdict.totals if trial.verdict is not None else None
    return Measured(
        shown=Shown.of(trial),
        deliveries=totals.deliveries if totals else 0,
        delivered=totals.delivered if totals else 0,
    )
