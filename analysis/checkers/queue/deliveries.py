"""Why one message was delivered more than once, and which of its acks came too late.

A lease is written at some moment between ``start_ms`` and ``leased_ms``; nobody knows when exactly. Every rule
here therefore takes the bound that favours the queue: a violation is reported only if no order of the writes
within the bounds would be legal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zonelab.analysis.message_classes import MessageClass


@dataclass(frozen=True, slots=True, order=True)
class Lease:
    """A delivery. Sorted by the moment at which its lease was certainly held. ``end_ms`` ``None``: no lease."""

    leased_ms: int
    start_ms: int
    index: int
    delivery: int
    end_ms: int | None


@dataclass(frozen=True, slots=True)
class Extension:
    """A change of a lease's end, confirmed at ``ok_ms``; ``None``: it may apply at any time from ``invoke_ms`` on."""

    delivery: int
    invoke_ms: int
    ok_ms: int | None
    end_ms: int


@dataclass(frozen=True, slots=True)
class Ack:
    """A confirmed ack by the consumer that got ``delivery``."""

    delivery: int
    invoke_ms: int
    ok_ms: int
    index: int


@dataclass(frozen=True, slots=True)
class Deliveries:
    """Everything that was done with one message after its push. ``leases`` are sorted."""

    leases: Sequence[Lease]
    extensions: Sequence[Extension] = ()
    acks: Sequence[Ack] = ()

    def duplicates(self) -> Iterator[tuple[Lease, MessageClass, str]]:
        """Every delivery after the first with its one cause, and the evidence in words."""
        acked_ms = min((ack.ok_ms for ack in self.acks), default=None)
        held: list[Lease] = []
        for lease in self.leases:
            # Leases are sorted by leased_ms, so one that is over for this delivery is over for all later ones.
            held = [earlier for earlier in held if max(self._ends(earlier, None)) > lease.leased_ms]
            if lease is not self.leases[0]:
                yield lease, *self._cause(lease, held, acked_ms)
            if lease.end_ms is not None:
                held.append(lease)

    def _cause(self, lease: Lease, held: Sequence[Lease], acked_ms: int | None) -> tuple[MessageClass, str]:
        if acked_ms is not None and lease.start_ms > acked_ms:
            return MessageClass.RESURRECTED, f"lease begun {lease.start_ms - acked_ms:,} ms after the confirmed ack"
        for earlier in held:
            end_ms = min(self._ends(earlier, lease.leased_ms))
            if earlier.delivery != lease.delivery and lease.leased_ms < end_ms:
                left = f"{end_ms - lease.leased_ms} ms before the lease of delivery {earlier.delivery} ended"
                return MessageClass.CONCURRENT, left
        return MessageClass.REDELIVERED, ""

    def zombie_acks(self) -> Iterator[tuple[Ack, str]]:
        """Confirmed acks that were invoked when their delivery's lease had ended, or after a later lease was held."""
        by_number = {lease.delivery: lease for lease in reversed(self.leases)}
        for ack in self.acks:
            lease = by_number.get(ack.delivery)
            if lease is None:
                continue
            end_ms = max(self._ends(lease, ack.invoke_ms), default=None)
            if end_ms is not None and ack.invoke_ms > end_ms:
                yield ack, f"invoked {ack.invoke_ms - end_ms} ms after its lease ended"
            elif self._superseded(lease, ack.invoke_ms):
                yield ack, "invoked after a later delivery held the lease"

    def _superseded(self, lease: Lease, at_ms: int) -> bool:
        return any(
            later > lease and later.delivery != lease.delivery and later.leased_ms < at_ms for later in self.leases
        )

    def _ends(self, lease: Lease, at_ms: int | None) -> list[int]:
        """The ends that ``lease`` may have at ``at_ms``; ``None``: at any time."""
        if lease.end_ms is None:
            return []
        ends, confirmed_ms = [lease.end_ms], None
        doubtful: list[int] = []
        for extension in self.extensions:
            if extension.delivery != lease.delivery or (at_ms is not None and extension.invoke_ms > at_ms):
                continue
            if at_ms is None or extension.ok_ms is None or extension.ok_ms > at_ms:
                doubtful.append(extension.end_ms)
            elif confirmed_ms is None or extension.ok_ms >= confirmed_ms:
                ends, confirmed_ms = [extension.end_ms], extension.ok_ms
        return ends + doubtful
