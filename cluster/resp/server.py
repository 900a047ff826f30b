"""The RESP port of one zone: listens for clients."""

import asyncio
from collections.abc import Callable
from typing import Any

from zonelab.cluster.resp.client import PortHost
from zonelab.cluster.resp.commands.dispatch import dispatch
from zonelab.cluster.resp.programs.program import PortProgram
from zonelab.cluster.resp.programs.session import ProgramSession
from zonelab.cluster.resp.session import ConnectionSession
from zonelab.cluster.zone import Address, ClusterError

_BACKLOG = 4096
_PROGRAMS_MAX = 1000


class RespServer(PortHost):
    """Server of a port: passes its clients' commands to the coordinator."""

    _listener: asyncio.Server | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.programs: dict[str, PortProgram] = {}
        """By name, those with an address of their own."""
        self._of_programs: list[asyncio.Server] = []

    @property
    def listens(self) -> bool:
        """Return whether clients can connect."""
        return self._listener is not None

    @property
    def address(self) -> Address:
        """Return where the port listens. Raises ``ClusterError`` before it does."""
        if self._listener is None:
            raise ClusterError("the port does not listen")
        return self.address_of(self._listener)

    def program(self, name: str) -> PortProgram:
        """Return the program of that name. Raises ``ClusterError`` if it has no address of its own."""
        if name not in self.programs:
            known = ", ".join(self.programs) or "none, as no program has an address of its own"
            raise ClusterError(f"program: got {name!r}; accepted: {known}")
        return self.programs[name]

    async def start(self) -> None:
        """Listen, for programs as well. Raises ``ClusterError`` if an address cannot be had."""
        self._listener = await self.listener(lambda: ConnectionSession(self, dispatch), self.settings.port)
        for program in self.programs.values():
            if program.address is not None and not program.fails_over:
                await self._listen_to(program, program.address.port)

    async def add_program(self, name: str, *, port: int = 0) -> PortProgram:
        """Listen at a further address, whose clients are the program ``name``; 0: at any port.

        Raises ``ClusterError`` if there is such a program, there are too many, or no address can be had.
        """
        program = self.new_program(name)
        program.address = await self._listen_to(program, port)
        return program

    def new_program(self, name: str, *, fails_over: bool = False) -> PortProgram:
        """Return the program ``name``, which has no address yet. Raises ``ClusterError`` as ``add_program`` does."""
        if name in self.programs or len(self.programs) >= _PROGRAMS_MAX:
            raise ClusterError(f"program: got {name!r}; accepted: {_PROGRAMS_MAX} programs of different names")
        self.programs[name] = PortProgram(name, fails_over=fails_over)
        return self.programs[name]

    async def stop(self) -> None:
        """Stop listening and drop every client."""
        listeners = self.crash()
        for listener in listeners:
            await listener.wait_closed()

    def crash(self) -> list[asyncio.Server]:
        """Stop as a process that is killed: nobody listens, and connections are reset; return what listened."""
        for program in self.programs.values():
            program.disarm()
        listeners = [] if self._listener is None else [self._listener, *self._of_programs]
        for listener in listeners:
            listener.close()
        for client in self.clients:
            client.transport.abort()
        self._listener, self._of_programs = None, []
        return listeners

    async def _listen_to(self, program: PortProgram, port: int) -> Address:
        listener = await self.listener(lambda: ProgramSession(self, program), port)
        self._of_programs.append(listener)
        return self.address_of(listener)

    async def listener(self, make: Callable[[], asyncio.BaseProtocol], port: int) -> asyncio.Server:
        """Return a listener at ``port`` of this port's host, for whoever closes it. Raises ``ClusterError``."""
        host = self.settings.host
        try:
            return await self.loop.create_server(make, host, port, ssl=self.settings.tls(), backlog=_BACKLOG)
        except OSError as error:
            raise ClusterError(f"cannot listen at {host}:{port}: {error}") from error

    @staticmethod
    def address_of(listener: asyncio.Server) -> Address:
        """Return where ``listener`` listens."""
        host, port = listener.sockets[0].getsockname()[:2]
        return Address(host, port)
