"""The verdict on one run: valid, invalid or unknown, how many messages fell into each class, and which."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal

Validity = Literal[True, False, "unknown"]

FIRST_OFFENDERS = 20


class MessageClass(StrEnum):
    """What can happen to a message that a good queue would not do, or would rather not do.

    The names extend those of Jepsen's total-queue checker (lost, recovered, unexpected, duplicated) by what a
    delay queue with leases adds. ``DESCRIPTIONS`` says in words what each one means, docs/verdicts.md when it counts.
    """

    LOST = "lost"
    STUCK = "stuck"
    ABANDONED = "abandoned"
    UNDECIDED = "undecided"
    RECOVERED = "recovered"
    UNEXPECTED = "unexpected"
    REDELIVERED = "redelivered"
    CONCURRENT = "concurrent"
    RESURRECTED = "resurrected"
    EARLY = "early"
    ZOMBIE_ACK = "zombie_ack"
    ORPHAN = "orphan"
    PHANTOM = "phantom"
    PRIORITY_INVERSION = "priority_inversion"
    DEAD_LETTER = "dead_letter"


DESCRIPTIONS: Mapping[MessageClass, str] = {
    MessageClass.LOST: "the push was acknowledged, the message was never delivered, and no zone lists it at the end",
    MessageClass.STUCK: "the push was acknowledged, the message was never acked and is still listed after the drain",
    MessageClass.ABANDONED: "delivered but never acked, and gone: the redelivery that is owed cannot happen",
    MessageClass.UNDECIDED: "undelivered or unacked, but the end state that would tell lost from stuck is not known",
    MessageClass.RECOVERED: "delivered although nobody knew whether the push had worked",
    MessageClass.UNEXPECTED: "delivered although it was never pushed, or every push of it certainly failed",
    MessageClass.REDELIVERED: "delivered again after the earlier lease had ended: legal at-least-once delivery",
    MessageClass.CONCURRENT: "delivered again while another consumer still held a valid lease on it",
    MessageClass.RESURRECTED: "delivered again after an ack of it had been confirmed",
    MessageClass.EARLY: "delivered more than 1 ms before it was due",
    MessageClass.ZOMBIE_ACK: "acked with success by a consumer whose lease had ended or passed to another",
    MessageClass.ORPHAN: "a zone holds the payload but lists the id nowhere",
    MessageClass.PHANTOM: "a zone lists the id but holds no payload for it",
    MessageClass.PRIORITY_INVERSION: "served after a less urgent message of the same shard and due time",
    MessageClass.DEAD_LETTER: "delivered but never acked, and set aside by the queue after so many deliveries",
}

FORBIDDEN_DEFAULT = (
    MessageClass.LOST,
    MessageClass.STUCK,
    MessageClass.ABANDONED,
    MessageClass.UNEXPECTED,
    MessageClass.CONCURRENT,
    MessageClass.RESURRECTED,
    MessageClass.EARLY,
)

DUPLICATE_CAUSES = (MessageClass.REDELIVERED, MessageClass.CONCURRENT, MessageClass.RESURRECTED)


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
    under ``"all"``. ``reasons``: why it is not valid, in words.
    """

    valid: Validity
    reasons: tuple[str, ...]
    forbid: tuple[str, ...]
    totals: Totals
    counts: Mapping[str, int]
    offenders: Mapping[str, tuple[Offender, ...]]
    lateness_ms: Mapping[str, Mapping[str, float]]
    divergence: tuple[Divergence, ...] = field(default=())

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
