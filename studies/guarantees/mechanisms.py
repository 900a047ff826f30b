"""Safety mechanisms by name, and queues without them."""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.testbed import Testbed
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.v2.settings import MECHANISMS
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.scenarios.errors import did_you_mean
from zonelab.scenarios.fault_draws.fault_classes import EngineMode
from zonelab.scenarios.faults.zones import Kill
from zonelab.scenarios.queues.under_test import QueueUnderTest
from zonelab.scenarios.spec.engines import shipped
from zonelab.scenarios.spec.scenario import Checks, Scenario

ENGINE, PIPELINED = "dyno", "dyno-v2"
ORDERED = "fifo"
"""The engine whose mode fenced is made of what ``Fencing`` names."""


class ClusterMechanism(StrEnum):
    """A mechanism of the servers or of the replication layer, which a scenario sets and not a queue."""

    WARM_RESTART = "warm-restart"
    HINTED_HANDOFF = "hinted-handoff"


Mechanism = DynoMechanism | ClusterMechanism | Hardening | Fencing

OPTIONS = (ClusterMechanism.HINTED_HANDOFF,)
"""Off unless a scenario switches them on; the runs that an ablation of one is compared with have it on."""

_OF_ENGINE: Mapping[str, tuple[Mechanism, ...]] = {
    ENGINE: (*DynoMechanism, *ClusterMechanism, *Hardening),
    PIPELINED: (*MECHANISMS, *ClusterMechanism, *Hardening),
    ORDERED: tuple(Fencing),
}


def mechanisms_of(engine: str) -> tuple[Mechanism, ...]:
    """Return what ``engine`` can be tried without; hardened mode is the same in every engine that has it."""
    return _OF_ENGINE.get(engine, tuple(Hardening))


WITHOUT: Mapping[Mechanism, str] = {
    DynoMechanism.UNACK_HANDLER: "nobody looks for leases that have ended",
    DynoMechanism.LEASE_NX: "pop writes its lease over any other and does not ask whether there was one",
    DynoMechanism.REMOVE_CHECK: "pop does not ask whether its removal from the waiting set found anything",
    DynoMechanism.LEASE_BEFORE_REMOVE: "pop removes the id from the waiting set before it writes the lease",
    DynoMechanism.REQUEUE_BEFORE_UNLEASE: "the unack handler removes the lease before it lists the id as waiting",
    DynoMechanism.ACK_LEASE_FIRST: "ack deletes the payload before it removes the lease",
    DynoMechanism.PAYLOAD_BEFORE_ID: "push lists the id before it stores the payload",
    DynoMechanism.QUORUM_PAYLOAD_READ: "the payload is read from the own zone only",
    DynoMechanism.DUE_CHECK: "pop takes what is not due yet",
    DynoMechanism.LEASE_END_CHECK: "the unack handler takes leases that have not ended",
    ClusterMechanism.WARM_RESTART: "a zone that was to come back with a live zone's data comes back with its own",
    ClusterMechanism.HINTED_HANDOFF: "what a zone misses while it is away is kept for it by nobody, as in Dynomite",
    Hardening.DELIVERY_TOKENS: "an ack ends whatever lease there is",
    Hardening.LEASE_PROOF: "leases and acks are decided at the level of the queue, and what a vote says is believed",
    Hardening.TOMBSTONES: "an ack leaves nothing behind",
    Hardening.ANTI_ENTROPY: "nobody compares the zones",
    Hardening.HEAD_OF_LINE_REPAIR: "what blocks a shard waits for the next round of comparing, or the end of its lease",
    Hardening.LEASE_HEARTBEAT: "a lease ends though its consumer is at work",
    Hardening.SHARD_TAKEOVER: "a shard is served by its own zone only",
    Hardening.IDEMPOTENT_PUSH: "a push lists its message whatever is known of it",
    Hardening.ORPHAN_SWEEPER: "a payload without record stays as it is",
    Hardening.DEAD_LETTER: "a message is delivered without limit",
    Hardening.PRIORITY_ORDER: "due messages are served in the order of their due times, as in the original",
    Hardening.CLOCK_MARGIN: "a lease counts as ended as soon as the reader's clock says so",
    Fencing.MAJORITY_DECISIONS: "what is decided goes at the level of the queue, and what a vote says is believed",
    Fencing.ADOPTION: "a new owner goes on from what one zone has, and writes nothing back",
    Fencing.ORDERED_WRITES: "a zone takes whatever state comes",
    Fencing.ONE_WRITER: "whoever has a partition gives offsets, and nobody is refused",
    Fencing.PROVEN_ENTRIES: "a record is handed out before two zones have it in the log",
    Fencing.ADMISSION: "every zone votes, whatever happened to it",
    Fencing.STORED_ATTEMPTS: "failures are counted in the memory of a member",
    Fencing.DRAINED_RELEASE: "a partition is given back while its listener works",
    Fencing.LEASE_MARGIN: "a lease counts as ended as soon as the reader's clock says so",
}

NOT_NEEDED: Mapping[Mechanism, str] = {
    DynoMechanism.LEASE_END_CHECK: (
        "the handler makes what it takes due at the end of its lease, and what is due is served at most 1 ms early, so "
        "that is all that a lease can lose; the cost is refused acks and many more second deliveries"
    ),
    DynoMechanism.REMOVE_CHECK: (
        "the lease with NX alone decides between two consumers; the check matters only if another consumer took and "
        "acknowledged the message between the range read and the lease, and its payload is not deleted yet"
    ),
    Hardening.HEAD_OF_LINE_REPAIR: (
        "the next round of comparing mends the same, and a lease that nobody won ends by itself; the cost is lateness"
    ),
    Hardening.SHARD_TAKEOVER: "the zone's consumers come back before the run ends; the cost is lateness",
    Hardening.LEASE_HEARTBEAT: "a lease that ends may be given to another; the cost is work that is done twice",
    Hardening.CLOCK_MARGIN: (
        "consumers of a shard share the clock of their zone, unless another zone has taken the shard over; the unit "
        "tests of the engine have two clocks"
    ),
    Hardening.DELIVERY_TOKENS: "with the heartbeat on hardly a lease ends; see the row without both",
    Hardening.PRIORITY_ORDER: "the order of service is no class of violations; the cost is urgent messages overtaken",
}
"""Why nothing, or next to nothing, need fail without it."""

_MODES: Mapping[type[Mechanism], EngineMode] = {Hardening: EngineMode.HARDENED, Fencing: EngineMode.FENCED}
"""Of the mechanisms that the default mode does not have."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """A queue, and the runs it is in, without the mechanisms ``off``. ``make_queue`` can be pickled.

    ``mode``, ``engine``: the queue that they are switched off in. ``on``: options that are switched on.
    """

    off: tuple[Mechanism, ...] = ()
    mode: EngineMode = EngineMode.DEFAULT
    on: tuple[Mechanism, ...] = ()
    engine: str = ENGINE

    @classmethod
    def of(cls, *off: Mechanism, engine: str = ENGINE) -> "Ablation":
        """Return the ablation of ``off``. Raises ``ValueError`` if no queue of ``engine`` has all of them."""
        known = mechanisms_of(engine)
        if any(mechanism not in known for mechanism in off):
            raise ValueError(f"got {', '.join(off)}; accepted with engine {engine}: {', '.join(known)}")
        modes = dict.fromkeys(_MODES.get(type(mechanism), EngineMode.DEFAULT) for mechanism in off)
        if len(modes) > 1:
            raise ValueError(f"got {', '.join(off)}; accepted: mechanisms of hardened mode, or others, not both")
        return cls(off, next(iter(modes), EngineMode.DEFAULT), engine=engine)

    @property
    def name(self) -> str:
        return " + ".join(self.off) or "none off"

    @property
    def twin(self) -> "Ablation":
        """What its runs are compared with: the same with nothing off."""
        options = tuple(option for option in self.off if option in OPTIONS)
        return replace(self, off=(), on=options) if self.off else self

    def scenario(self, scenario: Scenario) -> Scenario:
        """Return ``scenario`` as it is run without the mechanisms: options, forbidden classes, restarts of zones."""
        changes: dict[str, object] = {}
        if ClusterMechanism.HINTED_HANDOFF in self.on:
            changes["replication"] = scenario.replication.model_copy(update={"hinted_handoff": HandoffSettings()})
        if self.mode is EngineMode.HARDENED:
            forbid = (*scenario.checks.forbid, MessageClass.ZOMBIE_ACK)
            changes["checks"] = Checks(forbid=forbid, late_ms=scenario.checks.late_ms)
        if ClusterMechanism.WARM_RESTART in self.off:
            changes["faults"] = tuple(
                fault.model_copy(update={"restart": "keep"}) if isinstance(fault, Kill) else fault
                for fault in scenario.faults
            )
        return scenario.model_copy(update=changes)

    def make_queue(self, testbed: Testbed, scenario: Scenario) -> QueueUnderTest:
        """Return the queue without the mechanisms."""
        without = [mechanism for mechanism in self.off if not isinstance(mechanism, ClusterMechanism)]
        made: QueueUnderTest = pkgutil.resolve_name(shipped(scenario.queue).make)(testbed, scenario, without=without)
        return made


def parse_ablation(text: str, *, engine: str = ENGINE) -> Ablation:
    """Return the ablation of ``lease-nx``, say, or ``lease-nx,remove-check``. Raises ``ValueError``."""
    by_name = {str(mechanism): mechanism for mechanism in mechanisms_of(engine)}
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise ValueError(f"got {unknown[0]!r}{did_you_mean(unknown[0], by_name)}; accepted: {', '.join(by_name)}")
    return Ablation.of(*(by_name[name] for name in names), engine=engine)
