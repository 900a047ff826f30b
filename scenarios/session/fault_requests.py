"""What can be asked of a cluster that is up: faults, by kind and target."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from cluster.admin.links import LinkState
from cluster.links.lag_text import parse_lag
from cluster.links.link import Cut
from cluster.zone import Restart
from scenarios.faults.fault import Fault
from scenarios.faults.links import Clog, CutFault, DuplicateFault, EachLink, LagFault, LossFault
from scenarios.faults.programs import CoordinatorCrash
from scenarios.faults.zones import Kill, Pause, SlowZone


class FaultKind(StrEnum):
    CUT = "cut"  # links are cut and their connections reset
    HOLD = "hold"  # links are black holes; what was sent arrives when they are mended
    LAG = "lag"
    LOSS = "loss"
    DUPLICATE = "duplicate"
    SLOW = "slow"  # a zone's server runs for a share of the time only
    PAUSE = "pause"  # SIGSTOP of a zone's server
    KILL = "kill"  # SIGKILL of a zone's server
    COORDINATOR_PAUSE = "coordinator pause"  # SIGSTOP, and the others' links to that zone stand still
    COORDINATOR_KILL = "coordinator kill"  # SIGKILL, and the others' links to that zone are cut
    PORT_PAUSE = "port pause"  # SIGSTOP of a zone's coordinator; the others still reach the zone's server
    PORT_KILL = "port kill"

    @property
    def fault_class(self) -> type[Fault]:
        """The kind of a scenario's faults that does the same, or for a port what comes nearest to it."""
        return _CLASSES[self]

    @property
    def of_links(self) -> bool:
        return issubclass(self.fault_class, EachLink)

    @property
    def of_coordinator(self) -> bool:
        return self.fault_class is CoordinatorCrash

    @property
    def cut(self) -> Cut | None:
        """What it does to the links of the node whose process it is on.

        Coordinators here ask the other zones' servers themselves, while Dynomite passes all of that through the zone's
        process (``dyn_dnode_peer.c``), so for the others the zone goes with it.
        """
        return {FaultKind.COORDINATOR_PAUSE: Cut.FREEZE, FaultKind.COORDINATOR_KILL: Cut.DROP}.get(self)


_CLASSES: Mapping[FaultKind, type[Fault]] = {
    FaultKind.CUT: CutFault,
    FaultKind.HOLD: Clog,
    FaultKind.LAG: LagFault,
    FaultKind.LOSS: LossFault,
    FaultKind.DUPLICATE: DuplicateFault,
    FaultKind.SLOW: SlowZone,
    FaultKind.PAUSE: Pause,
    FaultKind.KILL: Kill,
    FaultKind.COORDINATOR_PAUSE: CoordinatorCrash,
    FaultKind.COORDINATOR_KILL: CoordinatorCrash,
    FaultKind.PORT_PAUSE: CoordinatorCrash,
    FaultKind.PORT_KILL: CoordinatorCrash,
}
_NEEDS = {FaultKind.LAG: "lag", FaultKind.LOSS: "share", FaultKind.DUPLICATE: "share", FaultKind.SLOW: "factor"}


def _lag(text: str) -> str:
    parse_lag(text)
    return text


class FaultRequest(BaseModel):
    """``for_s``: how long, None until somebody ends it. ``restart``: with which data a killed server comes back.

    ``factor``: a slow server runs for one part in ``factor`` of the time. ``share``: of messages.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: FaultKind
    target: str
    for_s: float | None = Field(default=None, gt=0, le=7 * 86_400)
    lag: Annotated[str, AfterValidator(_lag)] | None = None
    share: float | None = Field(default=None, gt=0, lt=1)
    after_ms: float = Field(default=0.0, ge=0, le=600_000)
    factor: float | None = Field(default=None, gt=1, le=100)
    restart: Restart = Restart.KEEP

    @model_validator(mode="after")
    def _complete(self) -> "FaultRequest":
        needed = _NEEDS.get(self.kind)
        for name in ("lag", "share", "factor"):
            if (getattr(self, name) is not None) is not (name == needed):
                raise ValueError(f"{self.kind} {'needs' if name == needed else 'takes no'} {name}")
        return self

    @property
    def fault(self) -> Fault:
        """The fault of a scenario that does the same; without times and target, which are written otherwise there."""
        extent = self.model_dump(include={"lag", "share", "after_ms", "factor"}, exclude_none=True)
        return self.kind.fault_class.model_construct(**extent)

    @property
    def label(self) -> str:
        """What and where, and how much."""
        return f"{self.kind} {self.target} {self.fault.amount}".rstrip()

    def on(self, state: LinkState) -> LinkState:
        """``state`` of a link with this fault on it."""
        fault = self.fault
        changes = fault.state if isinstance(fault, EachLink) else {"cut": self.kind.cut}
        return state.model_copy(update=changes)
