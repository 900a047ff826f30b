"""The verdict on one run: valid, invalid or unknown, how many messages fell into each class, and which."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from analysis.message_classes import DESCRIPTIONS, DUPLICATE_CAUSES, MessageClass

Validity = Literal[True, False, "unknown"]

FIRST_OFFENDERS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Offender:
    """One case of a class.

    ``index``: the history event that shows it (for a missing delivery, the push); ``None`` if it was seen in an end
    state. ``delivery``: the pop concerned. ``zone``: set for classes that are counted per zone.
    """

    message_id: str
    index: int | None = None
    delivery: int | None = None
    zone: str | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """How many message ids (``deliveries``: pops of a message) reached each point.

    ``pushed`` = ``acknowledged`` + ``failed`` + ``indeterminate``: ids by the best outcome of their pushes.
    ``delivered``: ids handed to a consumer at least once. ``acked``: ids with at least one confirmed ack.
    """

    pushed: int = 0
    acknowledged: int = 0
    failed: int = 0
    indeterminate: int = 0
    delivered: int = 0
    deliveries: int = 0
    acked: int = 0

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(**{name: getattr(self, name) + getattr(other, name) for name in Totals.__slots__})


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """How far the zones' contents differ at rest; a statistic, never a reason.

    ``place`` is queue, unack, payload or dead; ``shard`` is ``None`` for payloads and dead letters. ``ids``: held by at
    least one zone; ``divergent``: held by at least one but not by every zone that could be read.
    """

    place: str
    shard: str | None
    ids: int
    divergent: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The result of checking one run.

    ``counts``: cases of every ``MessageClass``; messages for lost, stuck, abandoned, undecided, recovered,
    unexpected, dead_letter and priority_inversion, deliveries for early and the duplicate causes, acks for zombie_ack,
    and (zone, id) pairs for orphan and phantom. ``offenders``: the first 20 of each class in history order; all of them
    are in ``offenders.parquet``. ``lateness_ms``: quantiles of (delivery - due) over first deliveries, per zone and
    under ``"all"``. ``reasons``: why it is not valid, in words. ``not_judged``: classes for which the queue
    has no means, say those of leases without leases; their counts are 0 and say nothing.
    """

    valid: Validity
    reasons: tuple[str, ...]
    forbid: tuple[str, ...]
    totals: Totals
    counts: Mapping[str, int]
    offenders: Mapping[str, tuple[Offender, ...]]
    lateness_ms: Mapping[str, Mapping[str, float]]
    divergence: tuple[Divergence, ...] = field(default=())
    not_judged: tuple[str, ...] = ()

    @property
    def violated(self) -> tuple[MessageClass, ...]:
        """The forbidden classes that have cases."""
        return tuple(name for name in MessageClass if name in self.forbid and self.counts[name])

    @property
    def begun(self) -> int:
        """How many messages were pushed."""
        return self.totals.pushed

    @property
    def duplicated(self) -> int:
        return sum(self.counts[cause] for cause in DUPLICATE_CAUSES)

    def to_json(self) -> dict[str, Any]:
        """The content of ``verdict.json``; ``from_json`` inverts it."""
        return {
            "valid": self.valid,
            "reasons": list(self.reasons),
            "forbid": list(self.forbid),
            "totals": asdict(self.totals),
            "counts": dict(self.counts),
            "offenders": {name: [asdict(item) for item in items] for name, items in self.offenders.items()},
            "lateness_ms": {zone: dict(values) for zone, values in self.lateness_ms.items()},
            "divergence": [asdict(item) for item in self.divergence],
            "not_judged": list(self.not_judged),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Verdict":
        return cls(
            valid=value["valid"],
            reasons=tuple(value["reasons"]),
            forbid=tuple(value["forbid"]),
            totals=Totals(**value["totals"]),
            counts=value["counts"],
            offenders={name: tuple(Offender(**item) for item in items) for name, items in value["offenders"].items()},
            lateness_ms=value["lateness_ms"],
            divergence=tuple(Divergence(**item) for item in value["divergence"]),
            not_judged=tuple(value.get("not_judged", ())),
        )


def judge(
    *, counts: Mapping[str, int], forbid: Collection[str], doubts: Collection[str]
) -> tuple[Validity, tuple[str, ...]]:
    """False if a forbidden class occurred, else unknown if there is any doubt, else true; with the reasons in words.

    The order true < unknown < false is Jepsen's: proof of a violation is worth more than a gap in the evidence.
    """
    broken = tuple(
        f"{counts[name]} {name.replace('_', ' ')}: {DESCRIPTIONS[MessageClass(name)]}"
        for name in MessageClass
        if name in forbid and counts[name]
    )
    if broken:
        return False, broken + tuple(doubts)
    if doubts:
        return "unknown", tuple(doubts)
    return True, ()
