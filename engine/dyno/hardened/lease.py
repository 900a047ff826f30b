"""Leasing a batch of candidates, and telling which leases are one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.dyno.hardened.context import HardenedContext
from zonelab.engine.dyno.hardened.mechanisms import Hardening
from zonelab.engine.dyno.hardened.records.record import RecordStatus
from zonelab.engine.ports import Unavailable

GRANTED = "G"
ABSENT = "A"
DIVERGED = (ABSENT, "D", "X")
"""Two zones have no record of what a zone lists, or have buried it, or set it aside."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseResult:
    """``mine``: ids that are leased. ``diverged``: ids over which the zones differ."""

    token: str
    start_ms: int
    ends_ms: int
    mine: list[str] = field(default_factory=list)
    diverged: list[str] = field(default_factory=list)


class Leaser:
    """Leases batches for one object, each under a token of its own, and finds out which leases were granted."""

    def __init__(self, context: HardenedContext) -> None:
        self._context = context
        self._count = 0

    async def lease(self, payloads: Mapping[str, bytes], *, lease_ms: int | None = None) -> LeaseResult:
        """Lease those of the ids that can be, for ``lease_ms`` or as long as the queue's leases are.

        ``payloads``: by id, as they were read. Raises what the port raises if there is none, for want of answers.
        """
        context, ids = self._context, list(payloads)
        start_ms = context.clock.now_ms()
        ends_ms = start_ms + (lease_ms or context.settings.lease_ms)
        leased = LeaseResult(token=self._token(), start_ms=start_ms, ends_ms=ends_ms)
        try:
            answers = await context.steps.lease(payloads, token=leased.token, now_ms=start_ms, ends_ms=ends_ms)
        except Unavailable:
            raise
        except COMMAND_FAILURES:
            if not context.settings.has(Hardening.LEASE_PROOF):
                raise
            leased.mine.extend(await self._proven(ids, leased.token))
            lost = [message_id for message_id in ids if message_id not in leased.mine]
            await self._give_back(lost, leased.token)
            if not leased.mine:
                raise
        else:
            for message_id, answer in zip(ids, answers, strict=True):
                if answer == GRANTED:
                    leased.mine.append(message_id)
                elif answer in DIVERGED:
                    leased.diverged.append(message_id)
            # The zone that listed a message may have it before the others, and has then granted what nobody won.
            absent = [one for one, answer in zip(ids, answers, strict=True) if answer == ABSENT]
            await self._give_back(absent, leased.token)
        return leased

    def _token(self) -> str:
        self._count += 1
        return f"{self._context.settings.instance}.{self._count}"

    async def _proven(self, ids: Sequence[str], token: str) -> list[str]:
        """Return those of ``ids`` that a majority of the zones shows as leased with ``token``."""
        replicas = self._context.replicas
        records = await replicas.records(ids)
        mine = []
        for message_id in ids:
            found = [of_zone[message_id] for of_zone in records.values()]
            shown = [one for one in found if one and one.status is RecordStatus.LEASED and one.token == token]
            if len(shown) >= replicas.majority:
                mine.append(message_id)
        self._context.counters.proven += len(mine)
        return mine

    async def _give_back(self, ids: Sequence[str], token: str) -> None:
        """Nobody has them now; without this they would be blocked until the lease ends."""
        if not ids or not self._context.settings.has(Hardening.HEAD_OF_LINE_REPAIR):
            return
        try:
            await self._context.steps.release(ids, token=token, delivered=False)
        except COMMAND_FAILURES:
            return  # they end by themselves
        self._context.counters.given_back += len(ids)
