"""The ablation table: what fails when one safety mechanism is switched off, beside the same runs with none off.

After the ablations of jobqueue by simloop (failures per 1,000 seeds with each mechanism off).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.order.properties import FORBIDDEN
from zonelab.analysis.message_classes import FORBIDDEN_DEFAULT, MessageClass
from zonelab.analysis.observation import Observation
from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.scenarios.fault_draws.fault_classes import FaultClass, classes_of, scenario_of_class
from zonelab.scenarios.run.trial import attempt
from zonelab.studies.guarantees.ablation_costs import Cost, costs_of
from zonelab.studies.guarantees.mechanisms import (
    ENGINE,
    ORDERED,
    PIPELINED,
    Ablation,
    ClusterMechanism,
    Mechanism,
    mechanisms_of,
)
from zonelab.studies.guarantees.paired import Conditions, PairedStudy, Pairs, RowResult

TOGETHER: tuple[tuple[Mechanism, ...], ...] = (
    (DynoMechanism.LEASE_NX, DynoMechanism.REMOVE_CHECK),
    (Hardening.LEASE_HEARTBEAT, Hardening.DELIVERY_TOKENS),
)
"""Rows of dyno-queues of two, since each mechanism of them covers for most of what the other one prevents."""

WATCHED: tuple[CaseClass, ...] = (*FORBIDDEN_DEFAULT, MessageClass.ZOMBIE_ACK, MessageClass.ORPHAN)
"""Hardened mode promises that no late ack succeeds; nobody forbids it to the original. Orphans are forbidden where
producers of V1 crash."""

_DELIVERIES, _DELIVERED = "deliveries", "delivered"


def _at_both(fault_class: FaultClass) -> tuple[Conditions, ...]:
    return Conditions(fault_class, Level.DC_ONE), Conditions(fault_class, Level.DC_QUORUM)


def _at_quorum(*fault_classes: FaultClass) -> tuple[Conditions, ...]:
    return tuple(Conditions(fault_class, Level.DC_QUORUM) for fault_class in fault_classes)


WHERE: Mapping[Mechanism, tuple[Conditions, ...]] = {
    DynoMechanism.UNACK_HANDLER: _at_both(FaultClass.CONSUMER_CRASH),
    DynoMechanism.LEASE_NX: _at_quorum(FaultClass.LAG_HEAVY, FaultClass.WORK_OVERLONG, FaultClass.CRASH_OVERLONG),
    DynoMechanism.REMOVE_CHECK: _at_quorum(FaultClass.LAG_HEAVY, FaultClass.WORK_OVERLONG, FaultClass.CRASH_OVERLONG),
    DynoMechanism.LEASE_BEFORE_REMOVE: _at_both(FaultClass.CONSUMER_CRASH),
    DynoMechanism.REQUEUE_BEFORE_UNLEASE: (Conditions(FaultClass.CRASH_OVERLONG, Level.DC_ONE),),
    DynoMechanism.ACK_LEASE_FIRST: _at_both(FaultClass.WORK_OVERLONG),
    DynoMechanism.PAYLOAD_BEFORE_ID: (Conditions(FaultClass.ZONE_PAUSED, Level.DC_ONE),),
    DynoMechanism.QUORUM_PAYLOAD_READ: _at_quorum(FaultClass.ZONE_KILLED_KEEP),
    DynoMechanism.DUE_CHECK: _at_both(FaultClass.NONE),
    DynoMechanism.LEASE_END_CHECK: _at_both(FaultClass.WORK_OVERLONG),
    ClusterMechanism.WARM_RESTART: _at_both(FaultClass.ZONE_KILLED_WARM),
    ClusterMechanism.HINTED_HANDOFF: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.CUT_DROP),
    Hardening.DELIVERY_TOKENS: _at_quorum(FaultClass.WORK_OVERLONG, FaultClass.CRASH_OVERLONG),
    Hardening.LEASE_PROOF: _at_quorum(FaultClass.ZONE_KILLED_KEEP),
    Hardening.TOMBSTONES: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.CUT_DROP, FaultClass.LAG_HEAVY),
    Hardening.ANTI_ENTROPY: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.ZONE_WIPED, FaultClass.CUT_DROP),
    Hardening.HEAD_OF_LINE_REPAIR: _at_quorum(FaultClass.ZONE_KILLED_KEEP, FaultClass.CUT_DROP),
    Hardening.LEASE_HEARTBEAT: _at_quorum(FaultClass.WORK_OVERLONG),
    Hardening.SHARD_TAKEOVER: _at_quorum(FaultClass.ZONE_UNSERVED),
    Hardening.IDEMPOTENT_PUSH: _at_quorum(FaultClass.LINKS_DUPLICATE),
    Hardening.ORPHAN_SWEEPER: _at_quorum(FaultClass.V1_PRODUCERS_CRASH),
    Hardening.DEAD_LETTER: _at_quorum(FaultClass.POISON),
    Hardening.PRIORITY_ORDER: _at_quorum(FaultClass.ZONE_UNSERVED, FaultClass.ZONE_PAUSED_LONG),
    Hardening.CLOCK_MARGIN: _at_quorum(FaultClass.ANY_OF_ONE_ZONE),
    Fencing.MAJORITY_DECISIONS: (
        Conditions(FaultClass.CUT_DROP, Level.DC_ONE),
        Conditions(FaultClass.LOSS_AND_TAKEOVER, Level.DC_ONE),
    ),
    Fencing.ADOPTION: _at_quorum(FaultClass.ANY_OF_ONE_ZONE, FaultClass.LOSS_AND_TAKEOVER),
    Fencing.ORDERED_WRITES: _at_quorum(FaultClass.ANY_OF_ONE_ZONE),
    Fencing.ONE_WRITER: _at_quorum(FaultClass.CUT_HOLD),
    Fencing.PROVEN_ENTRIES: _at_quorum(FaultClass.LOSS_AND_TAKEOVER),
    Fencing.ADMISSION: _at_quorum(FaultClass.LOSS_AND_TAKEOVER),
    Fencing.STORED_ATTEMPTS: _at_quorum(FaultClass.CRASH_OVERLONG),
    Fencing.DRAINED_RELEASE: _at_quorum(FaultClass.CRASH_OVERLONG),
    Fencing.LEASE_MARGIN: _at_quorum(FaultClass.CLOCKS_WRONG),
}
"""The faults that a mechanism is against; under others it has little to do, and its runs would tell little."""


def watched(engine: str) -> tuple[CaseClass, ...]:
    """Return what runs of ``engine`` are looked at for."""
    return (*WATCHED, *FORBIDDEN) if engine == ORDERED else WATCHED


def each_off(engine: str) -> tuple[Ablation, ...]:
    """Return the rows of ``engine``: each mechanism off that its runs can show something of."""
    together = TOGETHER if engine in (ENGINE, PIPELINED) else ()
    rows = (*((one,) for one in mechanisms_of(engine)), *together)
    ablations = [Ablation.of(*off, engine=engine) for off in rows]
    return tuple(ablation for ablation in ablations if conditions_of(ablation))


def conditions_of(ablation: Ablation) -> tuple[Conditions, ...]:
    """Those that the engine can be put under."""
    classes = classes_of(ablation.engine)
    found = dict.fromkeys(conditions for mechanism in ablation.off for conditions in WHERE[mechanism])
    return tuple(conditions for conditions in found if conditions.fault_class in classes)


@dataclass(frozen=True, slots=True)
class AblationRun:
    """A ``PairedRun`` without the mechanisms of ``ablation``; its twin has them."""

    ablation: Ablation
    conditions: Conditions
    seed: int

    @property
    def row(self) -> Ablation:
        return self.ablation

    @property
    def setting(self) -> str:
        ablation = self.ablation
        options = f" with {' + '.join(ablation.on)}" if ablation.on else ""
        return f"{ablation.engine} {ablation.mode}, {ablation.name}{options}, {self.conditions.name}"

    @property
    def twin(self) -> "AblationRun":
        return AblationRun(self.ablation.twin, self.conditions, self.seed)

    def measure(self) -> Observation:
        """Make the run in simulation, and tell what it broke and what it cost."""
        conditions, mode = self.conditions, self.ablation.mode
        drawn = scenario_of_class(
            conditions.fault_class, level=conditions.level, mode=mode, seed=self.seed, engine=self.ablation.engine
        )
        trial = attempt(self.ablation.scenario(drawn), make_queue=self.ablation.make_queue)
        observation, totals = trial.observation(), trial.verdict.totals if trial.verdict is not None else None
        numbers = {_DELIVERIES: totals.deliveries, _DELIVERED: totals.delivered} if totals else {}
        seen = [str(name) for name in watched(self.ablation.engine) if name in observation.violated]
        return replace(
            observation,
            counts={name: observation.counts[name] for name in seen},
            numbers={**numbers, **costs_of(trial)},
        )


def ablation_pairs(
    ablations: Sequence[Ablation], *, under: Sequence[Conditions] = (), seeds: Sequence[int]
) -> Pairs[Ablation]:
    """Return each of ``ablations`` with ``seeds``, and these with none off.

    The seeds of an ablation are dealt out to ``under``, or to the conditions of ``WHERE`` if none are given.
    """
    tests = max((len(watched(one.engine)) for one in ablations), default=0) + len(Cost)
    name = next((one.engine for one in ablations), ENGINE)
    return Pairs(name=name, rows=ablations, runs=_runs(ablations, under, seeds), tests=tests)


def _runs(ablations: Sequence[Ablation], under: Sequence[Conditions], seeds: Sequence[int]) -> list[AblationRun]:
    """Every twin once, before the first run that is compared with it."""
    ordered: dict[AblationRun, None] = {}
    for seed in seeds:
        for ablation in ablations:
            chosen = under or conditions_of(ablation)
            run = AblationRun(ablation, chosen[seed % len(chosen)], seed)
            ordered |= {run.twin: None, run: None}
    return list(ordered)


def detected(study: PairedStudy[Ablation], ablation: Ablation) -> tuple[CaseClass, ...]:
    """The classes that have more cases than with none off, oftener than chance explains."""
    return study.more(ablation, watched(ablation.engine))


def dearer(study: PairedStudy[Ablation], ablation: Ablation) -> tuple[Cost, ...]:
    """The costs that are higher than with none off, oftener than chance explains."""
    return study.more(ablation, Cost)


def redelivered_per_1000(result: RowResult) -> tuple[float, float]:
    """Deliveries beyond the first, of 1,000 messages that were delivered at all: without the mechanism, and with it."""
    without, on = map(_extra_per_1000, (result.numbers, result.twin_numbers))
    return without, on


def _extra_per_1000(numbers: Mapping[str, float]) -> float:
    delivered = numbers.get(_DELIVERED, 0)
    return 1000 * (numbers.get(_DELIVERIES, 0) - delivered) / max(1, delivered)
