"""Background work of an open instance on the shards that it serves: compare the zones, sweep, forget."""

from collections.abc import Sequence
from typing import Any, Protocol

from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.hardened.upkeep.orphan_sweeper import OrphanSweeper
from zonelab.engine.dyno.hardened.upkeep.replica_repair import ReplicaRepair
from zonelab.engine.dyno.scores import eligible_until

SCAN_EVERY = 4
"""One round in so many also looks at a page of all records, due or not."""

FORGOTTEN_MAX = 1_000


class Serves(Protocol):
    @property
    def shards(self) -> Sequence[str]:
        """Those whose due messages are compared."""


class Keeper:
    """Compares the zones again and again, and lets differences be repaired.

    The work of a round is bounded: a page of what is due in each zone, and every ``SCAN_EVERY`` rounds a page of all
    records, a page of payloads for the orphan sweeper, and old tombstones.
    """

    def __init__(self, context: HardenedContext, *, replica_repair: ReplicaRepair, served: Serves) -> None:
        self._context = context
        self._replica_repair = replica_repair
        self._served = served
        self._sweeper = OrphanSweeper(context, replica_repair)
        self._cursor = 0
        self._rounds = 0

    @property
    def adopted(self) -> Sequence[str]:
        """Ids without record that were listed, the last ones."""
        return tuple(self._sweeper.adopted)

    async def round(self) -> None:
        """Do one round of upkeep. Raises ``PortError``, ``ServerError``; the next round begins anew."""
        settings = self._context.settings
        self._rounds += 1
        if settings.has(Hardening.ANTI_ENTROPY):
            for shard in self._served.shards:
                await self._compare_due(shard)
        if self._rounds % SCAN_EVERY:
            return
        if settings.has(Hardening.ANTI_ENTROPY):
            await self._compare_page()
        if settings.has(Hardening.ORPHAN_SWEEPER):
            await self._sweeper.sweep()
        before_ms = self._context.clock.now_ms() - settings.retention_ms
        if await self._context.steps.buried_before(before_ms):
            await self._context.steps.forget(before_ms=before_ms, most=FORGOTTEN_MAX)

    async def _compare_due(self, shard: str) -> None:
        """Compare messages that are due, or whose lease has ended, and repair those on which zones differ."""
        keys, page, now_ms = self._context.keys, self._context.settings.page, self._context.clock.now_ms()
        ended_ms = now_ms - self._context.settings.clock_margin_ms - 1
        lists = await self._context.replicas.ask(
            ("ZRANGE", keys.ready(shard), 0, page - 1),
            ("ZRANGEBYSCORE", keys.queue_of(shard), 0, eligible_until(now_ms), "LIMIT", 0, page),
            ("ZRANGEBYSCORE", keys.unack(shard), 0, ended_ms, "LIMIT", 0, page),
        )
        await self._replica_repair.repair(_not_everywhere(list(lists.values()), most=page))

    async def _compare_page(self) -> None:
        """The own zone's records, a page after the other; other zones' keepers bring what it lacks."""
        keys, page = self._context.keys, self._context.settings.page
        ((cursor, flat),) = await self._context.steps.local(("HSCAN", keys.records, self._cursor, "COUNT", page))
        self._cursor = int(cursor)
        await self._replica_repair.repair(list(dict.fromkeys(field.decode() for field in flat[::2])))


def _not_everywhere(lists: Sequence[Sequence[Sequence[Any]]], *, most: int) -> list[str]:
    """Ids that some zone lists and another does not, in the order of the lists."""
    seen: dict[bytes, int] = {}
    for of_zone in lists:
        for message_id in dict.fromkeys(one for ids in of_zone for one in ids):
            seen[message_id] = seen.get(message_id, 0) + 1
    return [message_id.decode() for message_id, zones in seen.items() if zones < len(lists)][:most]
