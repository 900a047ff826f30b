"""Resizing a fenced topic: its route is a register, and each partition is sealed and its log ended.

A zone with the seal takes no push. Whoever gives offsets to the log gives them to all that is left, and ends it
(``FencedLog.end_if_sealed``). What became of a push that was refused is read in the log that has ended.
"""

from zonelab.engine.common.mutex import Mutex
from zonelab.engine.fifo.fenced.cursor import CursorState
from zonelab.engine.fifo.fenced.keys import LOG_REGISTER, ROUTE_REGISTER, SEAL_REGISTER, group_register, route_partition
from zonelab.engine.fifo.fenced.log import LogState
from zonelab.engine.fifo.fenced.register import Register, RegisterStore
from zonelab.engine.fifo.fenced.trimming import groups_of
from zonelab.engine.fifo.fenced.views import RegisterView, Views
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import DelayedRecord, PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.topics.route import TopicRoute
from zonelab.engine.fifo.topics.routes import Routes
from zonelab.engine.ports import Unavailable
from zonelab.engine.units import NS_PER_MS

SEALED = "sealed"
LOOK_MS = 50
"""Between two looks at whether a log has ended."""


async def known_log(views: Views, partition: Partition) -> LogState | None:
    """The log as two zones show it alike; None if no two do."""
    shown = await views.alike(partition, LOG_REGISTER)
    return None if shown is None else LogState.parse(shown[0].state)


async def held(views: Views, partition: Partition, record: PartitionRecord) -> bool | None:
    """Return whether ``record`` is in the log as two zones show it; None if nobody knows yet."""
    log = await known_log(views, partition)
    return None if log is None else log.holds(record)


class FencedRoutes(Routes):
    """The route of ``topic`` is what two zones show alike, and whoever changes it owns its register meanwhile."""

    def __init__(self, topic: str, *, zones: tuple[str, ...], store: RegisterStore, keys: FifoKeys) -> None:
        super().__init__(topic, zones=zones, level=store.decides, keys=keys)
        self._store, self._partition = store, route_partition(topic, zones)
        self._turn = Mutex(store.runtime)

    async def read(self) -> TopicRoute | None:
        """None: the topic was not created. Raises ``Unavailable`` if no two zones show the same."""
        shown = await self._store.views.alike(self._partition, ROUTE_REGISTER)
        if shown is None:
            raise Unavailable(f"topic {self._topic}: no two zones show the same route")
        state = shown[0].state
        return TopicRoute.parse(state, topic=self._topic, zones=self._zones) if state else None

    async def _put(self, expected: str, new: TopicRoute) -> bool:
        """Write ``new`` if ``expected`` was found. The route that is found counts from now on, whoever wrote it."""
        async with self._turn:
            register = Register(store=self._store, partition=self._partition, name=ROUTE_REGISTER)
            found = await taken(register)
            agrees = found.state in (expected, new.text())
            await register.write(new.text() if agrees else found.state)
            await register.give_up()
            return agrees


class SealedLogs(PartitionLogs):
    """Operations on fenced partitions for a resize and for waiting for its end. ``store``: of one session."""

    def __init__(self, store: RegisterStore, *, keys: FifoKeys) -> None:
        super().__init__(level=store.decides, reads=store.decides, keys=keys)
        self._store = store

    async def seal(self, partition: Partition) -> int:
        """Seal like other logs, and wait until the log has ended."""
        register = Register(store=self._store, partition=partition, name=SEAL_REGISTER)
        await taken(register)
        await register.write(SEALED)
        await register.give_up()
        while True:
            log = await known_log(self._store.views, partition)
            if log is not None and log.ended:
                return log.end
            await self._store.runtime.sleep(LOOK_MS * NS_PER_MS)

    async def progress(self, partition: Partition, group: str) -> Progress | None:
        """Return the progress of ``group`` on which two zones agree; None if no two do."""
        shown = await self._store.views.alike(partition, group_register(group))
        state = "" if shown is None else shown[0].state
        return CursorState.parse(state).progress if state else None

    async def groups(self, partition: Partition) -> dict[str, int]:
        """Return the progress of each group, like other logs; 0 for a group on which no two zones agree. Raises
        ``Unadmitted``.
        """
        found = {}
        for group in await groups_of(self._store.views, partition):
            progress = await self.progress(partition, group)
            found[group] = 0 if progress is None else progress.cursor
        return found

    async def holds(self, partition: Partition, record: PartitionRecord) -> bool | None:
        return await held(self._store.views, partition, record)

    async def delayed(self, partition: Partition) -> list[DelayedRecord]:
        """None: a sealed log ends after all that was delayed is in it."""
        return []

    async def forget_delayed(self, partition: Partition) -> None:
        """There are none."""


async def taken(register: Register) -> RegisterView:
    """Take ``register`` and return its content. Raises ``Unavailable`` if somebody else has it."""
    store, partition = register.store, register.partition
    if await store.admission.era(partition) is None:
        await store.admission.mend(partition)
    found = await register.claim()
    if found is None:
        raise Unavailable(f"register {register.name} of {partition.name}: somebody else has it")
    return found
