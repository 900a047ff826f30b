"""The coordinator of one zone as a child process of the supervisor."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from zonelab.cluster.real.zones.process import launcher
from zonelab.cluster.zone import ClusterError, ZoneState

START_S = 30.0
STOP_S = 5.0
CALL_S = 3.0
_LOG_LINES = 3


class CoordinatorProcess:
    """Starts, breaks and asks one gateway process; it dies with the supervisor, however that dies.

    ``configuration`` and ``admin`` are what the process reads from its files in ``directory``; both name ports, so the
    coordinator that comes after a death is where the one before was. ``on_death`` is called when the process has ended
    and nobody had asked for that here.
    """

    def __init__(self, zone: str, *, configuration: dict[str, Any], admin: dict[str, Any], directory: Path) -> None:
        self.zone = zone
        self.address = f"127.0.0.1:{configuration['port']}"
        self.admin = f"http://127.0.0.1:{admin['port']}"
        self._files = {"config": configuration, "admin": admin}
        self._directory = directory
        self._state = ZoneState.STOPPED
        self._process: asyncio.subprocess.Process | None = None
        self.on_death: Callable[[], None] = lambda: None
        self._watch: asyncio.Task[None] | None = None
        self._client = httpx.AsyncClient(
            base_url=self.admin,
            timeout=CALL_S,
            trust_env=False,
            headers={"Authorization": f"Bearer {admin['token']}"},
        )

    @property
    def state(self) -> ZoneState:
        if self._process is not None and self._process.returncode is not None:
            self._state = ZoneState.DEAD
        return self._state

    @property
    def pid(self) -> int | None:
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def start(self) -> None:
        """Raises ``ClusterError`` if it does not serve in time."""
        try:
            async with asyncio.timeout(START_S):
                await self._launch()
        except TimeoutError:
            await self.kill()
            raise ClusterError(f"coordinator {self.zone} did not serve within {START_S:g} s") from None
        except BaseException:
            await self.kill()
            raise
        self._state = ZoneState.RUNNING
        assert self._process is not None
        self._watch = asyncio.create_task(self._watched(self._process))

    async def kill(self) -> None:
        """SIGKILL."""
        await self._end(signal.SIGKILL)
        self._state = ZoneState.DEAD

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL if that takes too long."""
        try:
            async with asyncio.timeout(STOP_S):
                self.resume()
                await self._end(signal.SIGTERM)
        except TimeoutError:
            await self._end(signal.SIGKILL)
        await self._client.aclose()
        self._state = ZoneState.STOPPED

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)
        self._state = ZoneState.PAUSED

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self._state = ZoneState.RUNNING

    async def statistics(self) -> dict[str, Any] | None:
        """Return what the process counts, None if it cannot be asked."""
        answer: dict[str, Any] | None = None
        with contextlib.suppress(ClusterError):
            answer = await self._asked("GET", "/statistics")
        return answer

    async def set_links(self, states: dict[str, dict[str, Any]]) -> None:
        """Set the states of its links; a process that is not running gets them when it is. Raises ``ClusterError``."""
        if self.state is ZoneState.RUNNING and await self._asked("PUT", "/links", states) is None:
            raise ClusterError(f"coordinator {self.zone} does not answer at {self.admin}")

    async def _asked(self, method: str, path: str, body: Any = None) -> Any:
        if self.state is not ZoneState.RUNNING:
            return None
        try:
            answer = await self._client.request(method, path, json=body)
        except httpx.TransportError:
            return None
        if answer.is_error:
            raise ClusterError(f"coordinator {self.zone} answered {answer.status_code}: {answer.text[:200]}")
        return answer.json()

    async def _launch(self) -> None:
        arguments = []
        for option, value in self._files.items():
            path = self._directory / f"coordinator-{self.zone}.{option}.json"
            path.write_text(json.dumps(value))
            arguments += [f"--{option}", str(path)]
        with self._log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", launcher.__file__, str(os.getpid())),
                *(sys.executable, "-P", "-m", "zonelab.cluster.admin", *arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        if not await self._process.stdout.readline():
            await self._process.wait()
            raise ClusterError(f"coordinator {self.zone} could not start: {self.log_tail()}")

    def log_tail(self) -> str:
        lines = self._log_file.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return " | ".join(line.strip() for line in lines if line.strip()) or "it said nothing"

    @property
    def _log_file(self) -> Path:
        return self._directory / f"coordinator-{self.zone}.log"

    async def _watched(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        self.on_death()

    async def _end(self, number: signal.Signals) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._signal(number)
        if self._process is not None:
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
