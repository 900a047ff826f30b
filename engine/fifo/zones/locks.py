"""The lock of each (group, partition): whoever holds it consumes.

Source: RocketMQ's RebalanceLockManager. It goes by the name of the member and has no token, so a late release frees a
later grant of the same member.
"""

from collections.abc import Sequence
from typing import Any

from zonelab.engine.common.pipelines import write
from zonelab.engine.fifo.keys import FifoKeys
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.fifo.scripts import run
from zonelab.engine.ports import Command, Connection


class Locks:
    """The partition locks of ``group``. ``lease_ms``: how long after its last renewal a lock is still its owner's."""

    def __init__(self, group: str, *, level: Connection, keys: FifoKeys, lease_ms: int) -> None:
        self._group, self._level, self._keys, self._lease_ms = group, level, keys, lease_ms

    async def try_lock(self, partitions: Sequence[Partition], owner: str) -> list[Partition]:
        """Take or renew the locks of ``partitions``; those that are now the owner's."""
        answers = await self._all("lock", partitions, owner, self._lease_ms)
        return [each for each, granted in zip(partitions, answers, strict=True) if granted]

    async def unlock(self, partitions: Sequence[Partition], owner: str) -> None:
        """Free those of the locks that are the owner's."""
        await self._all("unlock", partitions, owner)

    async def _all(self, script: str, partitions: Sequence[Partition], *words: str | int) -> list[Any]:
        commands: list[Command] = [run(script, [self._keys.lock(each, self._group)], *words) for each in partitions]
        return await write(self._level, commands, name=script)
