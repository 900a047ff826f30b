"""The verdict on one run: valid, invalid or unknown, how many messages fell into each class, and which."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from zonelab.analysis.checkers.judgement import Offender, Validity
from zonelab.analysis.checkers.order.properties import MEANINGS, Property
from zonelab.analysis.message_classes import DESCRIPTIONS, DUPLICATE_CAUSES, MessageClass

if TYPE_CHECKING:
    from zonelab.analysis.checkers.order.verdict import OrderVerdict

Broken = MessageClass | Property
"""What a run of a queue can violate: a class of messages, or a property of their order."""

MEANING_OF: Mapping[Broken, str] = dict((*DESCRIPTIONS.items(), *MEANINGS.items()))


def broken_named(name: str) -> Broken:
    """Raises ``ValueError`` if nothing is called so."""
    return Property(name) if name in set(Property) else MessageClass(name)


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
    """The result of checking one run of a queue.

    ``valid``: True, False or ``"unknown"``. ``totals``: how many messages there were. ``counts``: cases of every
    ``MessageClass``; deliveries for early, late and the duplicate causes, acks for zombie_ack, (zone, id) pairs for
    orphan and phantom, and messages for all others. ``offenders``: the first 20 of each class in history order; all of
    them are in ``offenders.parquet``. ``lateness_ms``: quantiles of (delivery - due) over first deliveries, per zone
    and under ``"all"``. ``overlap_ms``: of messages that two programs worked on at once, how many there are, how many
    were counted to the end of the drain (``open``), and quantiles of how long. ``reasons``: why it is not valid, in
    words. ``not_judged``: classes for which the queue has no means, say those of leases without leases; their counts
    are 0 and say nothing. ``order``: of a queue that keeps an order what became of it; ``counts``, ``forbid`` and
    ``offenders`` then name its properties, too. ``forbid``: the classes that must have no cases. ``divergence``: how
    far the zones' contents differ at rest.

    Example, in which those of the methods stand in place of the dots::

        with cluster("sim") as lab, queues.open("jobs", lab, engine="zset") as queue:
            queue.push(Message(id="1"))
            with lab.fault("wipe", zone="a"), lab.fault("wipe", zone="b"), lab.fault("wipe", zone="c"):
                lab.sleep(1)
            verdict = lab.verdict()
            ...
    """

    valid: Validity
    reasons: tuple[str, ...]
    forbid: tuple[str, ...]
    totals: Totals
    counts: Mapping[str, int]
    offenders: Mapping[str, tuple[Offender, ...]]
    lateness_ms: Mapping[str, Mapping[str, float]]
    overlap_ms: Mapping[str, float] = field(default_factory=dict)
    divergence: tuple[Divergence, ...] = field(default=())
    not_judged: tuple[str, ...] = ()
    order: "OrderVerdict | None" = None

    @property
    def violated(self) -> tuple[Broken, ...]:
        """The forbidden classes, and properties of order, that have cases.

        Example::

            print([str(name) for name in verdict.violated], verdict.reasons)
            assert verdict.violated
        """
        classes: tuple[Broken, ...] = tuple(name for name in MessageClass if name in self.forbid and self.counts[name])
        return classes if self.order is None else (*classes, *self.order.violated)

    def with_order(self, order: "OrderVerdict") -> "Verdict":
        """Returns this and what became of the ``order`` of its messages, as one verdict: the worse of the two."""
        mine, theirs = len(self.violated), len(order.violated)
        doubts = dict.fromkeys((*self.reasons[mine:], *order.reasons[theirs:]))
        broken = (*self.reasons[:mine], *order.reasons[:theirs])
        return replace(
            self,
            valid=False if broken else "unknown" if doubts else True,
            reasons=(*broken, *doubts),
            forbid=(*self.forbid, *order.forbid),
            counts={**self.counts, **order.counts},
            offenders={**self.offenders, **order.offenders},
            order=order,
        )

    @property
    def begun(self) -> int:
        """The number of messages that were pushed.

        Example::

            print(verdict.begun)  # 1
        """
        return self.totals.pushed

    @property
    def duplicated(self) -> int:
        """The number of deliveries that were one too many, whatever the cause.

        Example::

            print(verdict.duplicated)  # 0
        """
        return sum(self.counts[cause] for cause in DUPLICATE_CAUSES)

    def to_json(self) -> dict[str, Any]:
        """Returns the content of ``verdict.json``; ``from_json`` inverts it.

        Example::

            print(verdict.to_json()["totals"]["pushed"])  # 1
        """
        return {
            "valid": self.valid,
            "reasons": list(self.reasons),
            "forbid": list(self.forbid),
            "totals": asdict(self.totals),
            "counts": dict(self.counts),
            "offenders": {name: [asdict(item) for item in items] for name, items in self.offenders.items()},
            "lateness_ms": {zone: dict(values) for zone, values in self.lateness_ms.items()},
            "overlap_ms": dict(self.overlap_ms),
            "divergence": [asdict(item) for item in self.divergence],
            "not_judged": list(self.not_judged),
            **({} if self.order is None else {"order": self.order.to_json()}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Verdict":
        """Returns the verdict of ``value``, the content of ``verdict.json``.

        A class that the version which wrote it did not know is not judged. Raises ``KeyError`` or ``TypeError`` if it
        is no such content.

        Example::

            print(Verdict.from_json(verdict.to_json()) == verdict)  # True
        """
        unknown = [str(name) for name in MessageClass if name not in value["counts"]]
        return cls(
            valid=value["valid"],
            reasons=tuple(value["reasons"]),
            forbid=tuple(value["forbid"]),
            totals=Totals(**value["totals"]),
            counts={**dict.fromkeys(unknown, 0), **value["counts"]},
            offenders={name: tuple(Offender(**item) for item in items) for name, items in value["offenders"].items()},
            lateness_ms=value["lateness_ms"],
            overlap_ms=value.get("overlap_ms", {}),
            divergence=tuple(Divergence(**item) for item in value["divergence"]),
            not_judged=(*value.get("not_judged", ()), *unknown),
            order=_order(value.get("order")),
        )


def _order(value: Mapping[str, Any] | None) -> "OrderVerdict | None":
    if value is None:
        return None
    from zonelab.analysis.checkers.order.verdict import OrderVerdict  # loads numpy

    return OrderVerdict.from_json(value)
