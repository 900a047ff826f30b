"""fifo on simulated zones: logs, producers, and connections that fail or are slow when they are told to."""

from itertools import count
from random import Random

from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.log.record import PartitionRecord
from zonelab.engine.fifo.partition import partitions_of
from zonelab.engine.fifo.producer import Producer, SendMode
from zonelab.engine.fifo.routing.selectors import selector
from zonelab.engine.message import Message

NS_PER_MS = 1_000_000

_prefixes = count()


class Unsteady:
    """A connection with a plan: for each of the next calls None, or a number of ms that it is late, or an error.

    ``applied``: calls that fail have taken effect before.
    """

    def __init__(self, inner, runtime, *plan, applied=True):
        self._inner, self._runtime, self._plan, self._applied = inner, runtime, list(plan), applied

    async def execute(self, *commands):
        planned = self._plan.pop(0) if self._plan else None
        if isinstance(planned, int):
            await self._runtime.sleep(planned * NS_PER_MS)
        if isinstance(planned, Exception):
            if self._applied:
                await self._inner.execute(*commands)
            raise planned
        return await self._inner.execute(*commands)


class LogBench:
    """One topic with ``partitions`` partitions, whose keys no other test uses."""

    def __init__(self, lab, *, partitions=1, zones=("a",)):
        self.lab = lab
        self.keys = FifoKeys(prefix=f"test{next(_prefixes)}")
        self.partitions = partitions_of("t", partitions, zones)
        self.partition = self.partitions[0]
        self.logs = self.through(lab.direct("a"))

    def run(self, operation):
        return self.lab.run(operation)

    def through(self, connection):
        return PartitionLogs(level=connection, reads=connection, keys=self.keys)

    def append(self, sequence, producer="p", *, idempotent=False, logs=None):
        record = PartitionRecord(id=f"{producer}{sequence}", key="k", body="é", producer=producer, sequence=sequence)
        return self.run((logs or self.logs).append(self.partition, record, idempotent=idempotent))

    def listed(self, partition=None, *, logs=None, offset=0, count=1000):
        """(offset, id) of what the log holds."""
        entries = self.run((logs or self.logs).read(partition or self.partition, offset=offset, count=count))
        return [(entry.offset, entry.record.id) for entry in entries]

    def producer(self, sending, connection=None, **settings):
        return Producer(
            "p",
            partitions=self.partitions,
            select=selector("hash", random=Random(1)),
            sending=SendMode(sending),
            logs=self.logs if connection is None else self.through(connection),
            runtime=self.lab.runtime,
            **settings,
        )

    def send_at_once(self, producer, *ids, key="k", **delays):
        """Begin to send all, in this order, before the first is answered; what each returned or raised.

        ``delays``: id → ms.
        """

        async def one(message_id):
            try:
                return await producer.send(Message(id=message_id, key=key, timeout_ms=delays.get(message_id, 0)))
            except Exception as error:
                return error

        async def together():
            tasks = []
            for each in ids:
                tasks.append(self.lab.runtime.spawn(one(each), name=each))
                await self.lab.runtime.sleep(NS_PER_MS)  # so that they begin in this order
            return [await task.join() for task in tasks]

        return self.run(together())
