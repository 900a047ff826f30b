"""Memory of clients that have left, freed over several turns of the loop.

When many clients leave at once, they may have held as much as ``held_bytes_max``; a turn frees a bounded part of it, so
that nobody waits for the rest.
"""

import asyncio
from collections import deque

from cluster.resp.commands.command_table import Kind

TURN_BYTES = 16 * 1024 * 1024
TURN_COMMANDS = 4096
"""So much is freed in one turn, of whichever there is less."""

Queued = list[tuple[bytes, Kind]]
"""Commands after MULTI."""


class GradualFreeing:
    """Frees queues of MULTI, the oldest first."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queues: deque[Queued] = deque()

    @property
    def done(self) -> bool:
        return not self._queues

    def add(self, queue: Queued) -> None:
        """``queue`` belongs to nobody else any more."""
        self._queues.append(queue)
        if len(self._queues) == 1:
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        freed_bytes = freed = 0
        while self._queues and freed_bytes < TURN_BYTES and freed < TURN_COMMANDS:
            if self._queues[0]:
                raw, _ = self._queues[0].pop()
                freed_bytes += len(raw)
                freed += 1
            else:
                self._queues.popleft()
        if self._queues:
            self._loop.call_soon(self._turn)
