"""Faults of what links carry: it takes longer, is lost and repeated, or arrives twice."""

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Annotated, Literal

from pydantic import Field

from zonelab.cluster.fields import DelayText, NonNegative
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Link
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.faults.fault import ANY_LAG, Changes, Choices, Targets
from zonelab.scenarios.faults.links import LinksFault, Undo

_NEARLY_ALL = 0.99


class LagFault(LinksFault):
    """Replace the one-way lag of links."""

    amount_field = "lag"
    colour = "#1f77b4"
    harm = 2

    kind: Literal["lag"]
    lag: DelayText
    """E.g. constant:50ms, lognormal:20ms:200ms."""

    @property
    def amount(self) -> str:
        return self.lag

    @property
    def link_state(self) -> dict[str, object]:
        return {"lag": self.lag}

    def change(self, link: Link) -> Undo:
        before = link.lag
        link.set_lag(parse_lag(self.lag))
        return partial(link.set_lag, before)

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"lag": (ANY_LAG,)}


class LossFault(LinksFault):
    """Make links lose transmissions."""

    amount_field = "share"
    colour = "#17becf"
    harm = 4

    kind: Literal["loss"]
    share: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.1
    """Share of transmissions that are lost, e.g. 0.1; TCP repeats them after 200 ms, 400 ms and so on."""

    @property
    def amount(self) -> str:
        return f"{self.share:.0%}"

    @property
    def link_state(self) -> dict[str, object]:
        return {"loss": self.share}

    def change(self, link: Link) -> Undo:
        before = link.loss
        link.set_loss(self.share)
        return partial(link.set_loss, before)

    def _extent(self, part: float, random: Random) -> Changes:
        return {"share": round(self.share * part, 6)}

    def hits_all(self) -> Iterator[Changes]:
        if self.share < _NEARLY_ALL:
            yield {"share": _NEARLY_ALL}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"share": (0.01, 0.1, 0.3)}


class DuplicateFault(LinksFault):
    """Make transmissions on links arrive twice, as behind a proxy that sends requests again."""

    amount_field = "share"
    colour = "#7fc97f"
    harm = 4

    kind: Literal["duplicate"]
    share: Annotated[float, Field(strict=True, gt=0, le=1)] = 0.1
    """Share of transmissions that arrive twice, e.g. 0.1."""
    after_ms: NonNegative = 0.0
    """Time from a transmission to its copy, in ms."""

    @property
    def amount(self) -> str:
        return f"{self.share:.0%}"

    @property
    def link_state(self) -> dict[str, object]:
        return {"duplicate": self.share, "duplicate_after_ms": self.after_ms}

    def change(self, link: Link) -> Undo:
        link.set_duplication(self.share, after_ns=round(self.after_ms * NS_PER_MS))
        return partial(link.set_duplication, 0)

    def _extent(self, part: float, random: Random) -> Changes:
        return {"share": min(1.0, round(self.share * part + 0.001, 3)), "after_ms": round(self.after_ms * part, 3)}

    def hits_all(self) -> Iterator[Changes]:
        if self.share < 1:
            yield {"share": 1.0}

    def milder(self) -> Iterator[Changes]:
        if self.after_ms:
            yield {"after_ms": float(self.after_ms // 2)}

    @classmethod
    def extents(cls, targets: Targets) -> dict[str, Choices]:
        return {"share": (1.0, 0.3), "after_ms": (0.0, 10.0, 300.0)}
