"""Runs on real servers: makes the testbed, gives it an event loop, and turns signals into an orderly end."""

import asyncio
import contextlib
import gc
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

import uvloop

from zonelab.analysis.runs.votes import VOTES, VOTES_NAME
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.real.cluster import RealCluster, RealSettings
from zonelab.cluster.real.stalls import StallMonitor
from zonelab.cluster.real.zones import zones
from zonelab.cluster.resp.gateway.ported_cluster import PortedCluster
from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.arms import Arm, Recording, ZoneKind
from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.guests.environments import used_environment
from zonelab.scenarios.guests.guest import load_guest
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.programs.run import ProgramRun
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.carry_out import carry_out
from zonelab.scenarios.run.command_log import LoggedTestbed
from zonelab.scenarios.run.in_directory import RunWriter, ending_signals, run_in_directory
from zonelab.scenarios.run.network_settings import network_of
from zonelab.scenarios.run.vote_table import VoteRecorder
from zonelab.scenarios.run_files.record import RunRecord
from zonelab.scenarios.run_phases import Onlooker, Watcher
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.tasks import Halt

SEGMENT_NS = 5_000_000_000
"""A lab that is killed loses what happened in the last of so long, and the time to the next look (0.2 s)."""


def run_on_servers(
    scenario: Scenario,
    *,
    kind: ZoneKind,
    runs: Path,
    watcher: Watcher,
    command: str,
    make_queue: MakeQueue = queue_under_test,
    page: Onlooker | None = None,
    recording: Recording | None = None,
) -> tuple[Path, RunRecord]:
    """Run ``scenario`` once and write everything but the analysis into a new directory under ``runs``.

    ``recording``: what is recorded beside the history; not of programs, which have ``record_commands``.

    Blocks until the run is over. Ctrl-C, SIGTERM and SIGHUP end it early and in order; a second one cuts short what is
    left. Raises ``OSError`` if the directory cannot be made or ``run.json`` cannot be written, and ``ClusterError`` if
    an environment that its programs need cannot be made.
    """

    def run(writer: RunWriter) -> RunRecord:
        with settled_heap(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_run(scenario, kind, writer, watcher, make_queue, page, recording))

    with ExitStack() as used:
        for program in scenario.programs.values():
            if program.guest is not None:
                guest = load_guest(program.guest)
                used.enter_context(
                    used_environment(guest, version=program.version, on_making=lambda words: watcher.phase(words, None))
                )
        return run_in_directory(scenario, runs=runs, command=command, segment_ns=SEGMENT_NS, run=run)


async def _run(
    scenario: Scenario,
    kind: ZoneKind,
    writer: RunWriter,
    watcher: Watcher,
    make_queue: MakeQueue,
    page: Onlooker | None,
    recording: Recording | None,
) -> RunRecord:
    stalls = StallMonitor(asyncio.get_running_loop())
    events = scenario.notify_keyspace_events
    servers = zones(kind.value, scenario.servers, persistence=scenario.persistence, events=events)
    settings = network_of(RealSettings, scenario)
    testbed: Testbed = RealCluster(servers, settings)
    make_run, recorded = None, ExitStack()
    if scenario.programs:
        testbed = ported = PortedCluster(servers, settings, setting=scenario.setting)
        make_run = partial(ProgramRun, cluster=ported, directory=writer.directory)
    elif recording is Recording.VOTES:
        votes = recorded.enter_context(closing(VoteRecorder(writer.tables(VOTES_NAME, VOTES))))
        testbed = LoggedTestbed(testbed, votes)
    writer.begin(epoch_ns=testbed.epoch_ns, where={"arm": Arm.REAL, "zones": kind})
    halt = Halt(testbed.runtime)
    phase = _Phase([watcher] if page is None else [watcher, page])
    main = asyncio.current_task()
    assert main is not None

    def end() -> None:
        # Nothing of the run exists during set-up, and whoever asks twice does not want to wait for the rest.
        cut_short = halt.called or phase.name == "set-up"
        halt.interrupt()
        LOGGER.warning("asked to end%s", " at once" if cut_short else "")
        if cut_short:
            main.cancel()

    with _signals(end), recorded:
        stalls.start()
        try:
            async with contextlib.nullcontext() if page is None else page.served():
                record = await carry_out(
                    scenario,
                    testbed,
                    writer.tables,
                    halt=halt,
                    watcher=phase,
                    make_queue=make_queue,
                    note=writer.note,
                    onlooker=page,
                    make_run=make_run,
                )
        except asyncio.CancelledError:
            if not halt.interrupted:
                raise
            record = RunRecord(status="interrupted", error="interrupted by the user")
        finally:
            stalls.stop()
    facts = {
        "longest_stall_ms": round(stalls.longest_ms, 1),
        "stall_p99_ms": round(stalls.p99_ms, 2),
        "shortest_time_out_ms": Timeouts(factor=scenario.replication.time_factor).datastore_ns / 1e6,
    }
    writer.end(record, told=facts)
    return record


@contextmanager
def settled_heap() -> Iterator[None]:
    """Keep the garbage collector from walking what earlier runs and their plots left: it stalls a run for 200 ms."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class _Phase:
    """Passes everything on to all who watch, and remembers the phase."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.name = ""
        self._watchers = watchers

    def phase(self, name: str, bound_s: float | None) -> None:
        self.name = name
        for watcher in self._watchers:
            watcher.phase(name, bound_s)

    def progress(self, elapsed_s: float, counts: Mapping[tuple[str, Outcome], int]) -> None:
        for watcher in self._watchers:
            watcher.progress(elapsed_s, counts)


@contextmanager
def _signals(end: Callable[[], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in ending_signals()}
    for number in before:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler or signal.SIG_DFL)  # asyncio would leave the default
