"""Section of the queue checker: the messages of a run by class, how late they were, and how far zones differ."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zonelab.analysis.checkers.judgement import VerdictSection
from zonelab.analysis.message_classes import DUPLICATE_CAUSES, MessageClass


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Counts of message ids (``deliveries``: pops of a message) that reached each point.

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
    """Divergence of the zones' contents at rest; a statistic, never a reason.

    ``place`` is queue, unack, payload or dead; ``shard`` is ``None`` for payloads and dead letters. ``ids``: held by at
    least one zone; ``divergent``: held by at least one but not by every zone that could be read.
    """

    place: str
    shard: str | None
    ids: int
    divergent: int


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueSection(VerdictSection):
    """The messages of a run by class.

    ``totals``: how many messages there were. ``lateness_ms``: quantiles of (delivery - due) over first deliveries, per
    zone and under ``"all"``. ``overlap_ms``: of messages that two programs worked on at once, how many there are, how
    many were counted to the end of the drain (``open``), and quantiles of how long. ``divergence``: how far the zones'
    contents differ at rest.
    """

    title = "queue"
    classes = MessageClass
    parts = {  # noqa: RUF012 - of the class, not of its instances
        "totals": lambda value: Totals(**value),
        "divergence": lambda value: tuple(Divergence(**one) for one in value),
    }

    totals: Totals
    lateness_ms: Mapping[str, Mapping[str, float]]
    overlap_ms: Mapping[str, float] = field(default_factory=dict)
    divergence: tuple[Divergence, ...] = ()

    @property
    def begun(self) -> int:
        """The number of messages that were pushed."""
        return self.totals.pushed

    @property
    def duplicated(self) -> int:
        """The number of deliveries that were one too many, whatever the cause."""
        return sum(self.counts[cause] for cause in DUPLICATE_CAUSES)
