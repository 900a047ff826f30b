"""Taking due messages of the shards that the instance serves."""

from collections.abc import Mapping, Sequence
from functools import partial

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.polling import pop_when_ready
from zonelab.engine.dyno.errors import PayloadError
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.held_leases import HeldLeases
from zonelab.engine.dyno.hardened.lease import Leaser, LeaseResult
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.hardened.records.record import RecordStatus
from zonelab.engine.dyno.hardened.records.steps import STEP_MAX, HardenedLease, Head
from zonelab.engine.dyno.hardened.upkeep.replica_repair import ReplicaRepair
from zonelab.engine.dyno.hardened.upkeep.shard_takeover import ServedShards
from zonelab.engine.dyno.message_json import decode
from zonelab.engine.dyno.scores import eligible_until
from zonelab.engine.message import Delivery, Message


class HardenedPopper:
    """Finds and leases what is due; sets aside what was delivered too often, and lets differences be repaired."""

    def __init__(
        self, context: HardenedContext, *, held_leases: HeldLeases, replica_repair: ReplicaRepair, served: ServedShards
    ) -> None:
        self._context = context
        self._held_leases = held_leases
        self._replica_repair = replica_repair
        self._served = served
        self._leaser = Leaser(context)
        self._claimed: dict[str, None] = {}
        self._watchers: dict[int, dict[str, None]] = {}
        self._reads = 0

    async def pop(self, count: int, *, wait_ms: int) -> list[Delivery]:
        """Up to ``count`` deliveries as soon as there is one, or none when the wait is over."""
        return await pop_when_ready(
            self._context.runtime,
            partial(self._take, count),
            wait_ms=wait_ms,
            poll_ms=self._context.settings.poll_interval_ms,
        )

    async def _take(self, count: int) -> list[Delivery]:
        deliveries: list[Delivery] = []
        try:
            for shard in self._served.shards:
                await self._fill(deliveries, shard, count)
        except COMMAND_FAILURES:
            if not deliveries:
                raise
        return deliveries

    async def _fill(self, deliveries: list[Delivery], shard: str, count: int) -> None:
        """Up to ``count``, step by step, as long as a step gets all that it asks for."""
        while (asked := min(STEP_MAX, count - len(deliveries))) > 0:
            taken = await self._take_of(shard, asked)
            deliveries += taken
            if len(taken) < asked:
                return

    async def _take_of(self, shard: str, count: int) -> list[Delivery]:
        now_ms = self._context.clock.now_ms()
        self._reads += 1
        watcher = self._reads
        taken: dict[str, None] = {}  # what other pops of this object finish with: the read may still show it as ready
        self._watchers[watcher] = taken
        try:
            limit = count + len(self._claimed)
            ready = await self._context.steps.ready(shard, limit, now_ms=now_ms, until=eligible_until(now_ms))
        finally:
            del self._watchers[watcher]
        ids = [one for one in ready.ids if one not in self._claimed and one not in taken][:count]
        if not ids:
            return []
        self._claimed.update(dict.fromkeys(ids))
        try:
            return await self._lease(shard, await self._context.steps.heads(ready, ids))
        finally:
            for message_id in ids:
                del self._claimed[message_id]
            for other in self._watchers.values():
                other.update(dict.fromkeys(ids))

    async def _lease(self, shard: str, heads: Sequence[Head]) -> list[Delivery]:
        messages, worn, unreadable, broken = self._sorted(heads)
        fatal = unreadable + await self._worn_everywhere(worn)
        for message_id in fatal:
            messages.pop(message_id, None)
        if fatal:
            set_aside = await self._context.steps.set_aside(fatal, now_ms=self._context.clock.now_ms())
            self._context.counters.set_aside += sum(set_aside)
        payloads = {head.id: head.payload for head in heads if head.id in messages and head.payload is not None}
        deliveries, diverged = await self._leased(messages, payloads, shard)
        self._context.counters.misses += len(messages) - len(deliveries)
        diverged = broken + diverged
        if diverged and self._context.settings.has(Hardening.HEAD_OF_LINE_REPAIR):
            self._replica_repair.repair_beside(diverged)
        return deliveries

    async def _leased(
        self, messages: Mapping[str, Message], payloads: Mapping[str, bytes], shard: str
    ) -> tuple[list[Delivery], list[str]]:
        """Deliveries, and ids over which the zones differ. Messages of one length of lease are leased together."""
        by_length: dict[int | None, dict[str, bytes]] = {}
        for message_id, message in messages.items():
            by_length.setdefault(message.lease_ms or None, {})[message_id] = payloads[message_id]
        deliveries: list[Delivery] = []
        diverged: list[str] = []
        for lease_ms, alike in by_length.items():
            try:
                leased = await self._leaser.lease(alike, lease_ms=lease_ms)
            except COMMAND_FAILURES:
                if not deliveries:
                    raise
                break
            deliveries += self._delivered(leased, messages, shard)
            diverged += leased.diverged
        return deliveries, diverged

    async def _worn_everywhere(self, ids: Sequence[str]) -> list[str]:
        """Those of ``ids`` that a majority of the zones shows delivered ``deliveries_max`` times and leased to nobody.

        One zone is not enough: a zone that missed a lease counts leases that nobody got, and would set aside a message
        that somebody works on.
        """
        most = self._context.settings.deliveries_max
        if not ids or most is None:
            return []
        replicas = self._context.replicas
        ended_ms = self._context.clock.now_ms() - self._context.settings.clock_margin_ms - 1
        records = await replicas.records(ids)
        worn = []
        for message_id in ids:
            found = [record for of_zone in records.values() if (record := of_zone[message_id])]
            free = [one for one in found if one.status is RecordStatus.WAITING or one.ends_ms <= ended_ms]
            if len([one for one in free if one.tries >= most]) >= replicas.majority:
                worn.append(message_id)
        return worn

    def _sorted(self, heads: Sequence[Head]) -> tuple[dict[str, Message], list[str], list[str], list[str]]:
        """Four groups: messages to lease; ids among them that were delivered too often; ids of messages that cannot be
        read, so that nobody can have them; and ids of which the zone that listed them has no record or no payload.
        """
        settings, messages = self._context.settings, dict[str, Message]()
        worn, unreadable, broken = [], [], []
        most = settings.deliveries_max if settings.has(Hardening.DEAD_LETTER) else None
        for head in heads:
            if head.record is None or head.payload is None:
                broken.append(head.id)
                continue
            try:
                message = decode(head.payload, message_id=head.id)
            except PayloadError:
                unreadable.append(head.id)
                continue
            messages[head.id] = message
            if most is not None and head.record.tries >= most:
                worn.append(head.id)
        return messages, worn, unreadable, broken

    def _delivered(self, leased: LeaseResult, messages: Mapping[str, Message], shard: str) -> list[Delivery]:
        leased_ms = self._context.clock.now_ms()
        self._held_leases.forget_ended(leased_ms)
        if leased_ms >= leased.ends_ms:
            return []  # the answer took longer than the lease
        for message_id in leased.mine:
            self._held_leases.add(HardenedLease(message_id, leased.token, leased.ends_ms))
        return [
            Delivery(
                message=messages[message_id],
                shard=shard,
                lease_start_ms=leased.start_ms,
                leased_ms=leased_ms,
                lease_end_ms=leased.ends_ms,
                token=leased.token,
            )
            for message_id in leased.mine
        ]
