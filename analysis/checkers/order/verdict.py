"""The verdict on one run with ordered messages."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from analysis.checkers.order.at_rest import OrderDivergence
from analysis.checkers.order.findings import Findings, OrderCase
from analysis.checkers.order.properties import HARMLESS, MEANINGS, Property
from analysis.checkers.order.waiting import Standstill
from analysis.checkers.verdict import Validity

Held = Literal["holds", "broken", "not exercised"]


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderVerdict:
    """``counts``: cases of each property, without the harmless ones of I6. ``sorts``: of each sort of case.

    ``opportunities``: to break each property. ``cases``: the first 20 of each. ``blocked``: partitions that stood
    still, the longest first. ``divergence``: of logs at rest, by partition.
    """

    valid: Validity
    reasons: tuple[str, ...]
    forbid: tuple[str, ...]
    counts: Mapping[str, int]
    sorts: Mapping[str, Mapping[str, int]]
    opportunities: Mapping[str, int]
    cases: Mapping[str, tuple[OrderCase, ...]]
    blocked: tuple[Standstill, ...]
    divergence: tuple[OrderDivergence, ...]

    def of(self, name: Property) -> Held:
        """What a property turned out to be: without an opportunity to break it, it says nothing."""
        if self.counts[name]:
            return "broken"
        return "holds" if self.opportunities[name] else "not exercised"

    @property
    def broken(self) -> tuple[Property, ...]:
        return tuple(name for name in Property if self.counts[name])

    def to_json(self) -> dict[str, Any]:
        """The content of ``order_verdict.json``."""
        return {**asdict(self), "properties": {str(name): self.of(name) for name in Property}}


def verdict_of(
    findings: Findings,
    *,
    forbid: Collection[str],
    doubts: Collection[str],
    blocked: tuple[Standstill, ...],
    divergence: tuple[OrderDivergence, ...],
) -> OrderVerdict:
    """False if a forbidden property is broken, else unknown if there is a doubt, else true."""
    sorts: dict[str, dict[str, int]] = {str(name): {} for name in Property}
    for (name, what), count in sorted(findings.sorts.items()):
        sorts[name][what] = count
    counts = {name: sum(count for what, count in own.items() if what != HARMLESS) for name, own in sorts.items()}
    broken = tuple(f"{counts[one]} of {one}: {MEANINGS[one]}" for one in Property if one in forbid and counts[one])
    return OrderVerdict(
        valid=False if broken else "unknown" if doubts else True,
        reasons=(*broken, *doubts),
        forbid=tuple(forbid),
        counts=counts,
        sorts=sorts,
        opportunities={str(name): findings.opportunities[name] for name in Property},
        cases=findings.first(),
        blocked=blocked,
        divergence=divergence,
    )
