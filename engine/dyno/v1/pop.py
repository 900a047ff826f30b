"""Candidates of a pop, and the four kinds of pop that a queue has."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.polling import pop_in_rounds
from zonelab.engine.common.timings import measured
from zonelab.engine.dyno.errors import PayloadError
from zonelab.engine.dyno.v1.context import Context
from zonelab.engine.dyno.v1.lease import lease, lease_together
from zonelab.engine.dyno.v1.original_pop import Prefetch, V1OriginalPopper, take_one_by_one, take_together
from zonelab.engine.message import Delivery
from zonelab.engine.ports import Argument

Candidate = tuple[str, str]
"""Shard and id."""

Claims = dict[str, dict[str, None]]
"""Shard → ids that a pop of the object is leasing."""

LeaseCandidates = Callable[[Context, Sequence[Candidate], int, list[Delivery]], Coroutine[Any, Any, None]]
"""Leases candidates until there are so many deliveries, and adds each delivery to the list as soon as it is sure."""


def no_claims(context: Context) -> Claims:
    return {shard: {} for shard in context.settings.shards}


def own_first(context: Context) -> tuple[str, ...]:
    own = context.settings.shard
    return own, *(shard for shard in context.settings.shards if shard != own)


async def lease_each(context: Context, candidates: Sequence[Candidate], count: int, deliveries: list[Delivery]) -> None:
    for shard, message_id in candidates:
        if len(deliveries) == count:
            return
        delivery = await lease(context, message_id, shard=shard)
        if delivery is not None:
            deliveries.append(delivery)


async def lease_all_together(
    context: Context, candidates: Sequence[Candidate], count: int, deliveries: list[Delivery]
) -> None:
    shards = list(dict.fromkeys(shard for shard, _ in candidates))
    arguments: list[Argument] = []
    for shard, message_id in candidates:
        arguments += [1 + shards.index(shard), message_id]
    deliveries += await lease_together(context, arguments, shards=shards, count=count - len(deliveries))


class V1FreshPopper:
    """Reads the heads of the waiting sets anew for every pop and for every round of waiting.

    Nothing read is kept for a later pop, so a message whose due time moved on is not delivered early. Ids that a
    concurrent pop of the same object is leasing (``claims``) are left to it, and misses are replaced within the call.
    """

    def __init__(
        self,
        context: Context,
        *,
        shards: Sequence[str],
        claims: Claims,
        lease_candidates: LeaseCandidates = lease_each,
    ) -> None:
        self._context = context
        self._shards = shards
        self._claims = claims
        self._lease_candidates = lease_candidates

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        return await pop_in_rounds(
            self._context.runtime,
            count,
            wait_ms=wait_ms,
            poll_ms=self._context.settings.pop_poll_ms,
            due=self._due,
            lease_up_to=self._lease_up_to,
        )

    async def _due(self, count: int) -> list[Candidate]:
        """The first ``count`` due ids that no pop of this object is leasing, or as many as there are."""
        while True:
            found: list[Candidate] = []
            for shard in self._shards:
                if len(found) < count:
                    found += await self._due_in(shard, count - len(found))
            # What was read of one shard may have been claimed while another was read.
            if not any(message_id in self._claims[shard] for shard, message_id in found):
                return found

    async def _due_in(self, shard: str, count: int) -> list[Candidate]:
        context = self._context
        key, claimed = context.keys.queue_of(shard), self._claims[shard]
        while True:
            limit = count + len(claimed)
            until = context.settings.due_until(context.clock.now_ms())
            read = context.local.ids_up_to(key, until, limit=limit)
            ids = await measured(context, "prefetch", read, messages=limit)
            free = [(shard, message_id) for message_id in ids if message_id not in claimed]
            # Fewer free ones on a full page: another pop claimed some of them during the read, and more may follow.
            if len(free) >= count or len(ids) < limit:
                return free[:count]

    async def _lease_up_to(self, count: int, candidates: Sequence[Candidate]) -> list[Delivery]:
        """Lease ``candidates``, then others that are due in place of the misses.

        An error ends the call; leases already taken are valid and are returned, it is raised only if there is none.
        """
        deliveries: list[Delivery] = []
        claimed: list[Candidate] = []
        try:
            while candidates:
                for shard, message_id in candidates:
                    self._claims[shard][message_id] = None
                claimed += candidates
                await self._lease_candidates(self._context, candidates, count, deliveries)
                missing = count - len(deliveries)
                misses = len(claimed) - len(deliveries)
                candidates = await self._due(missing + misses) if missing else []
        except (*COMMAND_FAILURES, PayloadError):
            if not deliveries:
                raise
            self._context.counters.curtailed_pops += 1
        finally:
            for shard, message_id in claimed:
                del self._claims[shard][message_id]
        return deliveries


@dataclass(frozen=True, kw_only=True, slots=True)
class Poppers:
    """``own``: from the own shard; ``every``: from every shard, the own first; ``bulk``: by one script."""

    own: V1FreshPopper | V1OriginalPopper
    own_bulk: V1FreshPopper | V1OriginalPopper
    every: V1FreshPopper | V1OriginalPopper
    every_bulk: V1FreshPopper | V1OriginalPopper


def make_poppers(context: Context) -> Poppers:
    own, shards = (context.settings.shard,), own_first(context)
    if context.settings.compat:
        here = Prefetch(context, own, forgets_demand=True)
        everywhere = Prefetch(context, shards, forgets_demand=False)
        return Poppers(
            own=V1OriginalPopper(context, here, take_one_by_one),
            own_bulk=V1OriginalPopper(context, here, take_together),
            every=V1OriginalPopper(context, everywhere, take_one_by_one),
            every_bulk=V1OriginalPopper(context, everywhere, take_together),
        )
    claims = no_claims(context)
    return Poppers(
        own=V1FreshPopper(context, shards=own, claims=claims),
        own_bulk=V1FreshPopper(context, shards=own, claims=claims, lease_candidates=lease_all_together),
        every=V1FreshPopper(context, shards=shards, claims=claims),
        every_bulk=V1FreshPopper(context, shards=shards, claims=claims, lease_candidates=lease_all_together),
    )
