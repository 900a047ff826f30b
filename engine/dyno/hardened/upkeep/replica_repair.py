"""Comparing what the zones have of a message, and giving each what it lacks."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.records.record import MessageRecord, RecordStatus
from zonelab.engine.dyno.hardened.records.steps import RecordChange, in_steps
from zonelab.engine.dyno.hardened.upkeep.payload_repair import PayloadRepair


@dataclass(frozen=True, slots=True)
class Plan:
    """The record ``new``, which the zone ``source`` has, goes to every zone whose own record is one of ``seen``."""

    seen: tuple[MessageRecord | None, ...]
    new: MessageRecord
    source: str


def planned(found: Mapping[str, MessageRecord | None], *, zones: int) -> Plan | None:
    """Return the repair of one message. ``found`` has its records in a majority of ``zones`` zones, or in all.

    Two tombstones win. One wins if no zone that was read has a newer lease: then the ack may have been confirmed, and
    no newer lease can have been. If a majority has a newer lease, the ack was refused, and its tombstone goes. What is
    merely absent in a zone is copied from the zone with the newest record. Leases that differ are left alone: they end.
    What waits in another shard than elsewhere is moved: each zone serves its own shard by its own lists, and a message
    that every zone lists for another one would be seen by none.
    """
    there = {zone: record for zone, record in found.items() if record is not None}
    buried = {zone: record for zone, record in there.items() if record.buried}
    if buried:
        return _burial(found, there, buried, majority=zones // 2 + 1)
    dead = {zone: record for zone, record in there.items() if record.status is RecordStatus.DEAD}
    source = _newest(dead or there)
    if source is None:
        return None
    older = tuple(
        record
        for record in found.values()
        if record is None
        or (dead and record.status is not RecordStatus.DEAD and record.ends_ms <= there[source].ends_ms)
    )
    return Plan(older, there[source], source) if older else _move(there, zones=zones)


def _move(there: Mapping[str, MessageRecord], *, zones: int) -> Plan | None:
    """To the shard that a majority of the zones has, or if all were read and none has, to the first in alphabet."""
    shards = [record.shard for record in there.values()]
    shard = max(sorted(dict.fromkeys(shards)), key=shards.count)
    if shards.count(shard) <= zones // 2 and len(shards) < zones:
        return None
    for zone, record in there.items():
        if record.shard != shard and record.status is RecordStatus.WAITING:
            return Plan((record,), record.moved(shard), zone)
    return None


def _burial(
    found: Mapping[str, MessageRecord | None],
    there: Mapping[str, MessageRecord],
    buried: Mapping[str, MessageRecord],
    *,
    majority: int,
) -> Plan | None:
    source = _newest(buried)
    assert source is not None
    tombstone = there[source]
    alive = {zone: record for zone, record in there.items() if not record.buried}
    newer = {zone: record for zone, record in alive.items() if record.ends_ms > tombstone.ends_ms}
    if len(newer) >= majority:
        newest = _newest(newer)
        assert newest is not None
        return Plan(tuple(buried.values()), newer[newest], newest)
    if len(buried) >= majority:
        targets = [record for record in found.values() if record is None or not record.buried]
    else:
        if newer and len(found) <= majority:
            return None  # the zone that was not read decides
        targets = [record for zone, record in found.items() if zone not in buried and zone not in newer]
    return Plan(tuple(targets), tombstone, source) if targets else None


def _newest(records: Mapping[str, MessageRecord]) -> str | None:
    return max(records, key=lambda zone: (records[zone].ends_ms, zone), default=None)


class ReplicaRepair:
    """Gives zones what they lack, each only if it still has what was seen."""

    def __init__(self, context: HardenedContext) -> None:
        self._context = context
        self._payloads = PayloadRepair(context)

    async def repair(self, ids: Sequence[str]) -> None:
        """Compare ``ids`` in all zones that answer, and repair what differs. Raises ``PortError``, ``ServerError``."""
        if self._context.settings.payloads_compared:
            await self._payloads.repair(ids)
        for part in in_steps(ids):
            await self._repair_step(part)

    def repair_beside(self, ids: Sequence[str]) -> None:
        """``repair`` while the caller goes on; what fails is left to the keeper."""
        self._context.runtime.spawn(self._repaired(ids), name=f"mend {self._context.settings.instance}")

    async def _repaired(self, ids: Sequence[str]) -> None:
        with suppress(*COMMAND_FAILURES):
            await self.repair(ids)

    async def _repair_step(self, ids: Sequence[str]) -> None:
        context = self._context
        records = await context.replicas.records(ids)
        if len(records) < context.replicas.majority:
            return
        plans: dict[str, Plan] = {}
        for message_id in ids:
            found = {zone: of_zone[message_id] for zone, of_zone in records.items()}
            plan = planned(found, zones=context.replicas.zones)
            if plan is not None:
                plans[message_id] = plan
        changes = await self._changes(plans)
        if changes:
            await context.steps.repair(changes, now_ms=context.clock.now_ms())
            context.counters.repaired += len(changes)

    async def _changes(self, plans: Mapping[str, Plan]) -> list[RecordChange]:
        changes = [
            RecordChange(message_id, seen, plan.new.raw)
            for message_id, plan in plans.items()
            for seen in dict.fromkeys(plan.seen)
        ]
        payloads: dict[str, bytes] = {}
        for zone in dict.fromkeys(plan.source for plan in plans.values()):
            ids = [one for one, plan in plans.items() if plan.source == zone and not plan.new.buried]
            if ids:
                payloads |= await self._context.replicas.payloads(zone, ids)
        return [
            replace(change, payload=payloads.get(change.id))
            for change in changes
            if plans[change.id].new.buried or change.id in payloads
        ]
