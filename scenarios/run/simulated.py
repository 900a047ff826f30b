"""Runs in virtual time: the same runner, the same tables, and every event decided by the seed."""

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import FrameType

from zonelab.analysis.runs.info import RunInfo
from zonelab.cluster.event_flags import EventFlags
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.sim.cluster import SimCluster, SimSettings
from zonelab.cluster.sim.redis.server_commands import not_modelled
from zonelab.cluster.sim.schedule import Schedule
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.sim.station import StationSettings
from zonelab.cluster.sim.trace import Trace
from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.carry_out import carry_out
from zonelab.scenarios.run.in_directory import RunWriter, ending_signals, run_in_directory
from zonelab.scenarios.run.network_settings import network_of
from zonelab.scenarios.run.program_times import BusyTestbed
from zonelab.scenarios.run_files.record import Note, RunRecord, unnoted
from zonelab.scenarios.run_files.run_json import identity
from zonelab.scenarios.run_files.tables import MemoryRun, MemoryTables, Tables
from zonelab.scenarios.run_phases import Watcher
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.simulation import StationSection
from zonelab.scenarios.tasks import Halt

SIMULATED = "simulated"

ROUND_TRIP_NS = 40_000
"""Between a coordinator and the server of its own machine, all counted on the way there: that is one event less."""

SEGMENT_NS = 60_000_000_000
"""Length of a segment of virtual time, which equal runs divide equally; it passes in some seconds."""

Observe = Callable[[SimCluster], Testbed]
"""Puts something between a run and its cluster that sees what happens and changes nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedRun:
    """A run that has happened. ``trace_hash`` is equal for equal runs and for no others."""

    record: RunRecord
    epoch_ns: int
    trace_hash: str
    trace: Trace


class NullWatcher:
    """A ``Watcher`` for runs that are over before anybody could look."""

    def phase(self, name: str, bound_s: float | None) -> None:
        pass

    def progress(self, elapsed_s: float, counts: Mapping[tuple[str, Outcome], int]) -> None:
        pass


def _unheeded(halt: Halt) -> AbstractContextManager[None]:
    return nullcontext()


def simulate(
    scenario: Scenario,
    tables: Tables,
    *,
    watcher: Watcher | None = None,
    make_queue: MakeQueue = queue_under_test,
    observe: Observe | None = None,
    keep_trace: bool = False,
    begun: Callable[[SimCluster], None] = lambda cluster: None,
    note: Note = unnoted,
    on_signals: Callable[[Halt], AbstractContextManager[None]] = _unheeded,
) -> SimulatedRun:
    """Carry out one run in virtual time, within what ``on_signals`` makes of the run's halt.

    ``begun`` is called before anything happens.
    """
    cluster = SimCluster(scenario.servers, settings_of(scenario, keep_trace=keep_trace))
    begun(cluster)
    testbed: Testbed = cluster if observe is None else observe(cluster)
    if (programs := _station(scenario.simulation.service.program)) is not None:
        testbed = BusyTestbed(testbed, cluster, programs)
    halt = Halt(testbed.runtime)
    run = carry_out(
        scenario, testbed, tables, halt=halt, watcher=watcher or NullWatcher(), make_queue=make_queue, note=note
    )
    with on_signals(halt):
        record = cluster.runtime.run_until_complete(run)
    _fail_if_lacking(cluster, record)
    runtime = cluster.runtime
    return SimulatedRun(record=record, epoch_ns=cluster.epoch_ns, trace_hash=runtime.trace_hash, trace=runtime.trace)


def _fail_if_lacking(cluster: SimCluster, record: RunRecord) -> None:
    """A run whose programs used what the simulated servers do not have is no evidence of anything."""
    lacking = sorted({name for zone in cluster.zones.values() for name in zone.server.lacking})
    if lacking and record.status != "failed":
        record.status, record.error = "failed", not_modelled(*lacking)
        LOGGER.error("the run failed: %s", record.error)


@cache
def _version() -> str:
    return version("zonelab")


def recorded(scenario: Scenario, done: SimulatedRun, tables: MemoryTables) -> MemoryRun:
    """The run as the checker reads it."""
    facts = identity(scenario, done.record, epoch_ns=done.epoch_ns)
    info = RunInfo(zonelab_version=_version(), started_utc="", arm=Arm.SIM, zones=SIMULATED, **facts)
    return MemoryRun(info, tables)


def run_in_sim(
    scenario: Scenario,
    *,
    runs: Path,
    watcher: Watcher,
    command: str,
    make_queue: MakeQueue = queue_under_test,
    observe: Observe | None = None,
) -> tuple[Path, RunRecord]:
    """Run ``scenario`` once and write everything but the analysis into a new directory under ``runs``.

    Raises ``OSError`` if the directory cannot be made or ``run.json`` cannot be written.
    """

    def run(writer: RunWriter) -> RunRecord:
        where = {"arm": Arm.SIM, "zones": SIMULATED, "tie_break": scenario.simulation.tie_break}
        done = simulate(
            scenario,
            writer.tables,
            watcher=watcher,
            make_queue=make_queue,
            observe=observe,
            begun=lambda cluster: writer.begin(epoch_ns=cluster.epoch_ns, where=where),
            note=writer.note,
            on_signals=_ending,
        )
        writer.end(done.record, told={"trace_hash": done.trace_hash})
        return done.record

    return run_in_directory(scenario, runs=runs, command=command, segment_ns=SEGMENT_NS, run=run)


def settings_of(scenario: Scenario, *, keep_trace: bool = False) -> SimSettings:
    service = scenario.simulation.service
    server = ServerSettings(
        persistence=scenario.persistence,
        events=EventFlags.read(scenario.notify_keyspace_events),
        request_ns=ROUND_TRIP_NS,
        reply_ns=0,
        service=None if service.server is None else parse_lag(service.server),
    )
    return network_of(
        SimSettings,
        scenario,
        schedule=Schedule(tie_break=scenario.simulation.tie_break),
        server=server,
        coordinator=_station(service.coordinator),
        keep_trace=keep_trace,
    )


def _station(section: StationSection | None) -> StationSettings | None:
    return None if section is None else StationSettings(service=parse_lag(section.time), capacity=section.capacity)


@contextmanager
def _ending(halt: Halt) -> Iterator[None]:
    """The first signal ends the run in order, a second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        if halt.called:
            raise KeyboardInterrupt
        LOGGER.warning("asked to end")
        halt.interrupt()

    before = {number: signal.signal(number, end) for number in ending_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
