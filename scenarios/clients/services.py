"""Services: programs that a queue needs in the background, each of one zone, which faults can kill or stop."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from zonelab.engine.common.failures import COMMAND_FAILURES
from zonelab.engine.common.lifecycle import Startable
from zonelab.scenarios.clients.program_crash import CrashSwitch, ProgramCrashed
from zonelab.scenarios.clients.program_view import ProgramView
from zonelab.scenarios.queues.under_test import Wrap
from zonelab.scenarios.tasks import TaskGroup

CLOSE_BOUND_S = 10.0
"""Longest time that services take to stop in order at the end of a run; then they are cancelled."""


class OpenService(Protocol):
    """Maker of the service ``name`` of ``zone``, not started yet, all of whose commands pass through ``wrap``."""

    async def __call__(self, name: str, zone: str, wrap: Wrap) -> Startable: ...


class _ServiceProgram:
    """One program, from its start to its stop or its death."""

    def __init__(self, name: str, service: Startable, switch: CrashSwitch, tasks: TaskGroup) -> None:
        self.switch = switch
        self.closing = False
        self._name = name
        self._service = service
        self._tasks = tasks

    def close(self) -> None:
        """Have it stop in its own order, beside whatever it does; once only."""
        if not self.closing:
            self.closing = True
            self._tasks.spawn(self._close(), name=f"stop of {self._name}")

    async def _close(self) -> None:
        with suppress(ProgramCrashed, *COMMAND_FAILURES):  # the dead tidy nothing; who cannot tidy ends all the same
            await self._service.close()


class Services:
    """All services of a run, by name and zone."""

    def __init__(self, programs: Sequence[tuple[str, str]], *, open_service: OpenService, tasks: TaskGroup) -> None:
        self._open_service = open_service
        self._tasks = tasks
        self._names = programs
        self._programs: dict[tuple[str, str], list[_ServiceProgram]] = {}

    async def start(self) -> None:
        """Start every service, one after the other."""
        for name, zone in self._names:
            await self._start(name, zone)

    async def _start(self, name: str, zone: str) -> None:
        lives = self._programs.setdefault((name, zone), [])
        process = f"{name}-{zone}"
        switch = CrashSwitch(process + (f".{len(lives) + 1}" if lives else ""))
        service = await self._open_service(name, zone, switch.wrap)
        lives.append(_ServiceProgram(process, service, switch, self._tasks))
        await service.start()

    def view(self, name: str, zone: str) -> ProgramView:
        """The view of the program that is there now."""
        return self._programs[name, zone][-1].switch.view

    def kill(self, name: str, zone: str, *, at_command: int) -> None:
        """End the program just before the command of this number from now on; at its next command if it is 1."""
        self._programs[name, zone][-1].switch.crash(at_command=at_command)

    def stop(self, name: str, zone: str, *, at_command: int | None) -> None:
        """Close the program: now, or just before the command of this number from now on, which it may still send."""
        program = self._programs[name, zone][-1]
        if at_command is None:
            program.close()
        else:
            program.switch.call_before(at_command, program.close)

    async def replace(self, name: str, zone: str) -> None:
        """Let another take the place of a program that was killed or stopped; one that was not is spared."""
        program = self._programs[name, zone][-1]
        if program.closing or program.switch.crashed:
            await self._start(name, zone)
        else:
            program.switch.disarm()

    async def close(self) -> None:
        """Let every program stop in its own order; those that died are let go of."""
        for lives in self._programs.values():
            for program in lives:
                program.close()
        await self._tasks.wait(CLOSE_BOUND_S)
        await self._tasks.dismiss()
