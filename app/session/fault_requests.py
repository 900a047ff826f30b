"""What can be asked of a cluster that is up: faults, by kind and target."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from zonelab.cluster.admin.links import LinkState
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.zone import Restart
from zonelab.scenarios.faults.fault import Fault
from zonelab.scenarios.faults.links import Clog, CutFault, DuplicateFault, EachLink, LagFault, LossFault
from zonelab.scenarios.faults.programs import CoordinatorCrash
from zonelab.scenarios.faults.zones import Kill, Memory, Pause, SlowZone


class FaultKind(StrEnum):
    """All kinds.

    ``fault_class``: the kind of a scenario's faults that does the same, or for a port what comes nearest to it.
    ``needs``: the amount that it needs. ``cut``: what it does to the links of the node whose process it is on.
    Coordinators here ask the other zones' servers themselves, while Dynomite passes all of that through the zone's
    process (``dyn_dnode_peer.c``), so for the others the zone goes with it.
    """

    fault_class: type[Fault]
    needs: str | None
    cut: Cut | None

    def __new__(cls, name: str, fault_class: type[Fault], needs: str | None = None, cut: Cut | None = None) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.fault_class, kind.needs, kind.cut = name, fault_class, needs, cut
        return kind

    CUT = "cut", CutFault  # links are cut and their connections reset
    HOLD = "hold", Clog  # links are black holes; what was sent arrives when they are mended
    LAG = "lag", LagFault, "lag"
    LOSS = "loss", LossFault, "share"
    DUPLICATE = "duplicate", DuplicateFault, "share"
    SLOW = "slow", SlowZone, "factor"  # a zone's server runs for a share of the time only
    PAUSE = "pause", Pause  # SIGSTOP of a zone's server
    MEMORY = "memory", Memory  # a zone's server refuses what needs more memory
    KILL = "kill", Kill  # SIGKILL of a zone's server
    COORDINATOR_PAUSE = "coordinator pause", CoordinatorCrash, None, Cut.FREEZE  # SIGSTOP
    COORDINATOR_KILL = "coordinator kill", CoordinatorCrash, None, Cut.DROP  # SIGKILL
    PORT_PAUSE = "port pause", CoordinatorCrash  # of a zone's coordinator; the others still reach the zone's server
    PORT_KILL = "port kill", CoordinatorCrash

    @property
    def of_links(self) -> bool:
        return issubclass(self.fault_class, EachLink)

    @property
    def of_coordinator(self) -> bool:
        return self.fault_class is CoordinatorCrash


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
        for name in ("lag", "share", "factor"):
            if (getattr(self, name) is not None) is not (name == self.kind.needs):
                raise ValueError(f"{self.kind} {'needs' if name == self.kind.needs else 'takes no'} {name}")
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
