"""Process zones: a Redis or Valkey server process per zone. Implements ``FillsDisk``, too.

A full disk is a limit on the length of files (``RLIMIT_FSIZE``, setrlimit(2)), which needs no privileges: writes fail
with EFBIG in place of ENOSPC. Python ignores the signal of that limit, SIGXFSZ, and so does the server it starts.
"""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from zonelab.cluster.real.zones import last_resort
from zonelab.cluster.real.zones.admin import poll
from zonelab.cluster.real.zones.base import RealZone
from zonelab.cluster.real.zones.port import HOST, PortReservation
from zonelab.cluster.real.zones.process import workspace
from zonelab.cluster.real.zones.process.binary import ServerBinary, find_binary
from zonelab.cluster.real.zones.server_file import server_configuration
from zonelab.cluster.real.zones.settings import ProcessZoneSettings
from zonelab.cluster.real.zones.waiting import in_thread
from zonelab.cluster.zone import Address, Persistence, ZoneError, ZoneState, keeps_no_files

_LAUNCHER = Path(__file__).with_name("launcher.py")
_SIGNAL_TIMEOUT_S = 10.0
_SOCKET_BYTES_MAX = 100
"""Names of socket files are short: 107 bytes on Linux (unix(7)), 103 elsewhere."""


class ProcessZone(RealZone):
    """A zone whose server is a child process that listens on 127.0.0.1 and keeps its files in a temporary directory.

    The server is in a session of its own, so Ctrl-C in a terminal reaches the lab only, and it dies with the thread
    that started it, so call the verbs from a thread that lives as long as the zone: the event loop's.
    """

    def __init__(self, name: str, settings: ProcessZoneSettings | None = None) -> None:
        self._settings = settings or ProcessZoneSettings()
        super().__init__(name, self._settings)
        self._binary: ServerBinary | None = None
        self._directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the server, None when there is none."""
        return None if self._process is None or self._has_exited() else self._process.pid

    @property
    def directory(self) -> Path | None:
        """Return where the server's files are; None when stopped."""
        return self._directory

    @property
    def socket(self) -> str | None:
        path = None if self._directory is None else str(self._directory / "server.sock")
        return path if path is not None and len(os.fsencode(path)) <= _SOCKET_BYTES_MAX else None

    @classmethod
    async def remove_stale(cls) -> list[str]:
        return [str(path) for path in await in_thread(workspace.remove_stale_directories)]

    async def fill_disk(self) -> None:
        async with self._allowed("fill the disk", ZoneState.RUNNING):
            if self.persistence is Persistence.NONE:
                raise ZoneError(keeps_no_files(self.name))
            self._limit_files(0)

    async def free_disk(self) -> None:
        async with self._allowed("free the disk", ZoneState.RUNNING, ZoneState.DEAD):
            if self.state is ZoneState.RUNNING:
                self._limit_files(None)

    def _limit_files(self, length_bytes: int | None) -> None:
        """Let the server's files get no longer than that; None: as long as it was allowed before. A new one is free."""
        assert self._process is not None
        try:
            _, most = resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE)
            now = most if length_bytes is None else length_bytes
            resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (now, most))
        except OSError as error:
            raise ZoneError(f"zone {self.name}: the length of its files cannot be limited: {error}") from error

    async def _create(self) -> None:
        self._binary = await in_thread(find_binary, self._settings.binary)
        last_resort.register(self, self.remove_now)
        self._reserve_address()
        self._directory = workspace.create_directory(self.name)
        self._data.mkdir()

    async def _launch(self, *, private: bool) -> Address:
        if not private:
            self._spawn(port=self.address.port, socket=self.socket)
            return self.address
        reservation = PortReservation(None)
        try:
            self._spawn(port=reservation.port, socket=None)
            return Address(HOST, reservation.port)
        finally:
            reservation.release()

    def _spawn(self, *, port: int, socket: str | None) -> None:
        assert self._directory is not None
        assert self._binary is not None
        configuration = self._directory / "server.conf"
        configuration.write_text(
            server_configuration(
                persistence=self.persistence,
                bind=HOST,
                port=port,
                directory=str(self._data),
                save_points=self._settings.save_points,
                events=self._settings.events,
                protected=True,
                socket=socket,
                hash_seed=self._binary.knows_hash_seed,
            )
        )
        python = [sys.executable, "-I", "-S", str(_LAUNCHER)]
        command = [*python, str(os.getpid()), str(self._binary.path), str(configuration)]
        try:
            with self.log_file.open("ab") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=self._data
                )
        except OSError as error:
            raise ZoneError(f"zone {self.name}: the server cannot be started: {error}") from error

    async def _terminate(self) -> None:
        self._signal(signal.SIGKILL)
        deadline = time.monotonic() + _SIGNAL_TIMEOUT_S
        while not self._has_exited():
            if time.monotonic() > deadline:
                raise ZoneError(f"zone {self.name}: the server did not end in {_SIGNAL_TIMEOUT_S:g} s after SIGKILL")
            await poll()

    async def _freeze(self) -> None:
        """SIGSTOP, and wait until every thread of the server has stopped: nothing is executed after this returns."""
        self._signal(signal.SIGSTOP)
        deadline = time.monotonic() + _SIGNAL_TIMEOUT_S
        while not self._has_exited() and not self._is_frozen():
            if time.monotonic() > deadline:
                raise ZoneError(f"zone {self.name}: the server did not stop in {_SIGNAL_TIMEOUT_S:g} s after SIGSTOP")
            await poll()

    async def _thaw(self) -> None:
        self._signal(signal.SIGCONT)

    async def _wipe(self) -> None:
        await in_thread(workspace.remove_directory, self._data)
        self._data.mkdir()

    async def _remove(self) -> None:
        await self._terminate()
        if self._directory is not None:
            await in_thread(workspace.remove_directory, self._directory)
            self._directory = None
        self._release_port()
        last_resort.forget(self)

    def remove_now(self) -> None:
        self._signal(signal.SIGKILL)
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_SIGNAL_TIMEOUT_S)
        if self._directory is not None:
            workspace.remove_directory(self._directory)

    def _has_exited(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _is_frozen(self) -> bool:
        assert self._process is not None
        return os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    async def _log_tail(self, lines: int) -> list[str]:
        text = await asyncio.to_thread(self.log_file.read_text, errors="replace")
        return text.splitlines()[-lines:]

    def _serving_port(self) -> int:
        return self.address.port

    async def _replication_address(self) -> Address:
        return self.address

    @property
    def _data(self) -> Path:
        assert self._directory is not None
        return self._directory / "data"

    @property
    def log_file(self) -> Path:
        """Return what the server writes to stdout and stderr; gone with the zone."""
        assert self._directory is not None
        return self._directory / "server.log"

    def _signal(self, number: signal.Signals) -> None:
        """Signal the server and the children that it forks to write snapshots."""
        if self._process is not None and not self._has_exited():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
