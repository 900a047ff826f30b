"""A run whose clients are programs of the user's own: their events become its history."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from zonelab.analysis.events.format import EXAMPLE, EventError
from zonelab.analysis.events.operations import SHARD, LoggedHistory, history_of
from zonelab.analysis.events.reading import read_events
from zonelab.analysis.events.run import queue_info
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.history import DEPTH, FINAL_STATE, OPERATIONS
from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.engine.units import NS_PER_S
from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.faults.fault import Stage
from zonelab.scenarios.faults.schedule import plan_faults
from zonelab.scenarios.programs.collected import CollectedEvents
from zonelab.scenarios.programs.processes import ProgramProcesses
from zonelab.scenarios.programs.unfinished import PROOF_IDS, UnfinishedSearch, finished_in, unfinished_in
from zonelab.scenarios.run_files.tables import DEPTH_NAME, FINAL_STATE_NAME, OPERATIONS_NAME
from zonelab.scenarios.run_phases import RunContext, RunPhases

_POLL_NS = 20_000_000
_PROOF_NS = 3_000_000
_PROOF_REST = 15
"""Looks for open messages are so many times their own length apart."""

_COUNTED: Mapping[str, tuple[str, Outcome]] = {
    "accepted": ("push", "ok"),
    "refused": ("push", "fail"),
    "begin": ("pop", "ok"),
    "end": ("ack", "ok"),
    "failed": ("nack", "ok"),
}


class ProgramRun(RunPhases):
    """A run of programs on ``cluster``. Drained means: all coordinators are connected, and for ``drain.quiet_s`` no
    event came and nothing known was due or under a lease.
    """

    def __init__(self, context: RunContext, *, cluster: PortedCluster, directory: Path) -> None:
        super().__init__(context, groups=("load",))
        self._events = CollectedEvents(directory)
        context.closing.callback(self._events.close)
        self._processes = ProgramProcesses(context.scenario, cluster, events=self._events, fail=self._halt.fail)
        self._operations = context.closing.enter_context(closing(context.tables(OPERATIONS_NAME, OPERATIONS)))
        context.closing.enter_context(closing(context.tables(DEPTH_NAME, DEPTH)))
        self._search = UnfinishedSearch(self._testbed.direct, zones=self._scenario.zones)
        self._closed = False
        stage = Stage(targets=context.scenario, testbed=context.testbed, programs=self._processes)
        self._plan(plan_faults(context.scenario.faults, stage))

    @property
    def _counts(self) -> Mapping[tuple[str, Outcome], int]:
        counts = self._events.counts
        return {name: counts[op] for op, name in _COUNTED.items() if counts[op]}

    async def _prepare(self) -> None:
        await self._processes.prepare()
        self._note_programs()

    def _start(self, begin_ns: int) -> None:
        self._groups["load"].spawn(self._processes.begin_load(), name="programs that push")
        self._groups["progress"].spawn(self._prove(), name="search for open messages")

    async def _until_loaded(self, end_ns: int) -> None:
        """Until the programs that end by themselves have, and every fault is over."""
        while self._runtime.now_ns() < end_ns:
            over = not len(self._groups["load"]) and self._processes.load_is_over
            if (over and not len(self._groups["faults"])) or await self._halt.sleep(_POLL_NS):
                break
        self._note_programs()
        await self._processes.end_load()

    async def _is_drained(self) -> bool:
        if not all(coordinator.connected for coordinator in self._testbed.coordinators.values()):
            return False
        epoch_ns = self._testbed.epoch_ns
        now_ns = epoch_ns + self._runtime.now_ns()
        healed_ns = epoch_ns + self._phase_begin_ns  # what was started again then may have said nothing yet
        quiet_ns = now_ns - max(healed_ns, self._events.quiet_since_ns(now_ns=now_ns))
        return quiet_ns >= round(self._scenario.drain.quiet_s * NS_PER_S)

    async def _stop_clients(self) -> None:
        await self._processes.stop()

    async def _prove(self) -> None:
        """Look for messages that are open, until one is found: then the search knows this queue's.

        Messages may be stored for some milliseconds only, so it looks often, for a small share of the time.
        """
        zones, took_ns = cycle(self._scenario.zones), 0
        while not self._search.proved and not await self._halt.sleep(max(_PROOF_NS, _PROOF_REST * took_ns)):
            begin_ns = self._runtime.now_ns()
            await self._search.prove(next(zones), self._events.latest_open(PROOF_IDS))
            took_ns = self._runtime.now_ns() - begin_ns
        self._events.forget_open()

    async def _read_end_state(self) -> None:
        with closing(self._tables(FINAL_STATE_NAME, FINAL_STATE)) as table:
            try:
                logs = self._events.logs()
                log = read_events(logs) if logs else None
            except EventError:
                return  # the history, which is written next, says it
            unfinished, finished = ([], []) if log is None else (unfinished_in(log), finished_in(log))
            for row in await self._search.rows(unfinished, finished=finished):
                table.append(row)
            self._record.unread_zones += self._search.unread
            if not self._search.known:
                self._record.doubts.append(self._search.unproved)
            self._events.keep_end_state(self._search.told())

    async def _close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._processes.stop()
        finally:
            self._record.doubts += self._processes.doubts
            self._record.deaths |= self._processes.deaths
            self._note_programs()
            self._write_history()

    def _note_programs(self) -> None:
        """Put into the record the processes, as far as they are known by now."""
        for name, one in self._processes.by_name.items():
            known = self._record.programs.setdefault(name, {})
            known |= {"program": one.given.program, "zone": one.given.zone, "command": list(one.given.words)}
            known |= {"pgid": one.pgid} if one.pgid is not None else {}
            known |= {"exit_code": one.exit_code, "strikes": self._processes.strikes.get(name, [])}
            known |= {"log_left_out": one.left_out} if one.left_out else {}

    def _write_history(self) -> None:
        try:
            logs = self._events.logs()
            history = (
                history_of(
                    read_events(logs, drained=self._record.drained),
                    epoch_ns=self._testbed.epoch_ns,
                    end_state=self._search.known,
                )
                if logs
                else None
            )
        except EventError as error:
            self._record.doubts.append(str(error))
            history = None
        self._record.doubts += self._events.problems()
        if history is None:
            self._record.doubts.append(
                f"no program wrote an event that can be read, such as {EXAMPLE} on a line of stdout"
            )
            return
        self._record.doubts += history.doubts
        shards = {SHARD: self._scenario.zones[0]}
        self._record.shards = shards
        unseen = (MessageClass.PHANTOM,) if self._search.judges_orphans else (MessageClass.ORPHAN, MessageClass.PHANTOM)
        history = replace(history, unstated=tuple(dict.fromkeys((*history.unstated, *unseen))))
        self._record.queue = queue_info(history, shards=shards, end_state=self._search.known)
        self._append(history)

    def _append(self, history: LoggedHistory) -> None:
        for batch in history.operations.to_batches():
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                self._operations.append_values(row)
