"""Messages of a key that could not be handled: they wait aside, in their order, for whoever mends the cause."""

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.record import LogEntry
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Command, Connection


class ParkedKeys:
    """A member learns of parked keys when it gets a partition, and of those that were taken up again then, too."""

    def __init__(self, *, level: Connection, keys: FifoKeys) -> None:
        self._level, self._keys = level, keys

    async def add(self, partition: Partition, group: str, entry: LogEntry) -> None:
        """Once, however often."""
        text = f"{entry.offset} {entry.record.text()}"
        command: Command = ("ZADD", self._keys.parked(partition, group), entry.offset, text)
        await write(self._level, [command], name="park")

    async def parked_keys(self, partition: Partition, group: str) -> set[str]:
        return {entry.record.key for entry in await self.listed(partition, group)}

    async def listed(self, partition: Partition, group: str) -> list[LogEntry]:
        """In the order of their offsets."""
        (raws,) = await read(self._level, [("ZRANGE", self._keys.parked(partition, group), 0, -1)])
        return [LogEntry.parse(raw) for raw in raws]

    async def take_up(self, partition: Partition, group: str, key: str) -> list[LogEntry]:
        """Unpark the messages of ``key`` and return them in order: the caller must handle them."""
        taken = [entry for entry in await self.listed(partition, group) if entry.record.key == key]
        if taken:
            texts = [f"{entry.offset} {entry.record.text()}" for entry in taken]
            await write(self._level, [("ZREM", self._keys.parked(partition, group), *texts)], name="take up")
        return taken
