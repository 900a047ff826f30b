"""The log of each partition, and how far each group is in it.

Appending is one plain script, which every zone carries out by itself: zones that hear two producers in different
orders give their records different offsets. RocketMQ has one broker for each log and no such window.
"""

from dataclasses import dataclass
from typing import Any

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.log.record import DelayedRecord, LogEntry, PartitionRecord
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.scripts import run
from zonelab.engine.ports import Command, Connection, ServerError

APPENDED, DUPLICATE, OLD, GAP, SEALED, DELAYED, DELAYED_BEFORE = range(7)


class OutOfSequence(ServerError):
    """The log refuses a record, certainly: an idempotent producer has already put a later one in, or one is missing."""


class Sealed(ServerError):
    """The log takes no more records: the topic is being resized."""


class EndedWithout(Sealed):
    """The log has ended, and the record is certainly not in it, however often it was sent."""


@dataclass(frozen=True, slots=True)
class AppendResult:
    """``offset``: None if it gets one later. ``duplicate``: the record was there before, at this offset."""

    offset: int | None
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Page:
    """Result of one read of a partition.

    ``end``: the offset of the next record. ``due_ms``: time at which the next delayed record is due; None if there is
    none.
    """

    entries: list[LogEntry]
    end: int
    due_ms: int | None


class PartitionLogs:
    """Every call is one round trip and raises ``PortError`` and, for an error reply, ``ServerError``.

    ``reads``: how records are read, ``level``: all the rest.
    """

    def __init__(self, *, level: Connection, reads: Connection, keys: FifoKeys) -> None:
        self._level, self._reads, self._keys = level, reads, keys

    async def append(
        self,
        partition: Partition,
        record: PartitionRecord,
        *,
        idempotent: bool,
        now_ms: int | None = None,
        due_ms: int | None = None,
    ) -> AppendResult:
        """The offset of ``record``, now in the log, behind all that is due by ``now_ms``.

        ``due_ms``: it waits until then, and goes in in the order of (due, epoch, sequence). ``idempotent``: not a
        second time if it is the last of its producer. Raises ``OutOfSequence`` if it is neither that nor the one that
        follows, and ``Sealed``.
        """
        now, due = ("" if ms is None else ms for ms in (now_ms, due_ms))
        sequence = record.sequence if idempotent else ""
        words = (record.text(), record.producer, sequence, now, due, record.place)
        code, number = await self._write("append", run("append", self._log_keys(partition), *words))
        if code in (DELAYED, DELAYED_BEFORE):
            return AppendResult(None, code == DELAYED_BEFORE)
        if code in (APPENDED, DUPLICATE):
            return AppendResult(number, code == DUPLICATE)
        if code == SEALED:
            raise Sealed(f"partition {partition.name} is sealed at {number}")
        what = "is older than" if code == OLD else "leaves a gap after"
        raise OutOfSequence(f"number {record.sequence} of producer {record.producer!r} {what} {number}")

    async def read(self, partition: Partition, *, offset: int, count: int) -> list[LogEntry]:
        """Up to ``count`` records from ``offset`` on; an offset that the log lacks is skipped."""
        return (await self.page(partition, offset=offset, count=count)).entries

    async def page(self, partition: Partition, *, offset: int, count: int) -> Page:
        """Read, and return also where the log ends and when the next delayed record is due."""
        commands: list[Command] = [
            ("ZRANGEBYSCORE", self._keys.log(partition), offset, "+inf", "LIMIT", 0, count),
            ("HGET", self._keys.meta(partition), "next"),
            ("ZRANGE", self._keys.delayed(partition), 0, 0, "WITHSCORES"),
        ]
        raws, end, first = await read(self._reads, commands)
        return Page([LogEntry.parse(raw) for raw in raws], int(end or 0), int(float(first[1])) if first else None)

    async def deliver(self, partition: Partition, *, now_ms: int) -> int:
        """Put what is due by ``now_ms`` into the log; how many records that were."""
        return int(await self._write("deliver", run("deliver", self._log_keys(partition), now_ms)))

    async def delayed(self, partition: Partition) -> list[DelayedRecord]:
        """Return the records that are not in the log yet, in the order in which they will enter it."""
        command: Command = ("ZRANGE", self._keys.delayed(partition), 0, -1, "WITHSCORES")
        (found,) = await read(self._reads, [command])
        return [DelayedRecord.parse(raw, score) for raw, score in zip(found[::2], found[1::2], strict=True)]

    async def delay_there(self, partition: Partition, records: list[DelayedRecord]) -> None:
        """Those wait for ``partition``, once, however often it is said."""
        pairs = [each for delayed in records for each in (delayed.due_ms, delayed.text())]
        if pairs:
            await self._write("delay", ("ZADD", self._keys.delayed(partition), *pairs))

    async def end(self, partition: Partition) -> int:
        """The offset of the next record."""
        (raw,) = await read(self._reads, [("HGET", self._keys.meta(partition), "next")])
        return int(raw or 0)

    async def progress(self, partition: Partition, group: str) -> Progress | None:
        """Return the progress of ``group``; None if it has committed nothing yet."""
        (raw,) = await read(self._reads, [("HGET", self._keys.cursors(partition), group)])
        return None if raw is None else Progress.parse(raw)

    async def forget_delayed(self, partition: Partition) -> None:
        """Forget the delayed records of ``partition``, which wait elsewhere now."""
        await self._write("delay", ("DEL", self._keys.delayed(partition)))

    async def seal(self, partition: Partition) -> int:
        """No record follows the last one any more; the offset that the next would have had."""
        return int(await self._write("seal", run("seal", [self._keys.meta(partition)])))

    async def holds(self, _partition: Partition, _record: PartitionRecord) -> bool | None:
        """Return whether ``_record``, of a producer that gave up on it, is in a log that has ended. None: nobody knows
        yet.
        """
        return False

    async def groups(self, partition: Partition) -> dict[str, int]:
        """The cursor of every group that has begun with the partition."""
        commands: list[Command] = [
            ("HGETALL", self._keys.groups(partition)),
            ("HGETALL", self._keys.cursors(partition)),
        ]
        known: dict[str, int] = {}
        for reply in await read(self._reads, commands):
            known |= {
                group.decode(): Progress.parse(raw).cursor for group, raw in zip(reply[::2], reply[1::2], strict=True)
            }
        return known

    async def join(self, partition: Partition, group: str, offset: int) -> None:
        """``group``, which has said nothing yet, begins at ``offset``: nothing behind it is trimmed."""
        await self._write("join", ("HSETNX", self._keys.groups(partition), group, offset))

    async def commit(self, partition: Partition, group: str, progress: Progress) -> None:
        """That is how far ``group`` is, whoever asks and whatever it was."""
        await self._write("commit", ("HSET", self._keys.cursors(partition), group, progress.text()))

    async def trim(self, partition: Partition, *, kept: int) -> int:
        """Drop what is more than ``kept`` records behind the slowest group; how many that were."""
        names = (self._keys.log, self._keys.cursors, self._keys.producers, self._keys.groups)
        return int(await self._write("trim", run("trim", [name(partition) for name in names], kept)))

    def _log_keys(self, partition: Partition) -> list[str]:
        keys = self._keys
        return [name(partition) for name in (keys.log, keys.meta, keys.producers, keys.delayed)]

    async def _write(self, name: str, command: Command) -> Any:
        (reply,) = await write(self._level, [command], name=name)
        return reply
