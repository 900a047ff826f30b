"""Program that connects at an address of its own: its connections, the count of its commands, and where it is held."""

from collections.abc import Callable, Collection
from typing import Any

from zonelab.cluster.resp.programs.hold import HoldState, PointHold
from zonelab.cluster.resp.programs.point import CommandPoint
from zonelab.cluster.resp.programs.session import ProgramSession
from zonelab.cluster.zone import Address, ClusterError

CommandListener = Callable[[str], Callable[[bytes], None]]
"""Returns what takes the bytes of one connection, which comes from the address given."""


class PortProgram:
    """One program of a port. The processes that connect at its address are the program, whatever they are."""

    def __init__(self, name: str, *, fails_over: bool = False) -> None:
        self.name = name
        self.fails_over = fails_over
        """Its address is none of its port's own: it stays when the port dies, and leads to another one."""
        self.address: Address | None = None
        self.hold: PointHold | None = None
        """The last point that was armed for it."""
        self.watched = False
        self._listener: CommandListener | None = None
        self._frozen = False
        self._sessions: dict[ProgramSession, None] = {}
        self._commands_left = 0  # of connections that are gone

    @property
    def sessions(self) -> list[ProgramSession]:
        return list(self._sessions)

    @property
    def commands(self) -> int:
        """Return how many commands of it the port has taken; each command of a pipeline is one."""
        return self._commands_left + sum(session.commands for session in self._sessions)

    def as_dict(self) -> dict[str, Any]:
        """Return its name and address, what is counted of it, and the state of its last point."""
        return {
            "name": self.name,
            "address": str(self.address),
            "commands": self.commands,
            "connections": len(self._sessions),
            "hold": None if self.hold is None else self.hold.as_dict(),
        }

    def arm(self, point: CommandPoint) -> PointHold:
        """Watch its commands from now on, and hold it at ``point``.

        Raises ``ClusterError`` if another point is armed for it.
        """
        if self.hold is not None and not self.hold.is_over:
            raise ClusterError(f"program {self.name} has a point already, which is to be disarmed first")
        self.hold = PointHold(point, self)
        self.watched = True
        return self.hold

    def listen(self, listener: CommandListener) -> None:
        """Let ``listener`` have what arrives at connections that are made from now on, given the program's end."""
        self._listener = listener

    def hit(self, *, peers: Collection[str] | None = None, keep: bool = False) -> None:
        """Say what was hit, as in ``PointHold.hit``. Raises ``ClusterError`` if it is not held."""
        if self.hold is None or self.hold.state is not HoldState.REACHED:
            raise ClusterError(f"program {self.name} is not held at a point")
        self.hold.hit(peers=peers, keep=keep)

    def release(self) -> None:
        """Let what ``hit`` kept go on; nothing if there is none."""
        if self.hold is not None:
            self.hold.release()

    def disarm(self) -> None:
        """Let it go on, wherever it is, unwatched."""
        if self.hold is not None:
            self.hold.end()

    def came(self, session: ProgramSession) -> None:
        self._sessions[session] = None
        if self._listener is not None:
            session.hear = self._listener(session.peer)
        if self._frozen:
            session.hold()

    def left(self, session: ProgramSession) -> None:
        if session in self._sessions:
            del self._sessions[session]
            self._commands_left += session.commands

    def take(self, session: ProgramSession, commands: list[bytes]) -> None:
        if self.hold is not None and not self.hold.is_over:
            self.hold.take(session, commands)
        else:
            session.forward(commands)

    def freeze(self) -> None:
        self._frozen = True
        for session in self.sessions:
            session.hold()

    def thaw(self, but: Collection[ProgramSession] = ()) -> None:
        self._frozen = False
        for session in self.sessions:
            if session not in but:
                session.thaw()

    def ended(self, hold: PointHold) -> None:
        if hold is self.hold:
            self.watched = False
            self.thaw()
