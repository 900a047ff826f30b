"""Section of the checker of order: the properties that hold, those that are broken, and partitions that stood still."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zonelab.analysis.checkers.judgement import VerdictSection
from zonelab.analysis.checkers.order.properties import Property

Held = Literal["holds", "broken", "not exercised"]
NOT_EXERCISED: Held = "not exercised"


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderDivergence:
    """Divergence of a partition at rest: offsets that some zone has, and those that not every zone has alike."""

    partition: str
    offsets: int
    divergent: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Standstill:
    """From ``begin_ns`` to ``end_ns`` (None: to the end) the message at ``offset`` was at the head and not finished.

    ``messages`` and ``keys``: how many others waited behind it.
    """

    group: str
    partition: str
    offset: int
    begin_ns: int
    end_ns: int | None
    cause: str
    messages: int
    keys: int

    @property
    def lasted_ns(self) -> float:
        return float("inf") if self.end_ns is None else self.end_ns - self.begin_ns


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderSection(VerdictSection):
    """The order of messages: ``counts`` are without the harmless cases of I6.

    ``sorts``: cases of each sort, by property. ``opportunities``: to break each property. ``blocked``: partitions that
    stood still, the longest first. ``divergence``: of logs at rest, by partition.
    """

    title = "order"
    classes = Property
    parts = {  # noqa: RUF012 - of the class, not of its instances
        "blocked": lambda value: tuple(Standstill(**one) for one in value),
        "divergence": lambda value: tuple(OrderDivergence(**one) for one in value),
    }

    sorts: Mapping[str, Mapping[str, int]]
    opportunities: Mapping[str, int]
    blocked: tuple[Standstill, ...]
    divergence: tuple[OrderDivergence, ...]

    def of(self, name: Property) -> Held:
        """Return what a property turned out to be: without an opportunity to break it, it says nothing."""
        if self.counts[name]:
            return "broken"
        return "holds" if self.opportunities[name] else NOT_EXERCISED

    @property
    def not_exercised(self) -> tuple[Property, ...]:
        """The properties that nothing in the run could have broken."""
        return tuple(name for name in Property if self.of(name) == NOT_EXERCISED)

    def to_json(self) -> dict[str, Any]:
        """Return the section as ``verdict.json`` has it, with what each property turned out to be."""
        return {**VerdictSection.to_json(self), "properties": {str(name): self.of(name) for name in Property}}
