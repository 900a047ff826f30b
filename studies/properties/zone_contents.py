"""Contents of a zone for each message at rest, and which of these states are legal."""

from collections.abc import AsyncIterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from zonelab.analysis.message_classes import MessageClass
from zonelab.studies.properties.ledger import Fate


@dataclass(frozen=True, kw_only=True, slots=True)
class Holdings:
    """The ids that one zone's server holds: their payloads, and shard by shard who is listed, waiting or leased."""

    payloads: frozenset[str] = frozenset()
    waiting: Mapping[str, frozenset[str]] = field(default_factory=dict)
    leased: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    async def of(cls, rows: AsyncIterable[Mapping[str, Any]]) -> "Holdings":
        """Return the holdings in the rows of an end state (``QueueUnderTest.final_state``)."""
        found: dict[str, dict[str, set[str]]] = {"payload": {}, "queue": {}, "unack": {}}
        async for row in rows:
            found[row["place"]].setdefault(row["shard"] or "", set()).add(row["message_id"])
        payloads, waiting, leased = (
            {shard: frozenset(ids) for shard, ids in places.items()} for places in found.values()
        )
        return cls(payloads=payloads.get("", frozenset()), waiting=waiting, leased=leased)

    def state(self, message_id: str) -> str:
        """``H`` for the payload, ``Q:x`` and ``U:x`` for each shard x where it waits or is leased; ``-`` for nothing.

        A sound message is ``H Q:x`` or ``H U:x``.
        """
        parts = ["H"] if message_id in self.payloads else []
        parts += [f"Q:{shard}" for shard, ids in self.waiting.items() if message_id in ids]
        parts += [f"U:{shard}" for shard, ids in self.leased.items() if message_id in ids]
        return " ".join(parts) or "-"

    def has_payload(self, message_id: str) -> bool:
        return message_id in self.payloads

    def lists(self, message_id: str) -> int:
        """In how many places it is listed."""
        return sum(message_id in ids for places in (self.waiting, self.leased) for ids in places.values())


def violations(fate: Fate, holdings: Mapping[str, Holdings], *, home: str | None) -> Iterator[tuple[MessageClass, str]]:
    """Yield how the state of one message at rest breaks conservation. ``home``: the zone that serves it.

    Owed: payload and a place in the list, in every zone; else it cannot be delivered there. Acknowledged: at home no
    payload that is listed, for it would be delivered again. An undisturbed message has one exact state everywhere:
    payload and one place while it is owed, nothing once it is acknowledged.
    """
    message_id = fate.message.id
    states = "; ".join(f"{zone}: {held.state(message_id)}" for zone, held in holdings.items())
    if fate.owed:
        if broken := [zone for zone, held in holdings.items() if not _keeps(held, message_id)]:
            yield _loss(fate, holdings, home), f"owed, and not kept whole in {', '.join(broken)} ({states})"
        elif not fate.disturbed and any(held.lists(message_id) != 1 for held in holdings.values()):
            yield MessageClass.STUCK, f"owed, and listed more than once although nothing had gone wrong ({states})"
    elif fate.acked and home is not None:
        if _keeps(holdings[home], message_id):
            yield MessageClass.RESURRECTED, f"acknowledged, and ready to be delivered again ({states})"
        elif not fate.disturbed and any(held.state(message_id) != "-" for held in holdings.values()):
            orphan = holdings[home].has_payload(message_id)
            kind = MessageClass.ORPHAN if orphan else MessageClass.PHANTOM
            yield kind, f"acknowledged, and left behind although nothing had gone wrong ({states})"


def _keeps(held: Holdings, message_id: str) -> bool:
    return held.has_payload(message_id) and held.lists(message_id) > 0


def _loss(fate: Fate, holdings: Mapping[str, Holdings], home: str | None) -> MessageClass:
    """Return the class of loss that the checker of recorded runs names, were this the end of the run."""
    message_id = fate.message.id
    at_home = home is not None and holdings[home].lists(message_id) > 0
    anywhere = any(held.lists(message_id) for held in holdings.values())
    if at_home or (anywhere and not fate.delivered):
        return MessageClass.STUCK
    return MessageClass.ABANDONED if fate.delivered else MessageClass.LOST
