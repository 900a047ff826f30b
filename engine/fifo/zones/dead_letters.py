"""Messages that a group gave up on."""

import json
from dataclasses import dataclass

from zonelab.engine.common.pipelines import read, write
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.record import LogEntry
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.scripts import run
from zonelab.engine.ports import Connection


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """``attempts``: how often it had failed, as the version of RocketMQ counts that. ``partition``: TOPIC/NUMBER."""

    id: str
    partition: str
    offset: int
    attempts: int


class DeadLetters:
    """The dead letters of ``group``. Nothing keeps a message from being listed twice."""

    def __init__(self, group: str, *, level: Connection, keys: FifoKeys) -> None:
        self._level = level
        self._listed, self._count = keys.dead_letters(group), keys.dead_letter_count(group)

    async def add(self, partition: Partition, entry: LogEntry, *, attempts: int, delay_ms: int) -> None:
        text = json.dumps([entry.record.id, partition.name, entry.offset, attempts])
        await write(self._level, [run("dead_letter", [self._listed, self._count], text, delay_ms)], name="dead letter")

    async def listed(self, *, now_ms: int) -> list[DeadLetter]:
        """Those that are listed by ``now_ms``, in the order of the times from which they are."""
        (raws,) = await read(self._level, [("ZRANGEBYSCORE", self._listed, "-inf", now_ms)])
        parts = [json.loads(raw.decode().partition(" ")[2]) for raw in raws]
        return [DeadLetter(id=a, partition=b, offset=c, attempts=d) for a, b, c, d in parts]
