"""Reads of each single zone, whose contents no vote shows."""

from collections.abc import Mapping, Sequence
from typing import Any

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.dyno.hardened.records.keys import HardenedKeys
from zonelab.engine.dyno.hardened.records.record import MessageRecord
from zonelab.engine.ports import Command, Connection, Reply, Runtime, ServerError

Records = Mapping[str, Mapping[str, MessageRecord | None]]
"""Zone → id → its record there; only the zones that answered."""


class Replicas:
    """Reads from every zone at once. ``zones``: a read-only connection to each, by name."""

    def __init__(self, *, zones: Mapping[str, Connection], keys: HardenedKeys, runtime: Runtime) -> None:
        self._zones = zones
        self._keys = keys
        self._runtime = runtime

    @property
    def zones(self) -> int:
        return len(self._zones)

    @property
    def majority(self) -> int:
        return len(self._zones) // 2 + 1

    async def ask(self, *commands: Command) -> dict[str, list[Any]]:
        """The replies of every zone that has some and no error among them."""
        tasks = {
            name: self._runtime.spawn(_attempt(zone, commands), name=f"read of zone {name}")
            for name, zone in self._zones.items()
        }
        answers = {name: await task.join() for name, task in tasks.items()}
        return {name: answer for name, answer in answers.items() if answer is not None}

    async def records(self, ids: Sequence[str]) -> Records:
        """The records of ``ids`` as each zone that answers has them."""
        answers = await self.ask(("HMGET", self._keys.records, *ids))
        return {
            zone: {message_id: _record(raw) for message_id, raw in zip(ids, raws, strict=True)}
            for zone, (raws,) in answers.items()
        }

    async def payloads(self, zone: str, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the payloads of ``ids`` that ``zone`` has; none if it does not answer."""
        answer = await _attempt(self._zones[zone], [("HMGET", self._keys.messages, *ids)])
        found = answer[0] if answer is not None else [None] * len(ids)
        return {message_id: raw for message_id, raw in zip(ids, found, strict=True) if raw is not None}


def _record(raw: bytes | None) -> MessageRecord | None:
    return None if raw is None else MessageRecord.parse(raw)


async def _attempt(zone: Connection, commands: Sequence[Command]) -> list[Any] | None:
    try:
        replies: list[Reply] = await zone.execute(*commands)
    except COMMAND_FAILURES:
        return None
    return None if any(isinstance(reply, ServerError) for reply in replies) else replies
