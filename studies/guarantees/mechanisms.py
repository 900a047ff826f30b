"""Safety mechanisms by name, and queues without them."""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.near_names import did_you_mean
from zonelab.cluster.options.hinted_handoff import HandoffSettings
from zonelab.cluster.testbed import Testbed
from zonelab.engine.dyno.hardened import Hardening
from zonelab.engine.dyno.mechanisms import DynoMechanism
from zonelab.engine.dyno.v2.settings import MECHANISMS
from zonelab.engine.fifo.fenced.mechanisms import Fencing
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


_MODES: Mapping[type[Mechanism], EngineMode] = {Hardening: EngineMode.HARDENED, Fencing: EngineMode.FENCED}
"""Modes of the mechanisms that the default mode does not have."""


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
        """Return what its runs are compared with: the same with nothing off."""
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
