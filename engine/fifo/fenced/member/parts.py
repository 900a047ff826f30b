"""The parts of a member that differ in mode ``fenced`` from those of the other modes."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.consumer.consume_loop import ConsumeLoop
from zonelab.engine.fifo.consumer.context import MemberContext
from zonelab.engine.fifo.consumer.offsets import Offsets
from zonelab.engine.fifo.consumer.ownership import Ownership
from zonelab.engine.fifo.consumer.process_queue import ProcessQueue
from zonelab.engine.fifo.consumer.results import Results
from zonelab.engine.fifo.consumer.revoke import Revoke
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.engine.fifo.fenced.member.ownership import FencedOwnership
from zonelab.engine.fifo.fenced.member.results import FencedResults
from zonelab.engine.fifo.fenced.member.tenures import Tenures
from zonelab.engine.fifo.fenced.member.zones import FencedZones
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.partition import Partition


class NoOffsets(Offsets):
    """Keeps no cursor: each result is at the zones before the next batch begins, so nothing waits to be written."""

    def reach(self, partition: Partition, progress: Progress, *, only_up: bool = False) -> None:
        """A pull that finds nothing reports nothing."""


class DrainedRevoke(Revoke):
    """Gives a partition up when its listener has ended and its result is stored.

    ``drains``: a mechanism; off, it waits for nobody.
    """

    def __init__(
        self,
        context: MemberContext,
        ownership: Ownership,
        offsets: Offsets,
        loop: ConsumeLoop,
        *,
        drains: bool = True,
    ) -> None:
        super().__init__(context, ownership, offsets, loop)
        self._drains = drains

    async def of(self, queue: ProcessQueue) -> bool:
        if self._drains:
            if not await self._quiet(queue):
                return False
            await self._loop.ended(queue.partition)
        await self._ownership.release([queue.partition], why="drained")
        return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """``look_after``: what the member does beside its work, from time to time."""

    ownership: Ownership
    offsets: Offsets
    results: Results
    loop: ConsumeLoop
    revoke: Revoke
    look_after: Callable[[], Awaitable[None]] | None = None


def parts_of(context: MemberContext, *, lost: Callable[[], None]) -> Parts:
    """``lost``: called when a partition is not the member's any more, though nobody asked it to give it up."""
    if isinstance(context.zones, FencedZones):
        return _fenced(context, context.zones.tenures, NoOffsets(context), lost)
    offsets, ownership = Offsets(context), Ownership(context)
    results = Results(context, offsets)
    loop = ConsumeLoop(context, ownership, results)
    revoke = Revoke(context, ownership, offsets, loop)
    return Parts(ownership=ownership, offsets=offsets, results=results, loop=loop, revoke=revoke)


def _fenced(context: MemberContext, tenures: Tenures, offsets: Offsets, lost: Callable[[], None]) -> Parts:
    ownership = FencedOwnership(context, tenures, lost)
    stores = tenures.has(Fencing.STORED_ATTEMPTS)
    results = FencedResults(context, offsets, tenures, ownership.lose, stores=stores)
    loop = ConsumeLoop(context, ownership, results)
    drains = tenures.has(Fencing.DRAINED_RELEASE)
    revoke = DrainedRevoke(context, ownership, offsets, loop, drains=drains)

    async def look_after() -> None:
        for tenure in list(tenures.held.values()):
            try:
                await tenures.look_after(tenure)
            except COMMAND_FAILURES:
                continue

    return Parts(ownership=ownership, offsets=offsets, results=results, loop=loop, revoke=revoke, look_after=look_after)
