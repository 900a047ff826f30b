"""The state in the zones that a member uses where partitions are fenced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from zonelab.engine.fifo.consumer.context import Zones
from zonelab.engine.fifo.fenced.admission import Admission
from zonelab.engine.fifo.fenced.inbox import Inbox
from zonelab.engine.fifo.fenced.keys import FencedKeys
from zonelab.engine.fifo.fenced.leases import SeenLeases
from zonelab.engine.fifo.fenced.mechanisms import Fencing
from zonelab.engine.fifo.fenced.member.tenures import Tenure, Tenures
from zonelab.engine.fifo.fenced.register import RegisterStore
from zonelab.engine.fifo.fenced.resizing import LOOK_MS, held
from zonelab.engine.fifo.fenced.views import Views
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.partition_log import AppendResult, EndedWithout, Page, PartitionLogs, Sealed
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import ConsumerSettings, LeaseClock
from zonelab.engine.fifo.zones.dead_letters import DeadLetters
from zonelab.engine.fifo.zones.locks import Locks
from zonelab.engine.fifo.zones.members import Members
from zonelab.engine.fifo.zones.parked import ParkedKeys
from zonelab.engine.ports import Clock, Connection, Indeterminate, Runtime
from zonelab.engine.units import NS_PER_MS

ENDS_MS = 10_000
"""Longest wait of a push to a sealed partition for the end of its log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wires:
    """Connections and times of one program. ``safe``: at DC_SAFE_QUORUM; ``level``: at that of the user's choice;
    ``zones``: for reading each zone alone; ``near``: which of them is its own. ``session``: a name without blanks that
    no other program has or had.
    """

    session: str
    runtime: Runtime
    clock: Clock
    safe: Connection
    level: Connection
    zones: Mapping[str, Connection]
    near: str
    keys: FencedKeys
    without: frozenset[Fencing] = frozenset()

    def has(self, mechanism: Fencing) -> bool:
        return mechanism not in self.without

    @property
    def decides(self) -> Connection:
        return self.safe if self.has(Fencing.MAJORITY_DECISIONS) else self.level

    def views(self) -> Views:
        return Views(zones=self.zones, keys=self.keys, runtime=self.runtime, checks=self.has(Fencing.ADMISSION))

    def admission(self, views: Views) -> Admission:
        checks = self.has(Fencing.ADMISSION)
        return Admission(self.session, views=views, sends=self.safe, keys=self.keys, checks=checks)

    def store(self, *, lease_ms: int, margin_ms: int, lease_clock: LeaseClock = LeaseClock.MARGIN) -> RegisterStore:
        """Return the store that writes registers. ``lease_ms``: how long an owner holds one; ``margin_ms``:
        of clocks.
        """
        views = self.views()
        observes = lease_clock is LeaseClock.OBSERVATION and self.has(Fencing.LEASE_MARGIN)
        return RegisterStore(
            session=self.session,
            runtime=self.runtime,
            clock=self.clock,
            decides=self.decides,
            views=views,
            admission=self.admission(views),
            keys=self.keys,
            lease_ms=lease_ms,
            clock_margin_ms=margin_ms if self.has(Fencing.LEASE_MARGIN) else 0,
            seen=SeenLeases(runtime=self.runtime, lease_ms=lease_ms) if observes else None,
            proves=self.has(Fencing.MAJORITY_DECISIONS),
            adopts=self.has(Fencing.ADOPTION),
            orders=self.has(Fencing.ORDERED_WRITES),
        )

    def inbox(self, admission: Admission | None = None) -> Inbox:
        admission = admission or self.admission(self.views())
        return Inbox(decides=self.decides, admission=admission, keys=self.keys, clock=self.clock)


class FencedLogs(PartitionLogs):
    """``PartitionLogs`` for the partitions that this session owns; ``append`` works on any."""

    def __init__(self, *, wires: Wires, tenures: Tenures | None, keys: FifoKeys, groups: Sequence[str] = ()) -> None:
        super().__init__(level=wires.safe, reads=wires.safe, keys=keys)
        self._groups = groups
        self._clock, self._tenures, self._runtime, self._views = wires.clock, tenures, wires.runtime, wires.views()
        self._inbox = wires.inbox(None if tenures is None else tenures.store.admission)

    async def append(
        self,
        partition: Partition,
        record: PartitionRecord,
        *,
        idempotent: bool = True,
        now_ms: int | None = None,
        due_ms: int | None = None,
    ) -> AppendResult:
        """Two zones have ``record`` in the inbox; it has no offset yet.

        Where the partition is sealed it waits for the end of the log: *duplicate* if the record is in it, otherwise
        ``EndedWithout``.
        """
        try:
            await self._inbox.put(partition, [record], delayed=due_ms is not None)
        except Sealed as error:
            if not await self._found_at_the_end(partition, record):
                raise EndedWithout(f"{partition.name} has ended without number {record.sequence}") from error
            return AppendResult(None, duplicate=True)
        return AppendResult(None, duplicate=False)

    async def holds(self, partition: Partition, record: PartitionRecord) -> bool | None:
        return await held(self._views, partition, record)

    async def append_all(self, partition: Partition, records: Sequence[PartitionRecord]) -> None:
        """Append several records in one write, which costs about as much as one.

        Raises ``Sealed``; ``holds`` then returns the fate of each.
        """
        await self._inbox.put(partition, records)

    async def page(self, partition: Partition, *, offset: int, count: int) -> Page:
        tenure = self._tenure(partition)
        if tenure is None:
            return Page([], offset, None)
        state, store = tenure.cursor.state, tenure.cursor.register.store
        if self._clock.now_ms() < state.rests_until_ms + store.clock_margin_ms and offset == state.progress.cursor:
            return Page([], offset, None)  # the owner before us got the answer to wait
        tenure.log.forget(state.progress.cursor)
        entries = await tenure.log.read(offset, count)
        return Page(entries, max(offset, tenure.log.end), None)

    async def end(self, partition: Partition) -> int:
        tenure = self._tenure(partition)
        return 0 if tenure is None else tenure.log.end

    async def progress(self, partition: Partition, group: str) -> Progress | None:
        tenure = self._tenure(partition)
        return None if tenure is None else tenure.cursor.state.progress

    async def join(self, partition: Partition, group: str, offset: int) -> None:
        """The register of the group says where it began."""

    async def commit(self, partition: Partition, group: str, progress: Progress) -> None:
        """Results are written as they come."""

    async def trim(self, partition: Partition, *, kept: int) -> int:
        """Trim like other logs, if this session writes that of ``partition``."""
        tenure = self._tenure(partition)
        return 0 if tenure is None else await tenure.log.trim(kept=kept, groups=self._groups)

    async def _found_at_the_end(self, partition: Partition, record: PartitionRecord) -> bool:
        gives_up_ns = self._runtime.now_ns() + ENDS_MS * NS_PER_MS
        while (found := await self.holds(partition, record)) is None:
            if self._runtime.now_ns() >= gives_up_ns:
                raise Indeterminate(f"{partition.name} is sealed, and its log has not ended yet")
            await self._runtime.sleep(LOOK_MS * NS_PER_MS)
        return found

    def _tenure(self, partition: Partition) -> Tenure | None:
        return None if self._tenures is None else self._tenures.held.get(partition)


class FencedParkedKeys(ParkedKeys):
    """Parked keys, read from the state of the cursor that this member writes."""

    def __init__(self, tenures: Tenures, *, level: Connection, keys: FifoKeys) -> None:
        super().__init__(level=level, keys=keys)
        self._tenures = tenures

    async def parked_keys(self, partition: Partition, group: str) -> set[str]:
        tenure = self._tenures.held.get(partition)
        return set() if tenure is None else set(tenure.cursor.state.parked)


@dataclass(frozen=True, kw_only=True, slots=True)
class FencedZones(Zones):
    """``of_wires``: makes all of it. Members, who only say who wants to work, are as in the other modes."""

    tenures: Tenures

    @classmethod
    def of_wires(
        cls, settings: ConsumerSettings, member: str, *, wires: Wires, keys: FifoKeys, route: Partition | None = None
    ) -> Self:
        """All that ``member`` of the group of ``settings`` asks of the zones, over ``wires``.

        ``route``: where that of the topic is kept, if it is resized.
        """
        group, times = settings.group, settings.times_ms
        store = wires.store(lease_ms=times.lease, margin_ms=settings.clock_margin_ms, lease_clock=settings.lease_clock)
        keeper = settings.keeper(member)
        tenures = Tenures(store, keeper, near=wires.near, begins=settings.begins, without=wires.without, route=route)
        level, near = wires.level, wires.zones[wires.near]
        return cls(
            logs=FencedLogs(wires=wires, tenures=tenures, keys=keys, groups=settings.groups),
            locks=Locks(group, level=level, keys=keys, lease_ms=times.lease),
            members=Members(
                group, level=level, near=near, keys=keys, expiry_ms=times.member_expiry, scan_ms=times.member_scan
            ),
            dead_letters=DeadLetters(group, level=level, keys=keys),
            parked=FencedParkedKeys(tenures, level=level, keys=keys),
            tenures=tenures,
        )

    def fence(self, partition: Partition) -> tuple[int, int] | None:
        tenure = self.tenures.held.get(partition)
        return None if tenure is None else (tenure.cursor.register.generation, tenure.token)

    def failed(self, partition: Partition) -> Mapping[int, int]:
        tenure = self.tenures.held.get(partition)
        return {} if tenure is None else tenure.cursor.state.failed
