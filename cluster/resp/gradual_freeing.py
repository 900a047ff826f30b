"""Memory of clients that have left, freed over several turns of the loop.

When many clients leave at once, they may have held as much as ``held_bytes_max``; a turn frees a bounded part of it, so
that nobody waits for the rest.
"""

import asyncio
from collections import deque

from zonelab.cluster.resp.protocol.command_table import CommandKind

TURN_BYTES = 16 * 1024 * 1024
TURN_COMMANDS = 4096
"""Most that is freed in one turn, whichever bound comes first."""

Held = list[tuple[bytes, CommandKind]] | list[bytearray]
"""Commands after MULTI, or what has arrived of one that is not complete."""


class GradualFreeing:
    """Frees what was held for each client, the oldest first."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._held: deque[Held] = deque()

    @property
    def done(self) -> bool:
        return not self._held

    def add(self, held: Held) -> None:
        """``held`` belongs to nobody else any more."""
        self._held.append(held)
        if len(self._held) == 1:
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        freed_bytes = freed = 0
        while self._held and freed_bytes < TURN_BYTES and freed < TURN_COMMANDS:
            if self._held[0]:
                last = self._held[0].pop()
                freed_bytes += len(last[0] if isinstance(last, tuple) else last)
                freed += 1
            else:
                self._held.popleft()
        if self._held:
            self._loop.call_soon(self._turn)
