"""Single commands that many clients send in one turn of the loop, looked at together.

A client that waits for each answer sends one command at a time. To look at each by itself costs more than to carry it
out, so those of one turn are unpacked as one piece, and what turns out to be anything else is left to its client.
"""

import asyncio
from collections.abc import Sized
from typing import Protocol

from cluster.resp.commands.busy_poll import BusyPoll
from cluster.resp.commands.command_table import CommandTable, Kind, Treatment
from cluster.resp.protocol.scanner import Unpacker
from cluster.resp.turn_batch import TurnBatch

SINGLE_BYTES_MAX = 4 * 1024
"""Longer commands are not looked at together."""

_TOGETHER_MAX = 128
"""So many at most: servers begin with the first ones while the rest of a busy turn is read."""


class SingleClient(Protocol):
    """A client that has nothing under way."""

    closing: bool

    def received(self, data: bytes) -> None:
        """Take what may be anything."""

    def forward(self, kind: Kind, raw: bytes) -> None:
        """Hand one command to the coordinator."""


class SingleCommands:
    """What clients with nothing under way have sent in this turn of the loop."""

    def __init__(
        self,
        *,
        table: CommandTable,
        unpacker: Unpacker,
        turn: TurnBatch,
        polling: BusyPoll | None,
        clients: Sized,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._by_name = table.by_name
        self._unpacker = unpacker
        self._turn = turn
        self._polling = polling
        self._connected = clients
        self._loop = loop
        self._clients: list[SingleClient] = []
        self._received: list[bytes] = []

    def add(self, client: SingleClient, data: bytes) -> None:
        """Take this together with what others send, at the end of the turn."""
        clients = self._clients
        clients.append(client)
        self._received.append(data)
        count = len(clients)
        if count == 1 and len(self._connected) > 1:
            self._loop.call_soon(self.take)
        elif count == 1 or count == _TOGETHER_MAX:
            self.take()

    def take(self) -> None:
        """Take it now."""
        clients, received = self._clients, self._received
        if not clients:
            return
        self._clients, self._received = [], []
        names = self._unpacker.single(received)
        if names is None:
            for client, data in zip(clients, received, strict=True):
                client.received(data)
            return
        if self._polling is not None:
            self._polling.touch(len(clients))
        self._turn.departs_soon = True
        by_name = self._by_name
        try:
            for client, name, raw in zip(clients, names, received, strict=True):
                spec = by_name.get(name)
                if spec is None or spec.treatment is not Treatment.FORWARD or client.closing:
                    client.received(raw)
                else:
                    client.forward(spec.kind, raw)
        finally:
            self._turn.depart()
