"""Ownership of one session: partitions, each with its group's register and, if nobody else has it, that of its log."""

from dataclasses import dataclass

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.mutex import Mutex
from zonelab.engine.fifo.fenced.cursor import GroupCursor
from zonelab.engine.fifo.fenced.log import FencedLog
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.engine.fifo.fenced.register import RegisterStore
from zonelab.engine.fifo.fenced.resizing import known_log
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import Begin
from zonelab.engine.ports import Unavailable


@dataclass(frozen=True, kw_only=True, slots=True)
class Tenure:
    """``token``: of the group's register, as long as it was held. ``turn``: renewals and release, one by one."""

    cursor: GroupCursor
    log: FencedLog
    token: int
    turn: Mutex

    @property
    def lasts(self) -> bool:
        return self.cursor.register.token == self.token


class Tenures:
    """Partitions that one session of ``group`` owns. ``near``: the zone whose inboxes are looked at first. ``without``:
    mechanisms that are off. ``route``: where the topic's is kept, if that is resized.
    """

    def __init__(
        self,
        store: RegisterStore,
        group: str,
        *,
        near: str,
        begins: Begin,
        without: frozenset[Fencing] = frozenset(),
        route: Partition | None = None,
    ) -> None:
        self.store = store
        self._group, self._near, self._begins, self._without = group, near, begins, without
        self._route = route
        self.held: dict[Partition, Tenure] = {}

    def has(self, mechanism: Fencing) -> bool:
        return mechanism not in self._without

    async def take(self, partition: Partition) -> Tenure | None:
        """Own ``partition``; None if somebody else does. Raises what the port raises, and ``Fenced``."""
        store = self.store
        if await store.admission.era(partition) is None:
            await store.admission.mend(partition)
        cursor = GroupCursor(store, partition, self._group)
        if not await cursor.take():
            return None
        log = FencedLog(
            store,
            partition,
            near=self._near,
            one_writer=self.has(Fencing.ONE_WRITER),
            proves=self.has(Fencing.PROVEN_ENTRIES),
        )
        try:
            await log.take()
            await cursor.adopt(begins=0 if cursor.began else await self._beginning(log))
        except COMMAND_FAILURES:
            await self._give_back(cursor, log)
            raise
        tenure = Tenure(cursor=cursor, log=log, token=cursor.register.token, turn=Mutex(store.runtime))
        self.held[partition] = tenure
        return tenure

    async def _beginning(self, log: FencedLog) -> int:
        """Return the offset at which a group without a cursor begins. Raises what the port raises."""
        if self._begins is Begin.FIRST:
            return await log.floor()
        if log.writes:
            return log.end
        known = await known_log(self.store.views, log.partition)
        if known is None:
            raise Unavailable(f"{log.partition.name}: no two zones show the same end of the log")
        return known.end

    def of(self, partition: Partition, token: int) -> Tenure | None:
        """The tenure under ``token``, if it lasts as far as we know."""
        tenure = self.held.get(partition)
        return tenure if tenure is not None and tenure.token == token and tenure.lasts else None

    def forget(self, partition: Partition, token: int) -> None:
        tenure = self.held.get(partition)
        if tenure is not None and tenure.token == token:
            del self.held[partition]

    async def renew(self, tenure: Tenure) -> None:
        """Move the ends of its leases. Raises what the port raises, and ``Fenced``."""
        await tenure.cursor.register.renew()
        if tenure.log.writes:
            await tenure.log.register.renew()

    async def release(self, tenure: Tenure) -> None:
        """Let the next owner begin at once. Raises what the port raises, and ``Fenced``."""
        try:
            await tenure.log.release()
        finally:
            await tenure.cursor.release()

    async def look_after(self, tenure: Tenure) -> None:
        """Admit zones that do not take part, and give those that do what they missed; end the log if it is sealed."""
        if tenure.log.writes:
            await self.store.admission.mend(tenure.log.partition)
            await tenure.log.repair()
            if self._route is not None:
                await tenure.log.end_if_sealed()
                if tenure.log.partition.number == 0:
                    await self.store.admission.mend(self._route)

    async def _give_back(self, cursor: GroupCursor, log: FencedLog) -> None:
        for release in (log.release, cursor.release):
            try:
                await release()
            except COMMAND_FAILURES:
                continue
