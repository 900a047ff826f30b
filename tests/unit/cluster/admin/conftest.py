"""An administration around links that are real and a gateway that the test plays."""

import asyncio
from random import Random
from types import SimpleNamespace

import httpx
import pytest

from zonelab.cluster.admin.app import admin_app
from zonelab.cluster.admin.settings import AdminSettings
from zonelab.cluster.admin.view import GatewayView
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Link
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.votes.statistics import CoordinatorStatistics

TOKEN = "t" * 32


class PlayedGateway:
    """Zone a of two; ``connected_to`` says which servers it reaches."""

    zone = "a"

    def __init__(self):
        self.runtime = SimRuntime(seed=1)
        self.links = {
            ends: Link(
                source=ends[0],
                target=ends[1],
                runtime=self.runtime,
                lag=parse_lag("constant:2ms"),
                random=Random(1),
            )
            for ends in (("a", "b"), ("b", "a"))
        }
        self.connected_to = {"a": True, "b": True}
        self.server = SimpleNamespace(
            until_sample=0, sampler=None, read_level=Level.DC_ONE, write_level=Level.DC_QUORUM
        )
        self.counted = CoordinatorStatistics()
        self.peers = {}
        self.placed = {}
        self.closed = 0
        self.commands = 7

    def topology(self):
        return {
            "zone": "a",
            "port": "127.0.0.1:7401",
            "zones": {"a": "127.0.0.1:1", "b": "127.0.0.1:2"},
            "data_centres": self.placed,
            "read_level": self.server.read_level.value,
            "write_level": self.server.write_level.value,
        }

    def statistics(self):
        port = {
            "clients": 3,
            "commands": self.commands,
            "error_replies": 1,
            "over_memory": self.closed,
            "held_bytes": 0,
        }
        return {"port": port, "coordinator": self.counted.as_dict(), "peers": self.peers}

    def set_level(self, *, read=None, write=None):
        self.server.read_level = read or self.server.read_level
        self.server.write_level = write or self.server.write_level


class Client:
    """Asks an application that is in this process."""

    def __init__(self, view, app, *, base_url, headers=None):
        self.view = view
        self._options = {"transport": httpx.ASGITransport(app), "base_url": base_url, "headers": headers}

    def request(self, method, path, **options):
        async def ask():
            async with httpx.AsyncClient(**self._options) as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def put(self, path, **options):
        return self.request("PUT", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)


@pytest.fixture
def gateway():
    return PlayedGateway()


@pytest.fixture
def asked(gateway):
    """Makes a client of an administration with these settings."""

    def make(*, base_url="http://127.0.0.1:8001", headers=None, **settings):
        view = GatewayView(gateway)
        return Client(view, admin_app(view, AdminSettings(**settings)), base_url=base_url, headers=headers)

    return make


@pytest.fixture
def client(asked):
    """Somebody with the token, on this machine."""
    return asked(token=TOKEN, headers={"Authorization": f"Bearer {TOKEN}"})
