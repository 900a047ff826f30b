"""What the parts of one member share."""

from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from engine.fifo.consumer.listener import Listener
from engine.fifo.consumer.process_queue import ProcessQueue
from engine.fifo.events import Observer
from engine.fifo.log.partition_log import PartitionLogs
from engine.fifo.partition import Partition
from engine.fifo.settings import ConsumerSettings, Times
from engine.fifo.zones.dead_letters import DeadLetters
from engine.fifo.zones.locks import Locks
from engine.fifo.zones.members import Members
from engine.ports import Clock, Runtime, Task

NS_PER_MS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Zones:
    """What a member asks of the zones."""

    logs: PartitionLogs
    locks: Locks
    members: Members
    dead_letters: DeadLetters


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberContext:
    """``name``: of the member, in its group; ``session``: of this life of it, for the observer only.

    ``queues``: the partitions that it has, those included that it could not give up yet.
    """

    name: str
    session: str
    settings: ConsumerSettings
    runtime: Runtime
    clock: Clock
    zones: Zones
    listener: Listener
    observer: Observer
    queues: dict[Partition, ProcessQueue] = field(default_factory=dict)
    tasks: list[Task[None]] = field(default_factory=list)

    @property
    def times_ms(self) -> Times:
        return self.settings.times_ms

    def spawn(self, work: Coroutine[Any, Any, None], what: str) -> Task[None]:
        """In the background, until it ends or the member is killed."""
        self.tasks[:] = [task for task in self.tasks if not task.done()]
        task = self.runtime.spawn(work, name=f"{self.session}: {what}")
        self.tasks.append(task)
        return task

    async def sleep(self, duration_ms: int) -> None:
        await self.runtime.sleep(duration_ms * NS_PER_MS)

    def columns(self, partition: Partition) -> dict[str, Any]:
        """Of every event about ``partition``."""
        named = {"group": self.settings.group, "partition": partition.name}
        return {**named, "member": self.name, "session": self.session}
