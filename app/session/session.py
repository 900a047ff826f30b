"""A cluster in the supervisor's hands: the servers, a coordinator a zone, and what is known and done about them."""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zonelab.analysis.runs.manual_session import deviations
from zonelab.app.monitor.coordinators import figures_of, links_of, notices_of
from zonelab.app.monitor.feed import Feed
from zonelab.app.monitor.health import health_of
from zonelab.app.monitor.readings import WAIT_S, GaugeReading
from zonelab.app.monitor.strips import Strips
from zonelab.app.monitor.watched_queues import WatchedQueues
from zonelab.app.session.coordinator_process import CoordinatorProcess
from zonelab.app.session.fault_board import Board
from zonelab.app.session.fault_requests import fault_forms
from zonelab.app.session.recording import SessionRecording
from zonelab.app.session.settings import SessionSettings
from zonelab.app.session.targets import Places
from zonelab.app.session.zone_sampler import Sampler
from zonelab.cluster.real.zones import ZoneSet, zones
from zonelab.cluster.real.zones.factory import ZoneKind as FactoryKind
from zonelab.cluster.real.zones.key_comparison import compare_zones
from zonelab.cluster.real.zones.port import PortReservation
from zonelab.cluster.real.zones.process.workspace import create_directory, remove_directory
from zonelab.cluster.real.zones.waiting import to_completion
from zonelab.cluster.topology.topology import Topology, placed
from zonelab.cluster.zone import ZoneError
from zonelab.scenarios.logs import logging_to

TOKEN_BYTES = 32

CONNECTED_S = 20.0
"""Seconds that a new cluster may take until every coordinator reaches every zone."""

STARTING_MAX = 8
"""Coordinators that start at the same time."""

_POLL_S = 0.02

PROGRESS_KEYS = 2_000
"""After so many keys of a comparison the log has a line."""

LOGGER = logging.getLogger("zonelab.session")


class Session:
    """Everything that is up. Make it with ``session``."""

    def __init__(
        self,
        settings: SessionSettings,
        *,
        zone_set: ZoneSet,
        coordinators: dict[str, CoordinatorProcess],
        recording: SessionRecording,
    ) -> None:
        self.settings = settings
        self.zones = zone_set
        self.coordinators = coordinators
        self.recording = recording
        places = Places(settings.layout)
        self.board = Board(zones=zone_set, coordinators=coordinators, recording=recording, places=places)
        self.sampler = Sampler(zones=zone_set, coordinators=coordinators, recording=recording, sampled=self._sampled)
        self.strips = Strips()
        self.queues = WatchedQueues(settings.layout, {zone.name: zone.address for zone in zone_set})
        self.feed = Feed(self.read)

    async def status(self) -> dict[str, Any]:
        """Everything that ``zonelab status`` shows; coordinators that are slow to answer are waited for."""
        asked = await asyncio.gather(*(one.statistics() for one in self.coordinators.values()))
        now_ns = self.recording.now_ns()
        answers = zip(self.coordinators, asked, strict=True)
        fresh = {zone: GaugeReading(answer, now_ns) for zone, answer in answers if answer is not None}
        return {**self._described(), **self._shown(fresh)}

    async def heal(self) -> list[str]:
        """Heal as ``Board.heal`` does, then compare the zones and report the differences as well."""
        done = await self.board.heal()
        return [*done, *(await self.compare_keys(after="heal"))] if done else []

    async def compare_keys(self, *, after: str) -> list[str]:
        """Sentences about the keys that differ between zones, or why that cannot be said."""
        places, zones = self.board.places, self.zones
        groups = {tuple(sorted((node, *places.twins_of(node)))) for node in self.coordinators}
        servers = [{node: zones[node].address for node in group} for group in sorted(groups) if len(group) > 1]
        if not servers:
            return []
        found = await compare_zones(servers, progress=self._compared)
        self.recording.keys_compared(found, after=after)
        return list(found.sentences())

    def _compared(self, keys: int) -> None:
        if keys % PROGRESS_KEYS == 0:
            LOGGER.info("%d keys of the zones are compared", keys)

    def hello(self) -> dict[str, Any]:
        """For a page that is opened: what stays as it is, and what may be done."""
        return {
            "title": f"Cluster at {self.settings.level}",
            "about": self._described(),
            "faultable": {"kinds": fault_forms(), "places": list(self.board.places.groups)},
        }

    async def read(self) -> dict[str, Any]:
        """For a page that is looked at; who does not answer at once is shown as it was last."""
        answers = self.sampler.answers
        await asyncio.gather(answers.look(within_s=WAIT_S), self.queues.look())
        now_ms, queues = self._wall_ms(self.recording.now_ns()), self.queues.shown()
        shown = self._shown(answers.latest)
        self.strips.sample(now_ms, queues=queues, faults=shown["faults"])
        health = health_of(shown["zones"])
        return {"now_ms": now_ms, **shown, "health": health, "queues": queues, "strips": self.strips.shown(now_ms)}

    def _sampled(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep a sample whether or not somebody looks, so that a page that is opened later has it."""
        self.strips.sample(self._wall_ms(self.recording.now_ns()), zones=rows, faults=self.board.active)

    def _described(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "run": str(self.recording.directory),
            "kind": settings.kind.value,
            "level": settings.level.value,
            "lag": settings.links.lag,
            "dc_lag": settings.dc_lag,
            "time_factor": settings.time_factor,
            "data_centres": {} if settings.layout.flat else placed(settings.layout),
        }

    def _shown(self, readings: Mapping[str, GaugeReading[dict[str, Any]]]) -> dict[str, Any]:
        """``read_ms``, of a zone and of a link: when that was so, by the clock of the machine."""
        return {
            "up_s": round(self.recording.now_ns() / 1e9, 1),
            "zones": [self._zone(name, readings.get(name)) for name in self.coordinators],
            "notices": notices_of(readings),
            "deviations": deviations(reading.value for reading in readings.values()),
            "links": links_of(readings, self._wall_ms),
            "faults": self.board.active,
        }

    def _wall_ms(self, run_ns: int) -> int:
        return (self.recording.epoch_ns + run_ns) // 1_000_000

    def _zone(self, name: str, reading: GaugeReading[dict[str, Any]] | None) -> dict[str, Any]:
        zone, coordinator = self.zones[name], self.coordinators[name]
        answer = None if reading is None else reading.value
        shown: dict[str, Any] = {
            "zone": name,
            **self._place(name),
            "server": {
                "state": "slow" if zone.slowed else zone.state.value,
                "address": str(zone.address),
            },
            "coordinator": {
                "state": coordinator.state.value,
                "address": coordinator.address,
                "admin": coordinator.admin,
                "pid": coordinator.pid,
            },
            "read_ms": None if reading is None else self._wall_ms(reading.time_ns),
            "statistics": None,
        }
        if answer is not None:
            shown["statistics"] = figures_of(answer)
        return shown

    def _place(self, node: str) -> dict[str, str]:
        """Return where a node is, if that is not plain from its name."""
        layout = self.settings.layout
        position = layout.positions[node]
        return {} if layout.flat else {"of_zone": position.zone.name, "data_centre": position.dc.name}


@contextlib.asynccontextmanager
async def session(settings: SessionSettings, *, run_id: str) -> AsyncIterator[Session]:
    """Start everything; on the way out, all of it is gone but the run directory."""
    async with contextlib.AsyncExitStack() as stack:
        # Taken first: a port that is not free is known before anything has been started.
        ports = {zone: stack.enter_context(_reserved(settings.port_of(zone))) for zone in settings.names}
        kind: FactoryKind = "docker" if settings.kind.value == "docker" else "process"
        zone_set = await stack.enter_async_context(
            zones(
                kind,
                settings.names,
                persistence=settings.persistence,
                events=settings.notify_keyspace_events or "",
                run_id=run_id,
            )
        )
        directory = create_directory("session")
        stack.callback(remove_directory, directory)
        peers = _peers(settings, stack)
        coordinators = {
            zone: _coordinator(
                zone,
                port,
                settings=settings,
                zone_set=zone_set,
                directory=directory,
                stack=stack,
                placement=_placement(settings.layout, peers),
            )
            for zone, port in ports.items()
        }
        stack.push_async_callback(_stop, coordinators)
        await _started(coordinators)
        await asyncio.gather(*(_until_connected(one) for one in coordinators.values()))
        server = await next(iter(zone_set)).server_version()
        recording = SessionRecording(settings, server=server)
        stack.enter_context(logging_to(recording.directory / "lab.log"))
        made = Session(settings, zone_set=zone_set, coordinators=coordinators, recording=recording)
        sampling = asyncio.create_task(made.sampler.run())
        error: str | None = "the supervisor failed"
        try:
            yield made
            error = None
        finally:
            await to_completion(_recorded_end(made, sampling, directory, error))


async def _started(coordinators: dict[str, CoordinatorProcess]) -> None:
    """A few at a time: each has its time to start from when its turn comes, however many there are."""
    turns = asyncio.Semaphore(STARTING_MAX)

    async def start(one: CoordinatorProcess) -> None:
        async with turns:
            await one.start()

    await asyncio.gather(*map(start, coordinators.values()))


async def _until_connected(coordinator: CoordinatorProcess) -> None:
    """Until it reaches everything, so that what a user tries first works; on a machine too busy for that, go on."""
    deadline_s = asyncio.get_running_loop().time() + CONNECTED_S
    while asyncio.get_running_loop().time() < deadline_s:
        statistics = await coordinator.statistics()
        if statistics is not None and all((*statistics["connected"].values(), *statistics["peers"].values())):
            return
        await asyncio.sleep(_POLL_S)


async def _recorded_end(made: Session, sampling: "asyncio.Task[None]", directory: Path, error: str | None) -> None:
    sampling.cancel()
    await asyncio.wait([sampling])
    made.feed.close()
    await made.queues.close()
    await made.board.close()
    with contextlib.suppress(Exception):  # what cannot be asked any more has its last answer
        await made.recording.sample(await made.sampler.ask(shared_s=0))
    for zone in made.coordinators:
        made.recording.log(f"coordinator {zone}", (directory / f"coordinator-{zone}.log").read_text(errors="replace"))
    made.recording.close(coordinators=made.sampler.latest, error=error)


async def _stop(coordinators: dict[str, CoordinatorProcess]) -> None:
    await to_completion(_stop_all(coordinators))


async def _stop_all(coordinators: dict[str, CoordinatorProcess]) -> None:
    await asyncio.gather(*(one.stop() for one in coordinators.values()))


def _coordinator(
    zone: str,
    port: int,
    *,
    settings: SessionSettings,
    zone_set: ZoneSet,
    directory: Path,
    stack: contextlib.AsyncExitStack,
    placement: dict[str, Any],
) -> CoordinatorProcess:
    configuration = {
        "zone": zone,
        "zones": {one.name: str(one.address) for one in zone_set},
        "sockets": {one.name: one.socket for one in zone_set if one.socket is not None},
        "port": port,
        "level": settings.level.value,
        "links": settings.links.model_dump(),
        "replication": settings.replication.model_dump(mode="json"),
        "seed": settings.seed,
        "time_factor": settings.time_factor,
        "busy_poll_us": settings.busy_poll_us,
        "password": settings.password,
        "remote_lag": settings.dc_lag,
        "reload_scripts": settings.reload_scripts,
        **placement,
    }
    admin = {"port": stack.enter_context(_reserved(None)), "token": secrets.token_urlsafe(TOKEN_BYTES)}
    return CoordinatorProcess(zone, configuration=configuration, admin=admin, directory=directory)


def _placement(layout: Topology, peers: dict[str, str]) -> dict[str, Any]:
    """The part of a coordinator's configuration that says where the nodes are."""
    if layout.flat:
        return {}
    shown = {"data_centres": placed(layout), "hash": layout.hash.value, "hash_tag": layout.hash_tag}
    return {"topology": shown, "peers": peers}


def _peers(settings: SessionSettings, stack: contextlib.AsyncExitStack) -> dict[str, str]:
    """Return where each coordinator listens to those of other data centres, if there are any."""
    nodes = settings.names if len(settings.layout.dcs) > 1 else ()
    return {node: f"127.0.0.1:{stack.enter_context(_reserved(None))}" for node in nodes}


@contextlib.contextmanager
def _reserved(port: int | None) -> "Any":
    try:
        reservation = PortReservation(port)
    except ZoneError as error:
        hint = "" if port is None else "; --port N asks for the ports from N on, --port 0 for free ones"
        raise ZoneError(f"{error}{hint}") from error
    try:
        yield reservation.port
    finally:
        reservation.release()
