"""Copying what admitted zones have of a partition to one that is to be admitted, in pages."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.fifo.fenced.keys import FencedKeys
from zonelab.engine.fifo.fenced.scripts import run
from zonelab.engine.fifo.fenced.views import Views, attempt
from zonelab.engine.fifo.partition import Partition
from zonelab.engine.ports import Command, Connection

PAGE = 200
"""Pairs a command, so that no server is busy with one for long."""


async def send(connection: Connection, command: Command) -> None:
    """To every zone, whose answers nobody votes on: what came of it is read from each of them."""
    try:
        await connection.execute(command)
    except COMMAND_FAILURES:
        return


class PartitionCopy:
    """Copies a partition. ``views`` read it from each zone, ``sends`` writes to every zone."""

    def __init__(self, *, views: Views, sends: Connection, keys: FencedKeys) -> None:
        self._views, self._sends, self._keys = views, sends, keys

    async def copy(self, partition: Partition, era: str, sources: Sequence[str]) -> int | None:
        """Send all that ``sources`` have; zones that are admitted take nothing of it. The number of pages; None if a
        source did not answer.
        """
        keys, number = self._keys, 0
        parts = (
            ("registers", "HSCAN", keys.registers(partition)),
            ("log", "HSCAN", keys.log(partition)),
            ("inbox", "ZSCAN", keys.inbox(partition)),
            ("delayed", "ZSCAN", keys.delayed(partition)),
            ("aside", "HSCAN", keys.aside(partition)),
        )
        for source in sources:
            for kind, scan, key in parts:
                async for pairs in self._scanned(source, scan, key):
                    if pairs is None:
                        return None
                    for begin in range(0, len(pairs), 2 * PAGE):
                        number += 1
                        words = (era, number, kind, *pairs[begin : begin + 2 * PAGE])
                        await send(self._sends, run("fill", keys.all(partition), *words))
        return number

    async def _scanned(self, zone: str, scan: str, key: str) -> AsyncIterator[list[Any] | None]:
        """Pages of pairs; None, the last, if the zone did not answer. What is there all the time is in one of them."""
        cursor: Any = 0
        while True:
            answer = await attempt(self._views.zones[zone], [(scan, key, cursor, "COUNT", PAGE)])
            if answer is None:
                yield None
                return
            cursor, pairs = answer[0]
            yield pairs
            if cursor in (b"0", 0):
                return
