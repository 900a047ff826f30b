"""Bytes that are held for the clients of one port, under one bound.

Commands that are not complete or that wait, queues of MULTI, names of channels and replies that a client does not take
are known: when they reach the bound, the client that holds most is closed, as Valkey does (``maxmemory-clients``). How
large the replies to commands under way will be is not known; it is taken that they are as large as the client's last
ones were. Large ones are asked for as far as they fit into ``under_way`` of all clients together, since everybody else
waits behind them on the connections to the servers.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

_KEPT = 15 / 16
"""Part of the bound that stays with clients when it is reached, so that not every byte after that closes one."""


class Holder(Protocol):
    """A client, as far as it holds bytes."""

    def measured(self) -> int:
        """Return what it holds now."""

    def drop(self) -> None:
        """Close its connection without another byte."""

    def take_turn(self) -> None:
        """There may be room for the replies that it waits to ask for."""


class HeldBytes:
    """The account of one port. ``on_closed`` is called for each client that is closed for what it holds."""

    def __init__(
        self, bound: int, *, under_way: int, loop: asyncio.AbstractEventLoop, on_closed: Callable[[], None]
    ) -> None:
        self._bound = bound
        self._under_way = under_way
        self._loop = loop
        self._on_closed = on_closed
        self._held: dict[Holder, int] = {}
        self._waiting: dict[Holder, int] = {}  # with the size of one reply, who waits longest first
        self._serving = False
        self.total = 0
        """Bytes that clients hold, by their last reports."""
        self.expected = 0
        """Bytes that large commands under way take, and will take for replies that are known to be large."""
        self.strangers = 0
        """Clients with commands under way and no reply yet, of which nothing is known."""

    def note(self, holder: Holder, held: int) -> None:
        """``holder`` holds so many bytes now. Closes who holds most if that is too much for the port."""
        before = self._held.get(holder, 0)
        if held == before:
            return
        if held:
            self._held[holder] = held
        else:
            del self._held[holder]
        self.total += held - before
        if held > before:
            if self.total > self._bound:
                self._make_room()
        elif self._waiting:
            self._serve_soon()

    def forget(self, holder: Holder) -> None:
        self._waiting.pop(holder, None)
        self.note(holder, 0)

    def fitting(self, reply_bytes: int) -> int:
        """Return how many replies of this size may be asked for; one at least if nothing large is under way."""
        room = min(self._bound - self.total, self._under_way) - self.expected
        return max(room // reply_bytes, 0 if self.expected else 1)

    def wait(self, holder: Holder, reply_bytes: int) -> None:
        """Let ``holder`` have its turn when a reply of this size fits."""
        self._waiting.setdefault(holder, reply_bytes)

    def expect(self, count: int) -> None:
        """Note that ``count`` bytes are under way."""
        self.expected += count

    def arrived(self, count: int) -> None:
        """They are not any more: what was expected is there, or will never be."""
        self.expected -= count
        if self._waiting:
            self._serve_soon()

    def _serve_soon(self) -> None:
        if not self._serving:
            self._serving = True
            self._loop.call_soon(self._serve)

    def _serve(self) -> None:
        self._serving = False
        for _ in range(len(self._waiting)):
            holder, reply_bytes = next(iter(self._waiting.items()))
            if not self.fitting(reply_bytes):
                return
            del self._waiting[holder]
            holder.take_turn()

    def _make_room(self) -> None:
        """Find out what is held now, since replies leave without notice, and close those who hold most."""
        self._held = {holder: held for holder in self._held if (held := holder.measured())}
        self.total = sum(self._held.values())
        if self.total <= self._bound:
            return
        for holder in sorted(self._held, key=self._held.__getitem__, reverse=True):
            self._on_closed()
            holder.drop()
            self.forget(holder)
            if self.total <= self._bound * _KEPT:
                return
