"""Zones, coordinators and a recording that a test of the fault board plays."""

import asyncio
from types import SimpleNamespace

from support.coroutines import given

from zonelab.app.session.fault_board import Board
from zonelab.app.session.fault_requests import FaultRequest
from zonelab.cluster.zone import ZoneError, ZoneState


class PlayedZone:
    def __init__(self, name):
        self.name = name
        self.state = ZoneState.RUNNING
        self.verbs = []
        self.broken = False

    async def kill(self):
        self.state = ZoneState.DEAD
        self.verbs.append("kill")

    async def pause(self):
        self.state = ZoneState.PAUSED
        self.verbs.append("pause")

    async def resume(self):
        self.state = ZoneState.RUNNING
        self.verbs.append("resume")

    async def slow_down(self, factor):
        self.verbs.append(f"slow down {factor:g}")

    async def restart(self, mode, *, warm_from=None):
        if self.broken:
            raise ZoneError(f"zone {self.name}: the server ended while it started")
        self.state = ZoneState.RUNNING
        self.verbs.append(f"restart {mode}" + (f" from {warm_from.name}" if warm_from else ""))


class PlayedCoordinator:
    def __init__(self, zone):
        self.zone = zone
        self.state = ZoneState.RUNNING
        self.links = {}

    async def start(self):
        self.state = ZoneState.RUNNING
        self.links = {}

    async def kill(self):
        self.state = ZoneState.DEAD

    def die(self):
        self.state = ZoneState.DEAD
        self.on_death()

    def log_tail(self):
        return "played"

    def pause(self):
        self.state = ZoneState.PAUSED

    def resume(self):
        self.state = ZoneState.RUNNING

    async def set_links(self, states):
        if self.state is ZoneState.RUNNING:
            self.links = states

    def cuts(self):
        return {link: state["cut"] for link, state in self.links.items() if state["cut"]}


class PlayedZones:
    def __init__(self, names):
        self.names = tuple(names)
        self._zones = {name: PlayedZone(name) for name in names}

    def __getitem__(self, name):
        return self._zones[name]

    def __iter__(self):
        return iter(self._zones.values())


class Notes:
    """A recording in memory."""

    def __init__(self):
        self.rows = []
        self.verbs = []
        self.time_ns = 0

    def now_ns(self):
        self.time_ns += 1
        return self.time_ns

    def fault_began(self, **row):
        row["end_ns"] = None
        self.rows.append(row)
        return row

    def fault_ended(self, row):
        row["end_ns"] = row["end_ns"] or self.now_ns()

    def verb(self, name, arguments, *, error=None):
        self.verbs.append((name, arguments, error))


def with_board(*names, **settings):
    """Run ``async def test(lab, …)`` with a board on zones of these names; all faults have ended when it closes."""

    async def played(test):
        lab = SimpleNamespace(
            zones=PlayedZones(names), coordinators={name: PlayedCoordinator(name) for name in names}, notes=Notes()
        )
        lab.board = Board(zones=lab.zones, coordinators=lab.coordinators, recording=lab.notes, **settings)
        await test(lab)
        await lab.board.close()
        assert all(row["end_ns"] for row in lab.notes.rows)

    return given("lab", lambda test: asyncio.run(played(test)))


def fault(kind, target, **amounts):
    return FaultRequest(kind=kind, target=target, **amounts)
