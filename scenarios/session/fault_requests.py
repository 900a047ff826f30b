"""What can be asked of a cluster that is up: faults, by kind and target."""

import re
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from cluster.admin.links import LinkState
from cluster.links.lag import parse_lag
from cluster.links.link import Cut
from cluster.zone import ClusterError, Restart

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}


class NotAccepted(ClusterError):
    """What was asked for cannot be, now or ever. The message says what can."""


class FaultKind(StrEnum):
    CUT = "cut"  # links are cut and their connections reset
    HOLD = "hold"  # links are black holes; what was sent arrives when they are mended
    LAG = "lag"
    LOSS = "loss"
    DUPLICATE = "duplicate"
    SLOW = "slow"  # a zone's server runs for a share of the time only
    PAUSE = "pause"  # SIGSTOP of a zone's server
    KILL = "kill"  # SIGKILL of a zone's server
    COORDINATOR_PAUSE = "coordinator pause"
    COORDINATOR_KILL = "coordinator kill"

    @property
    def of_links(self) -> bool:
        return self in (FaultKind.CUT, FaultKind.HOLD, FaultKind.LAG, FaultKind.LOSS, FaultKind.DUPLICATE)

    @property
    def of_coordinator(self) -> bool:
        return self in (FaultKind.COORDINATOR_PAUSE, FaultKind.COORDINATOR_KILL)


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
    def label(self) -> str:
        """What and where, and how much."""
        amount = {
            FaultKind.LAG: f" {self.lag}",
            FaultKind.LOSS: f" {self.share:.0%}" if self.share else "",
            FaultKind.DUPLICATE: f" {self.share:.0%}" if self.share else "",
            FaultKind.SLOW: f" x{self.factor:g}" if self.factor else "",
        }
        return f"{self.kind} {self.target}{amount.get(self.kind, '')}"

    def on(self, state: LinkState) -> LinkState:
        """``state`` of a link with this fault on it."""
        changes: dict[FaultKind, dict[str, Any]] = {
            FaultKind.CUT: {"cut": Cut.DROP},
            FaultKind.HOLD: {"cut": Cut.HOLD},
            FaultKind.LAG: {"lag": self.lag},
            FaultKind.LOSS: {"loss": self.share},
            FaultKind.DUPLICATE: {"duplicate": self.share, "duplicate_after_ms": self.after_ms},
        }
        return state.model_copy(update=changes[self.kind])


def parse_duration_s(text: str) -> float:
    """``10s``, ``500ms``, ``2m``, ``1h``, or a number of seconds. Raises ``NotAccepted``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|min|m|h|)", text.strip())
    duration_s = float(match[1]) * _UNITS_S[match[2]] if match else 0.0
    if duration_s <= 0:
        raise NotAccepted(f"duration {text!r} is not accepted; accepted: more than 0, such as 500ms, 10s, 2m, 1h")
    return duration_s
