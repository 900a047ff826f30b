"""All processes of a run's programs: started at the zones' ports, watched, struck by faults, and gone in the end."""

import asyncio
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.faults.guests import ProgramStrike
from zonelab.scenarios.guests.environments import environment_of
from zonelab.scenarios.guests.guest import load_guest
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.programs import guardian
from zonelab.scenarios.programs.collected import CollectedEvents, EventSource
from zonelab.scenarios.programs.command_record import CommandRecord
from zonelab.scenarios.programs.command_strike import CommandStrike
from zonelab.scenarios.programs.process import ProcessStart, ProgramProcess
from zonelab.scenarios.spec.programs import Program, filled, process_name
from zonelab.scenarios.spec.scenario import Scenario

_MARK_BYTES = 12
_POLL_S = 0.05


class ProgramProcesses:
    """Processes of the programs of ``scenario``, by name.

    ``fail`` is called with what the run cannot go on after; ``doubts`` has what makes its verdict unknown, in words.
    """

    def __init__(
        self,
        scenario: Scenario,
        cluster: PortedCluster,
        *,
        events: CollectedEvents,
        fail: Callable[[ClusterError], None],
    ) -> None:
        self._scenario = scenario
        self._cluster = cluster
        self._events = events
        self._fail = fail
        self._mark = secrets.token_hex(_MARK_BYTES)
        self._guardian: asyncio.subprocess.Process | None = None
        self._gone: set[str] = set()
        self.deaths: dict[str, int] = {}
        """Run times (ns) at which programs were killed, by their names in the history."""
        self._strikes: dict[str, CommandStrike] = {}
        self._records: list[CommandRecord] = []
        self.strikes: dict[str, list[dict[str, Any]]] = {}
        """Strikes of faults, by process."""
        self.by_name: dict[str, ProgramProcess] = {}
        self.doubts: list[str] = []

    def of(self, program: str, zone: str = "all") -> list[str]:
        """Return the names of the processes of ``program``, in ``zone`` or in all zones."""
        given = (one.given for one in self.by_name.values())
        return [one.name for one in given if one.program == program and zone in ("all", one.zone)]

    async def prepare(self) -> None:
        """Make all processes, start those that do not end by themselves, and wait until they are ready.

        Raises ``ClusterError``.
        """
        await self._make()
        await self._guard()
        lasting = [one for one in self.by_name.values() if not one.given.ends]
        for one in lasting:
            await one.start()
        await asyncio.gather(*map(self._ready, lasting))

    async def begin_load(self) -> None:
        """Start those that end by themselves. Raises ``ClusterError``."""
        for one in self._ending():
            await one.start()

    @property
    def load_is_over(self) -> bool:
        """Return whether there are processes that end by themselves, and all of them have."""
        ending = list(self._ending())
        return bool(ending) and all(one.over.is_set() for one in ending)

    async def end_load(self) -> None:
        """End those that should have ended by themselves and have not."""
        await self._stop(self._ending())

    def strike(self, name: str, number: int) -> None:
        """Send a signal to the group of process ``name``, as a fault does: that it ends then is no problem."""
        one = self.by_name[name]
        one.struck = one.struck or number not in (signal.SIGSTOP, signal.SIGCONT)
        if number == signal.SIGKILL and one.pgid is not None:
            self.deaths.setdefault(self._events.program_of(name), self._cluster.runtime.now_ns())
        one.signal(signal.Signals(number))

    async def replace(self, name: str) -> None:
        """Start process ``name`` again if it has ended. Raises ``ClusterError``."""
        one = self.by_name[name]
        if one.pgid is None:
            await one.over.wait()
            self._events.begin_life(name)
            await one.start()

    def begin_strike(self, name: str, strike: ProgramStrike) -> None:
        """Let ``strike`` fall on process ``name``, now or at its command."""
        one = self.by_name[name]
        struck = CommandStrike(
            name,
            strike,
            self._cluster.ports[one.given.zone].program(name),
            hit_group=partial(self.strike, name),
            marked=partial(self._marked, name),
            run_ns=self._cluster.runtime.now_ns,
        )
        struck.record["program"] = self._events.program_of(name)
        self._strikes[name] = struck
        self.strikes.setdefault(name, []).append(struck.record)
        struck.begin()

    def struck(self, name: str) -> Mapping[str, object]:
        """Return the facts of the last strike at process ``name``."""
        return self.strikes[name][-1]

    async def end_strike(self, name: str, *, restart: bool) -> None:
        """Undo what is left of the strike, and start the process again if it has ended. Raises ``ClusterError``."""
        strike = self._strikes.pop(name)
        await strike.end()
        if restart and strike.ends_it:
            await self.replace(name)

    def _marked(self, name: str) -> list[int]:
        return [pid for pid, of in guardian.marked(self._mark).items() if of == name]

    async def stop(self) -> None:
        """End all of them and what they left, and note what did not end in order."""
        await self._stop(self.by_name.values())
        for pid, name in (await self._strays()).items():
            self._doubt(f"program {name}: a process that it had started (pid {pid}) outlived it and was killed")
        for record in self._records:
            record.close()
        for name, one in self.by_name.items():
            if one.left_out:
                LOGGER.info("program %s: the middle of its log, %s bytes, is left out", name, f"{one.left_out:,}")
            one.close()
        if self._guardian is not None:
            assert self._guardian.stdin is not None
            self._guardian.stdin.close()
            await self._guardian.wait()
            self._guardian = None

    def _ending(self) -> Iterator[ProgramProcess]:
        return (one for one in self.by_name.values() if one.given.ends)

    async def _make(self) -> None:
        for program, section in self._scenario.programs.items():
            for zone in section.zones(self._scenario.zones):
                for index in range(section.count):
                    name = process_name(program, zone, index)
                    address = await self._cluster.add_program(zone, name, failover=section.failover)
                    if section.record_commands:
                        self._record_commands(name, zone)
                    values = {"host": address.host, "port": str(address.port), "zone": zone, "index": str(index)}
                    values |= {"url": f"redis://{address}", "seed": str(self._scenario.seed)}
                    self._add(program, section, values)

    def _record_commands(self, name: str, zone: str) -> None:
        record = CommandRecord(self._events.commands_path(name), wall_ns=self._wall_ns)
        self._records.append(record)
        port = self._cluster.ports[zone].program(name)
        port.listen(lambda peer: record.connection(peer, program=self._events.program_of(name)))

    def _add(self, program: str, section: Program, values: dict[str, str]) -> None:
        name = process_name(program, values["zone"], int(values["index"]))
        own = self._events.add(EventSource(name=name, zone=values["zone"]), now_ns=self._wall_ns())
        values = {**values, "events": str(own)}
        if section.guest is not None:
            values |= environment_of(load_guest(section.guest), version=section.version).places
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        environment |= {key: filled(text, values) for key, text in section.env.items()}
        environment[guardian.VARIABLE] = f"{self._mark}:{name}"
        words = [filled(word, values) for word in section.command]
        found = shutil.which(words[0], path=environment.get("PATH"))
        if found is None:
            raise ClusterError(f"program {program}: command {words[0]!r} is not there, or cannot be executed")
        self.by_name[name] = ProgramProcess(
            ProcessStart(
                name=name,
                program=program,
                zone=values["zone"],
                words=[found, *words[1:]],
                environment=environment,
                ready=None if section.ready is None else section.ready.line,
                stop=section.stop,
                ends=section.ends,
            ),
            events=self._events,
            wall_ns=self._wall_ns,
            on_end=self._ended,
        )

    def _wall_ns(self) -> int:
        return self._cluster.epoch_ns + self._cluster.runtime.now_ns()

    async def _guard(self) -> None:
        """Start the process that ends all others if the lab dies."""
        self._guardian = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", guardian.__file__, self._mark),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )

    async def _ready(self, one: ProgramProcess) -> None:
        section = self._scenario.programs[one.given.program]
        if section.ready is None:
            return
        heard, over = (asyncio.create_task(event.wait()) for event in (one.is_ready, one.over))
        await asyncio.wait((heard, over), timeout=section.ready.within_s, return_when=asyncio.FIRST_COMPLETED)
        for task in (heard, over):
            task.cancel()
        if one.is_ready.is_set():
            return
        if one.over.is_set():
            raise ClusterError(f"program {one.name} ended before it was ready: {one.ended_in_words}")
        wanted = f"no line of its output matches {section.ready.line!r}"
        raise ClusterError(f"program {one.name} was not ready within {section.ready.within_s:g} s: {wanted}")

    def _ended(self, one: ProgramProcess) -> None:
        """Judge that a process has ended by itself."""
        LOGGER.info("program %s ended: %s", one.name, one.ended_in_words)
        if one.given.ends:
            if one.exit_code == 0:
                return
            if not self._events.any_of(one.name):
                self._fail(ClusterError(f"program {one.name} ended at once: {one.ended_in_words}"))
        self._gone.add(one.name)
        words = f"program {one.name} ended by itself: {one.ended_in_words}"
        if not one.given.ends and all(name in self._gone for name in self.of(one.given.program)):
            self._fail(ClusterError(f"{words}; no process of {one.given.program} is left"))
        self._doubt(words)

    async def _stop(self, some: Iterable[ProgramProcess]) -> None:
        stopped = list(some)
        await asyncio.gather(*(one.stop() for one in stopped))
        for one in stopped:
            if one.killed_late:
                one.killed_late = False
                how = one.given.stop
                self._doubt(f"program {one.name} did not end within {how.grace_s:g} s of {how.signal} and was killed")

    async def _strays(self) -> dict[int, str]:
        """Kill what the processes have started and left, and return it; it has the time of its program to end."""
        grace_s = max((one.given.stop.grace_s for one in self.by_name.values()), default=0.0)
        deadline_s = asyncio.get_running_loop().time() + grace_s
        while await asyncio.to_thread(guardian.marked, self._mark):
            if asyncio.get_running_loop().time() > deadline_s:
                return await asyncio.to_thread(guardian.kill_marked, self._mark)
            await asyncio.sleep(_POLL_S)
        return {}

    def _doubt(self, words: str) -> None:
        LOGGER.warning("%s", words)
        self.doubts.append(words)
