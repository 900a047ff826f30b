"""The verdict on one run with ordered messages."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from zonelab.analysis.checkers.judgement import Offender, Validity
from zonelab.analysis.checkers.order.at_rest import OrderDivergence
from zonelab.analysis.checkers.order.findings import Findings, OrderCase
from zonelab.analysis.checkers.order.properties import HARMLESS, MEANINGS, Property
from zonelab.analysis.checkers.order.waiting import Standstill

Held = Literal["holds", "broken", "not exercised"]
NOT_EXERCISED: Held = "not exercised"


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
        return "holds" if self.opportunities[name] else NOT_EXERCISED

    @property
    def not_exercised(self) -> tuple[Property, ...]:
        return tuple(name for name in Property if self.of(name) == NOT_EXERCISED)

    @property
    def violated(self) -> tuple[Property, ...]:
        """The forbidden properties that are broken."""
        return tuple(name for name in self.broken if name in self.forbid)

    @property
    def offenders(self) -> Mapping[str, tuple[Offender, ...]]:
        """The cases as a run's other ones are told: by message, or by place where no event names one."""
        return {
            name: tuple(
                Offender(message_id=one.message_id or f"{one.partition} at {one.offset}", detail=_in_words(one))
                for one in cases
            )
            for name, cases in self.cases.items()
        }

    @property
    def broken(self) -> tuple[Property, ...]:
        return tuple(name for name in Property if self.counts[name])

    def to_json(self) -> dict[str, Any]:
        """The content of ``order_verdict.json``."""
        return {**asdict(self), "properties": {str(name): self.of(name) for name in Property}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "OrderVerdict":
        """Inverts ``to_json``."""
        told = {name: value[name] for name in cls.__slots__}
        told["cases"] = {name: tuple(OrderCase(**one) for one in cases) for name, cases in value["cases"].items()}
        told["blocked"] = tuple(Standstill(**one) for one in value["blocked"])
        told["divergence"] = tuple(OrderDivergence(**one) for one in value["divergence"])
        return cls(**told | {name: tuple(value[name]) for name in ("reasons", "forbid")})


def _in_words(case: OrderCase) -> str:
    where = f"{case.what}, {case.partition} at {case.offset}"
    return f"{where}: {case.detail}" if case.detail else where


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
