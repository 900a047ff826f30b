"""The faults that are in force on a cluster, and the verbs that begin and end them.

Faults of links may lie over each other: how a link is to be follows from all of them, the later ones before the
earlier ones, and the coordinators get the result. A server, and a coordinator, has one fault at most.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from zonelab.app.session.coordinator_process import CoordinatorProcess
from zonelab.app.session.fault_requests import FaultRequest, death
from zonelab.app.session.recording import SessionRecording
from zonelab.app.session.targets import Places
from zonelab.cluster.admin.links import LinkState
from zonelab.cluster.real.zones.base import RealZone
from zonelab.cluster.real.zones.zone_set import ZoneSet
from zonelab.cluster.zone import ClusterError, Restart, ZoneState
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.faults.fault import ClusterPart, Fault

LOGGER = logging.getLogger("zonelab.session")


class Conflict(NotAccepted):
    """It could be done if something else were not in force."""


@dataclass
class ActiveFault:
    """A fault in force. ``links``: those that it is on. ``nodes``: whose servers, or coordinators, it is on."""

    number: int
    request: FaultRequest
    fault: Fault
    """The fault as it will be ended: the data of a restart may differ from the request."""
    begin_ns: int
    links: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    timer: asyncio.Task[None] | None = None
    row: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.number}:{self.request.label}"

    def shown(self, now_ns: int) -> dict[str, Any]:
        """The fault as ``zonelab status`` and its JSON show it."""
        since_s = (now_ns - self.begin_ns) / 1e9
        for_s = self.request.for_s
        return {
            "number": self.number,
            "fault": self.name,
            "kind": self.request.kind,
            "target": self.request.target,
            "links": list(self.links),
            "nodes": list(self.nodes),
            "since_s": round(since_s, 3),
            "ends_in_s": None if for_s is None else round(for_s - since_s, 3),
        }


class Board:
    """All verbs wait for each other, so what a verb finds is what it leaves but for its own change.

    ``zones`` are the servers of all nodes; without ``places``, each is a zone of one data centre.
    """

    def __init__(
        self,
        *,
        zones: ZoneSet,
        coordinators: Mapping[str, CoordinatorProcess],
        recording: SessionRecording,
        places: Places | None = None,
    ) -> None:
        self._zones = zones
        self.places = places or Places.of_zones(zones.names)
        self._coordinators = coordinators
        self._recording = recording
        self._faults: dict[int, ActiveFault] = {}
        self._next_number = 1
        self._verbs = asyncio.Lock()
        self._deaths: set[asyncio.Task[None]] = set()
        for node, coordinator in coordinators.items():
            coordinator.on_death = partial(self._died, node)

    @property
    def active(self) -> list[dict[str, Any]]:
        now_ns = self._recording.now_ns()
        return [fault.shown(now_ns) for fault in self._faults.values()]

    async def begin(self, request: FaultRequest) -> dict[str, Any]:
        """Raises ``NotAccepted`` if nothing was changed, another ``ClusterError`` if it went wrong on the way."""
        async with self._verbs:
            nodes = () if request.fault.part is ClusterPart.LINKS else self._free(request)
            fault = self._begun(request, nodes=nodes)
            await self._enforce(fault)
            if request.for_s is not None:
                fault.timer = asyncio.create_task(self._end_after(fault, request.for_s))
            return fault.shown(self._recording.now_ns())

    async def end(self, number: int) -> list[str]:
        """Raises ``NotAccepted`` if no such fault is in force."""
        async with self._verbs:
            fault = self._faults.get(number)
            if fault is None:
                there = ", ".join(one.name for one in self._faults.values()) or "none"
                raise NotAccepted(f"fault {number} is not in force; in force: {there}")
            await self._end(fault)
            return [fault.name]

    async def heal(self) -> list[str]:
        """End everything and start whatever has died; says what was done, nothing if all was well.

        What cannot be healed does not keep the rest from it; its ``ClusterError`` is raised at the end.
        """
        async with self._verbs:
            done: list[str] = []
            errors: list[ClusterError] = []
            for work in self._healing():
                try:
                    if said := await work():
                        done.append(said)
                except ClusterError as error:
                    errors.append(error)
            if errors:
                raise ClusterError("; ".join((*map(str, errors), *done)))
            await self._push()
            return done

    async def restart(self, target: str, mode: Restart = Restart.KEEP, *, of_coordinator: bool = False) -> list[str]:
        """Servers, or coordinators, as after a crash; ends whatever faults they are under, those of others included.

        What does not come up again stays killed, which is then a fault in force.
        """
        nodes = self.places.nodes_of(target)
        request = death(target, mode, of_coordinator=of_coordinator)
        async with self._verbs:
            faults = self._holding_any(nodes, of_coordinator=of_coordinator)
            killed = [one for one in faults if one.fault.leaves is ZoneState.DEAD]
            if mode is Restart.WARM:
                for each in (nodes, *(fault.nodes for fault in killed)):
                    self._check_warm(each)
            for fault in faults:
                if fault in killed:
                    fault.fault = request.fault
                await self._end(fault)
            left = tuple(node for node in nodes if not any(node in fault.nodes for fault in killed))
            if left:
                killing = self._begun(request, nodes=left)
                await self._enforce(killing)
                await self._end(killing)
            words = [_words(node, of_coordinator=of_coordinator) for node in left]
            return [*(f"ended {fault.name}" for fault in faults), *(f"restarted {one}" for one in words)]

    async def close(self) -> None:
        """Nothing more happens by itself; what is in force is recorded as ended now."""
        for noticed in list(self._deaths):
            await _cancelled(noticed)
        for fault in list(self._faults.values()):  # one may end by its timer meanwhile
            await _cancelled(fault.timer)
            self._recording.fault_ended(fault.row)

    def _died(self, node: str) -> None:
        noticed = asyncio.create_task(self._death(node))
        self._deaths.add(noticed)
        noticed.add_done_callback(self._deaths.discard)

    async def _death(self, node: str) -> None:
        """A coordinator that died by itself is under a fault as one that was killed: the others lose its zone."""
        async with self._verbs:
            dead = self._coordinators[node].state is ZoneState.DEAD
            if not dead or self._holding(node, of_coordinator=True) is not None:
                return
            LOGGER.error("coordinator %s died by itself: %s", node, self._coordinators[node].log_tail())
            self._begun(death(node, Restart.KEEP, of_coordinator=True), nodes=(node,))
            try:
                await self._push()
            except ClusterError as error:
                LOGGER.error("not every coordinator was told of the death of coordinator %s: %s", node, error)

    def _free(self, request: FaultRequest) -> tuple[str, ...]:
        """The nodes that it is on. Raises ``NotAccepted`` if they are not there, or something is the matter already."""
        nodes, of_coordinator = self.places.nodes_of(request.target), _of_coordinator(request.fault)
        for node in nodes:
            under = self._holding(node, of_coordinator=of_coordinator)
            what = _words(node, of_coordinator=of_coordinator)
            if under is not None:
                raise Conflict(
                    f"{what} is under {under.name} already: zonelab fault end {under.number}, or zonelab heal"
                )
            state = self._thing(node, of_coordinator=of_coordinator).state
            if state is not ZoneState.RUNNING:
                raise Conflict(f"{what} is {state}; it must be running: zonelab heal")
        if request.fault.comes_back is Restart.WARM:
            self._check_warm(nodes)
        return nodes

    def _check_warm(self, nodes: Sequence[str]) -> None:
        for node in nodes:
            self._warm_source(node, besides=nodes)

    def _thing(self, node: str, *, of_coordinator: bool) -> RealZone | CoordinatorProcess:
        return self._coordinators[node] if of_coordinator else self._zones[node]

    def _holding(self, node: str, *, of_coordinator: bool) -> ActiveFault | None:
        return next(iter(self._holding_any((node,), of_coordinator=of_coordinator)), None)

    def _holding_any(self, nodes: Sequence[str], *, of_coordinator: bool) -> list[ActiveFault]:
        return [
            fault
            for fault in self._faults.values()
            if _of_coordinator(fault.fault) is of_coordinator and any(node in fault.nodes for node in nodes)
        ]

    def _things(self, fault: ActiveFault) -> list[RealZone | CoordinatorProcess]:
        return [self._thing(node, of_coordinator=_of_coordinator(fault.fault)) for node in fault.nodes]

    async def _enforce(self, fault: ActiveFault) -> None:
        await asyncio.gather(
            *(fault.fault.strike(thing) for thing in self._things(fault) if thing.state is not ZoneState.DEAD)
        )
        if fault.links:
            await self._push()

    async def _end(self, fault: ActiveFault) -> None:
        """End it, or leave it in force if that fails."""
        if fault.timer is not asyncio.current_task():
            await _cancelled(fault.timer)
        try:
            await _all_of(self._relieved(node, fault) for node in fault.nodes)
        except ClusterError:
            if _of_coordinator(fault.fault):
                await self._push()  # to those that did come up
            raise
        if fault.links or _of_coordinator(fault.fault):
            await self._push(without=fault)
        del self._faults[fault.number]
        self._recording.fault_ended(fault.row)

    async def _relieved(self, node: str, fault: ActiveFault) -> None:
        """End it on one server or coordinator; what died of something else is started again."""
        of_coordinator, source = _of_coordinator(fault.fault), partial(self._warm_source, node, besides=fault.nodes)
        thing = self._thing(node, of_coordinator=of_coordinator)
        if fault.fault.outlives_server or thing.state is fault.fault.leaves:
            await fault.fault.relieve(thing, source)
        if thing.state is ZoneState.DEAD:
            await self._revive(node, of_coordinator=of_coordinator)

    async def _revive(self, node: str, *, of_coordinator: bool) -> None:
        await (self._coordinators[node].start() if of_coordinator else self._zones[node].restart(Restart.KEEP))

    def _warm_source(self, name: str, *, besides: Sequence[str]) -> RealZone:
        """A running server that has the same keys, and is none of ``besides``."""
        for other in self.places.twins_of(name):
            if other not in besides and self._zones[other].state is ZoneState.RUNNING:
                return self._zones[other]
        raise Conflict(
            f"zone {name}: no other zone is running to copy the data from, with a server of the same keys; "
            "accepted now: keep, wipe"
        )

    def _healing(self) -> Iterator[Callable[[], Awaitable[str]]]:
        """Everything that healing tries; each says what it has done, or nothing."""
        yield from (partial(self._ended, fault) for fault in list(self._faults.values()))
        for of_coordinator in (False, True):
            yield from (partial(self._revived, node, of_coordinator=of_coordinator) for node in self._zones.names)

    async def _ended(self, fault: ActiveFault) -> str:
        await self._end(fault)
        return f"ended {fault.name}"

    async def _revived(self, node: str, *, of_coordinator: bool) -> str:
        """Return what died by itself is started again."""
        dead = self._thing(node, of_coordinator=of_coordinator).state is ZoneState.DEAD
        if not dead or self._holding(node, of_coordinator=of_coordinator) is not None:
            return ""
        await self._revive(node, of_coordinator=of_coordinator)
        if of_coordinator:
            await self._push()
        return f"restarted {_words(node, of_coordinator=of_coordinator)}"

    async def _push(self, *, without: ActiveFault | None = None) -> None:
        """Tell every coordinator how its links are to be."""
        names = self._zones.names
        states = {f"{one}>{other}": LinkState() for one in names for other in names if one != other}
        for fault in self._faults.values():
            if fault is not without:
                changes = fault.fault.link_state
                states.update({link: states[link].model_copy(update=changes) for link in fault.links})
        calls: list[Awaitable[None]] = []
        for zone, coordinator in self._coordinators.items():
            own = {link: state.model_dump(mode="json") for link, state in states.items() if zone in link.split(">")}
            calls.append(coordinator.set_links(own))
        await asyncio.gather(*calls)

    async def _end_after(self, fault: ActiveFault, for_s: float) -> None:
        await asyncio.sleep(for_s)
        async with self._verbs:
            if fault.number not in self._faults:
                return
            try:
                await self._end(fault)
            except ClusterError as error:
                LOGGER.error("%s could not be ended: %s", fault.name, error)
                self._recording.verb("end", {"fault": fault.name}, error=str(error))

    def _begun(self, request: FaultRequest, *, nodes: tuple[str, ...]) -> ActiveFault:
        """In force, and recorded; it is up to the caller to make it happen. Raises ``NotAccepted``."""
        same = request.fault
        links = () if nodes else self.places.links_of(request.target)
        if nodes and same.link_state:
            links = self.places.links_at(nodes)
        fault = ActiveFault(self._next_number, request, same, self._recording.now_ns(), links=links, nodes=nodes)
        self._next_number += 1
        self._faults[fault.number] = fault
        fault.row = self._recording.fault_began(
            name=fault.name,
            kind=request.kind,
            target=request.target,
            begin_ns=fault.begin_ns,
            colour=same.colour,
            detail=json.dumps(request.model_dump(mode="json", exclude_defaults=True)),
        )
        return fault


def _of_coordinator(fault: Fault) -> bool:
    return fault.part is ClusterPart.COORDINATOR


def _words(node: str, *, of_coordinator: bool) -> str:
    return f"{'coordinator' if of_coordinator else 'zone'} {node}"


async def _all_of(works: Iterable[Awaitable[None]]) -> None:
    """Await all; a failure does not keep the rest from being tried. Raises the first ``ClusterError``."""
    outcomes = await asyncio.gather(*works, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome


async def _cancelled(task: "asyncio.Task[None] | None") -> None:
    if task is not None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
