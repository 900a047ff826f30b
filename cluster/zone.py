"""A zone: one Redis server that holds a full copy of the data, with the verbs that break and mend it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable


class ClusterError(Exception):
    """The testbed cannot do what was asked. The message is one line that a user can act upon.

    Example::

        try:
            cluster("vm")
        except ClusterError as error:
            print(error)  # on: got 'vm'; accepted: sim, process, docker
    """


class ZoneError(ClusterError):
    """A verb does not fit the zone's state, or its server did not start, stop or answer in time."""


def keeps_no_files(name: str) -> str:
    """Return why the disk of zone ``name`` makes no difference to its server."""
    return f"zone {name}: its disk cannot be full, as it writes nothing: persistence is none"


class Persistence(StrEnum):
    """The server's writes to disk. A killed process loses nothing that it had handed to the kernel."""

    NONE = "none"
    AOF_ALWAYS = "aof-always"
    AOF_EVERYSEC = "aof-everysec"
    AOF_NO = "aof-no"
    RDB = "rdb"


class Restart(StrEnum):
    """With which data a zone comes back: its own files, none, or a copy of a live zone's."""

    KEEP = "keep"
    WIPE = "wipe"
    WARM = "warm"


class ZoneState(StrEnum):
    STOPPED = "stopped"
    RUNNING = "running"
    PAUSED = "paused"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a server; ``socket`` is a file through which programs on its own machine reach it more quickly."""

    host: str
    port: int
    socket: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Zone(Protocol):
    """A zone's server. Every verb raises ``ZoneError`` when the state does not allow it.

    ``start`` and ``restart`` return when the server answers; the address stays the same over restarts.
    """

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> ZoneState: ...
    @property
    def address(self) -> Address: ...
    @property
    def persistence(self) -> Persistence: ...

    async def start(self) -> None:
        """STOPPED → RUNNING with empty data."""

    async def stop(self) -> None:
        """Any state → STOPPED; process or container, port and files are gone. Does nothing if already stopped."""

    async def kill(self) -> None:
        """RUNNING or PAUSED → DEAD, at once (SIGKILL); files stay."""

    async def pause(self) -> None:
        """RUNNING → PAUSED: the server is frozen (SIGSTOP), its sockets stay open."""

    async def resume(self) -> None:
        """PAUSED → RUNNING."""

    async def fill_memory(self) -> None:
        """While RUNNING: let the server refuse what would need more memory (``maxmemory``) until ``free_memory``.

        A server that dies comes back with enough.
        """

    async def free_memory(self) -> None:
        """While RUNNING: let it take everything again."""

    async def slow_down(self, factor: float) -> None:
        """In any state, also over restarts: give the server one part in ``factor`` of its speed; 1 is all of it.

        A simulated server takes ``factor`` times as long for every command. A real one runs for one part in ``factor``
        of every period of a tenth of a second, and stands still for the rest (SIGSTOP and SIGCONT).
        """

    async def restart(self, mode: Restart, *, warm_from: "Zone | None" = None) -> None:
        """DEAD → RUNNING. ``WARM`` copies the data of ``warm_from`` before it returns."""


@runtime_checkable
class FillsDisk(Protocol):
    """A zone whose server's disk can be full: a simulated one, or a process that keeps files.

    Measured with Valkey 9.1.2: with an append-only file the first writes that do not reach it are confirmed, and later
    ones refused (``MISCONF``) until there is room; ``AOF_ALWAYS``: the server ends instead. With snapshots writes are
    refused once one that was due has failed, until one has worked: 5 s after the last attempt.
    """

    async def fill_disk(self) -> None:
        """While RUNNING: let nothing more of what the server writes reach its files until ``free_disk``.

        Raises ``ZoneError`` if the server keeps no files.
        """

    async def free_disk(self) -> None:
        """While RUNNING or DEAD: let it write again."""


@runtime_checkable
class LosesPower(Protocol):
    """A zone whose machine can lose its power; only simulated ones can."""

    async def fail_power(self, *, torn: bool = False) -> None:
        """RUNNING or PAUSED → DEAD, and what was not flushed to the disk is lost.

        With ``torn`` a random part of that, as it comes in the file, had reached the disk after all.
        """
