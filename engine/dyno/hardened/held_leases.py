"""The leases that this object has handed out: kept alive while work goes on, and given up by an ack."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from zonelab.engine.dyno.hardened.batch_decisions import decided_each
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.records.steps import HardenedLease


@dataclass(slots=True)
class HeldLease:
    """A lease that a consumer of this object holds.

    ``since_ns``: run time of the delivery. ``resting``: an ack was tried, so nobody works on it any more.

    ``asked_ms``: the end that an extension asked for, which the heartbeat does not shorten.
    """

    lease: HardenedLease
    since_ns: int
    resting: bool = False
    asked_ms: int = 0


class HeldLeases:
    """The leases that consumers of this object hold, and the heartbeat that extends them.

    They are kept by id and token: one object may have two deliveries of a message, of which the older one is lost.
    """

    def __init__(self, context: HardenedContext) -> None:
        self._context = context
        self._held_leases: dict[tuple[str, str], HeldLease] = {}
        self.on_extended: Callable[[str, int], None] | None = None
        """Listener for the id and the new end of every lease that the heartbeat moved."""

    def add(self, lease: HardenedLease) -> None:
        self._held_leases[lease.id, lease.token] = HeldLease(lease, self._context.runtime.now_ns())

    def of(self, message_id: str, token: str) -> HeldLease | None:
        return self._held_leases.get((message_id, token))

    def drop(self, lease: HardenedLease) -> None:
        self._held_leases.pop((lease.id, lease.token), None)

    def forget_ended(self, now_ms: int) -> None:
        """Drop what has ended: it cannot be extended, and its ack is refused even if nobody remembers it."""
        for key, held in list(self._held_leases.items()):
            if held.lease.ends_ms < now_ms:
                del self._held_leases[key]

    async def beat(self) -> None:
        """Move the ends of all leases whose work goes on. Raises ``PortError``, ``ServerError``."""
        context, now_ms = self._context, self._context.clock.now_ms()
        self.forget_ended(now_ms)
        oldest_ns = context.runtime.now_ns() - context.settings.hold_max_ms * 1_000_000
        ends_ms = now_ms + context.settings.lease_ms
        active = [
            one
            for one in self._held_leases.values()
            if not one.resting and one.since_ns >= oldest_ns and one.asked_ms <= ends_ms
        ]
        if not active:
            return
        answers = await decided_each(partial(context.steps.extend, ends_ms=ends_ms), [one.lease for one in active])
        failure = next((answer for answer in answers if isinstance(answer, Exception)), None)
        for held, extended in zip(active, answers, strict=True):
            if isinstance(extended, Exception):
                continue  # it is tried again before the lease ends
            if extended:
                context.counters.extended += 1
                held.lease = replace(held.lease, ends_ms=ends_ms)
                if self.on_extended is not None:
                    self.on_extended(held.lease.id, ends_ms)
            elif not held.resting and self.of(held.lease.id, held.lease.token) is held:
                # Otherwise it was acknowledged or given back meanwhile, which is no loss.
                context.counters.refused += 1
                self.drop(held.lease)
        if failure is not None:
            raise failure
