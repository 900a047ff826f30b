"""Finds payloads without a record, which clients of V1 leave when they die, and lists or deletes their messages."""

from collections import deque
from collections.abc import Sequence

from zonelab.engine.dyno.errors import PayloadError
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.records.steps import PutRequest, in_steps
from zonelab.engine.dyno.hardened.upkeep.replica_repair import ReplicaRepair
from zonelab.engine.dyno.message_json import decode

REMEMBERED_MAX = 10_000


class OrphanSweeper:
    """Lists an orphan again once it has been seen for ``grace_ms`` and no zone has a record of it.

    A zone that has a tombstone of it ends it: what was acknowledged is never listed again.
    """

    def __init__(self, context: HardenedContext, replica_repair: ReplicaRepair) -> None:
        self._context = context
        self._replica_repair = replica_repair
        self._cursor = 0
        self._first_seen_ns: dict[str, int] = {}
        self.adopted: deque[str] = deque(maxlen=REMEMBERED_MAX)

    async def sweep(self) -> None:
        """One page of the own zone's payloads. Raises ``PortError``, ``ServerError``."""
        context, keys = self._context, self._context.keys
        command = ("HSCAN", keys.messages, self._cursor, "COUNT", context.settings.page)
        ((cursor, flat),) = await context.steps.local(command)
        self._cursor = int(cursor)
        payloads = {field.decode(): raw for field, raw in zip(flat[::2], flat[1::2], strict=True)}
        if not payloads:
            return
        (records,) = await context.steps.local(("HMGET", keys.records, *payloads))
        orphans = [message_id for message_id, raw in zip(payloads, records, strict=True) if raw is None]
        old = self._old(orphans)
        for message_id in payloads:
            if message_id not in orphans:
                self._first_seen_ns.pop(message_id, None)
        if old:
            await self._adopt(old, payloads)

    def _old(self, orphans: Sequence[str]) -> list[str]:
        now_ns, grace_ns = self._context.runtime.now_ns(), self._context.settings.grace_ms * 1_000_000
        for message_id in orphans:
            if len(self._first_seen_ns) < REMEMBERED_MAX:
                self._first_seen_ns.setdefault(message_id, now_ns)
        return [one for one in orphans if now_ns - self._first_seen_ns.get(one, now_ns) >= grace_ns]

    async def _adopt(self, orphans: Sequence[str], payloads: dict[str, bytes]) -> None:
        context = self._context
        records = await context.replicas.records(orphans)
        if len(records) < context.replicas.zones:
            return  # the zone that is missing may have the tombstone
        known = [one for one in orphans if any(of_zone[one] for of_zone in records.values())]
        await self._replica_repair.repair(known)
        settings, now_ms = context.settings, context.clock.now_ms()
        puts = []
        for message_id in orphans:
            if message_id in known:
                continue
            try:
                message = decode(payloads[message_id], message_id=message_id)
            except PayloadError:
                continue  # not a message of this queue
            puts.append(PutRequest.of(message, shard=settings.shard, due_ms=now_ms, now_ms=now_ms, settings=settings))
        for part in in_steps(puts):
            await context.steps.put(part)
            context.counters.adopted += len(part)
            self.adopted.extend(put.id for put in part)
