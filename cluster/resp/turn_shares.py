"""Shares of a port's clients in one turn of the event loop, so that none waits long for another."""

import asyncio
from collections.abc import Callable

TURN_MAX = 32
"""Commands of one client, other than those simply forwarded, that are carried out in one turn of the loop."""

FORWARDED_PER_OTHER = 8
"""Forwarded commands that count as one of the others: many of them are forwarded at once."""

BYTES_PER_FORWARDED = 1024
"""Received bytes that count as a forwarded command."""

EMPTY_BYTES_PER_FORWARDED = 16
"""Bytes of empty commands that count as a forwarded command."""

TURN = TURN_MAX * FORWARDED_PER_OTHER
_TURNS = 8 * TURN
"""Turns that all clients with more than a turn's worth to do share."""


class TurnShares:
    """Shares the next turn out among those who ask for one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting = 0

    def ask(self, go_on: Callable[[int], None]) -> None:
        """Call ``go_on`` in the next turn with the share: what may be done, in forwarded commands."""
        self._waiting += 1
        self._loop.call_soon(self._begin, go_on)

    def _begin(self, go_on: Callable[[int], None]) -> None:
        share = max(FORWARDED_PER_OTHER, min(TURN, _TURNS // self._waiting))
        self._waiting -= 1
        go_on(share)
