"""Strike of a fault at one process: it waits for the process's command, hits it, and records what it did."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import asdict
from time import monotonic_ns
from typing import Any

from zonelab.cluster.resp.programs.hold import PointHold
from zonelab.cluster.resp.programs.program import PortProgram
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.faults.guests import ProgramStrike
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.programs.holders import Holders, holders_of


class CommandStrike:
    """One strike at process ``name``, from ``begin`` to ``end``.

    ``hit_group`` sends a signal to the whole group of the process; ``marked`` returns the pids of all that it may have
    started; ``run_ns`` returns the run time.
    """

    def __init__(
        self,
        name: str,
        strike: ProgramStrike,
        port: PortProgram,
        *,
        hit_group: Callable[[signal.Signals], None],
        marked: Callable[[], Iterable[int]],
        run_ns: Callable[[], int],
    ) -> None:
        self._name = name
        self._strike = strike
        self._number = signal.Signals[strike.how]
        self._port = port
        self._hit_group = hit_group
        self._marked = marked
        self._run_ns = run_ns
        self._hold: PointHold | None = None
        self._holders: Holders | None = None
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.record: dict[str, Any] = {"signal": strike.how, "hit": False}
        """Facts of it for ``run.json``."""

    @property
    def ends_it(self) -> bool:
        """Return whether it has hit with a signal that ends processes."""
        return bool(self.record["hit"]) and self._number is not signal.SIGSTOP

    def begin(self) -> None:
        """Hit, or wait for the command at which to hit. Raises ``ClusterError`` if another strike waits for one."""
        if self._strike.point is not None:
            self._hold = self._port.arm(self._strike.point)
        self._task = asyncio.get_running_loop().create_task(self._carry_out())

    async def end(self) -> None:
        """Let everything go on that still runs."""
        assert self._task is not None
        self._over.set()
        if self._hold is not None and not self._hold.reached.is_set():
            self._port.disarm()
        await self._task
        self._send(signal.SIGCONT)
        if not self.record["hit"]:
            LOGGER.warning("program %s was not hit: it did not come to the command", self._name)

    async def _carry_out(self) -> None:
        hold = self._hold
        if hold is not None:
            await hold.reached.wait()
            if hold.where is None:
                return
            begin_ns = monotonic_ns() - self._run_ns()
            earlier_ns = [taken_ns - begin_ns for taken_ns in hold.where.earlier_ns]
            self.record |= {"when": hold.point.when.value, **asdict(hold.where), "earlier_ns": earlier_ns}
            if self._strike.holder:
                self._holders = await asyncio.to_thread(self._found, hold.where.peer)
        self.record |= {"hit": self._send(self._number), "time_ns": self._run_ns()}
        keep = self._number is not signal.SIGKILL and self.record["hit"]
        if hold is not None:
            try:
                self._port.hit(peers=None if self._holders is None else self._holders.peers, keep=keep)
            except ClusterError:
                self.record["late"] = True  # the port was no longer holding it
        if self._number is signal.SIGSTOP:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._strike.pause_s):
                    await self._over.wait()
            self._send(signal.SIGCONT)
            self.record["stopped_ns"] = self._run_ns() - self.record["time_ns"]
        if keep:
            self._port.release()

    def _found(self, peer: str) -> Holders:
        assert self._port.address is not None
        return holders_of(peer, of=self._port.address, among=self._marked())

    def _send(self, number: signal.Signals) -> bool:
        """Send a signal to what is to be hit; return whether there is any."""
        if self._holders is None:
            self._hit_group(number)
            return True
        for pid in self._holders.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number is self._number:
            self.record["pids"] = sorted(self._holders.pids)
        return bool(self._holders.pids)
