"""Gives all zones the same payload of an id: of two pushes at once each may be first in some zone."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.records.record import MessageRecord
from zonelab.engine.dyno.hardened.records.steps import RecordChange, in_steps


class Copy(NamedTuple):
    """A zone's copy of a message that it lists."""

    record: MessageRecord
    payload: bytes


class PayloadRepair:
    """Gives zones the payload, and with it the record, that a majority of the zones has."""

    def __init__(self, context: HardenedContext) -> None:
        self._context = context

    async def repair(self, ids: Sequence[str]) -> None:
        """Compare the payloads of ``ids`` in all zones that answer. Raises ``PortError``, ``ServerError``."""
        context = self._context
        for part in in_steps(ids):
            copies = await self._copies(part)
            changes = [change for one in part for change in changed(one, copies[one], zones=context.replicas.zones)]
            if changes:
                await context.steps.repair(changes, now_ms=context.clock.now_ms())
                context.counters.repaired += len(changes)

    async def _copies(self, ids: Sequence[str]) -> dict[str, list[Copy]]:
        """By id what each zone has that answers and has not buried it."""
        keys = self._context.keys
        answers = await self._context.replicas.ask(("HMGET", keys.records, *ids), ("HMGET", keys.messages, *ids))
        copies: dict[str, list[Copy]] = {message_id: [] for message_id in ids}
        for records, payloads in answers.values():
            for message_id, record, payload in zip(ids, records, payloads, strict=True):
                if record is not None and payload is not None:
                    copies[message_id].append(Copy(MessageRecord.parse(record), payload))
        return copies


def changed(message_id: str, copies: Sequence[Copy], *, zones: int) -> list[RecordChange]:
    """Return the changes that repair one message whose ``copies`` were found in as many of ``zones`` zones.

    A push is confirmed where a majority took it, so the payload of a majority may have been confirmed, and no other can
    have been. If every zone has one and there is no majority, none was confirmed, and any will do.
    """
    found = Counter(copy.payload for copy in copies)
    if len(found) < 2:
        return []
    payload, most = max(found.items(), key=lambda one: (one[1], one[0]))
    if most <= zones // 2 and len(copies) < zones:
        return []  # a zone that did not answer decides
    source = max((copy.record for copy in copies if copy.payload == payload), key=lambda record: record.ends_ms)
    seen = dict.fromkeys(copy.record for copy in copies if copy.payload != payload)
    return [RecordChange(message_id, record, source.raw, payload) for record in seen]
