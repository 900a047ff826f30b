"""State that the parts of one member share."""

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from zonelab.engine.fifo.consumer.hooks import Hook
from zonelab.engine.fifo.consumer.listener import Listener
from zonelab.engine.fifo.consumer.process_queue import NONE_FAILED, ProcessQueue
from zonelab.engine.fifo.events import Observer
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.log.partition_log import PartitionLogs
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.settings import ConsumerSettings, Times
from zonelab.engine.fifo.zones.dead_letters import DeadLetters
from zonelab.engine.fifo.zones.locks import Locks
from zonelab.engine.fifo.zones.members import Members
from zonelab.engine.fifo.zones.parked import ParkedKeys
from zonelab.engine.ports import Clock, Connection, Runtime, Task
from zonelab.engine.units import NS_PER_MS


@dataclass(frozen=True, kw_only=True, slots=True)
class Zones:
    """The state in the zones that a member uses. ``of`` makes all of it."""

    logs: PartitionLogs
    locks: Locks
    members: Members
    dead_letters: DeadLetters
    parked: ParkedKeys

    def fence(self, _partition: Partition) -> tuple[int, int] | None:
        """Generation and token under which this member has the partition; None where locks have no tokens."""
        return None

    def failed(self, _partition: Partition) -> Mapping[int, int]:
        """Offset → how often it failed, as far as zones know that; RocketMQ's do not."""
        return NONE_FAILED

    @classmethod
    def of(
        cls,
        settings: ConsumerSettings,
        *,
        level: Connection,
        reads: Connection,
        near: Connection,
        keys: FifoKeys,
    ) -> Self:
        """``reads``: how records are read, ``near``: what is asked whether members changed, ``level``: all the rest."""
        group, times = settings.group, settings.times_ms
        return cls(
            logs=PartitionLogs(level=level, reads=reads, keys=keys),
            locks=Locks(group, level=level, keys=keys, lease_ms=times.lease),
            members=Members(
                group, level=level, near=near, keys=keys, expiry_ms=times.member_expiry, scan_ms=times.member_scan
            ),
            dead_letters=DeadLetters(group, level=level, keys=keys),
            parked=ParkedKeys(level=level, keys=keys),
        )


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
    hooks: Sequence[Hook] = ()
    queues: dict[Partition, ProcessQueue] = field(default_factory=dict)
    tasks: list[Task[None]] = field(default_factory=list)

    @property
    def group(self) -> str:
        """Return the name under which offsets are kept."""
        return self.settings.keeper(self.name)

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
        """Return the columns of every event about ``partition``."""
        fence = self.zones.fence(partition)
        fenced = {} if fence is None else {"generation": fence[0], "token": fence[1]}
        named = {"group": self.group, "partition": partition.name}
        return {**named, "member": self.name, "session": self.session, **fenced}
