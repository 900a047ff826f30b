"""Where the conformance suite runs: one plain server, and three zones behind coordinators at every level."""

from dataclasses import dataclass, field

import pytest
from support.dyno import SHARDS, SettableClock, content, fresh_name, make_queue
from support.servers import Lab, started_lab

from cluster.levels import Level


@dataclass
class Target:
    """A place to run queues on: for each zone a quorum and a local connection, one runtime, one clock that is set.

    ``level`` is None for a single server, which then stands for every zone.
    """

    lab: Lab
    level: Level | None
    compat: bool
    clock: SettableClock = field(default_factory=SettableClock)
    name: str = field(default_factory=fresh_name)

    def quorum(self, zone):
        return self.lab.direct("a") if self.level is None else self.lab.connection(zone, self.level)

    def local(self, zone):
        return self.lab.direct("a") if self.level is None else self.lab.connection(zone, Level.DC_ONE)

    def queue(self, zone="a", **settings):
        """An instance of the test's queue as a program in ``zone`` would have it, serving the shard of that name."""
        return make_queue(
            self.quorum(zone),
            local=self.local(zone),
            runtime=self.lab.runtime,
            clock=self.clock,
            **{"name": self.name, "shard": zone, "compat": self.compat, **settings},
        )

    def run(self, coroutine):
        return self.lab.run(coroutine)

    def content(self, queue, zone="a"):
        """What the server of ``zone`` holds of ``queue``."""
        server = self.lab.direct("a" if self.level is None else zone)
        return self.lab.run(content(server, queue.keys, queue.settings.shards))

    @property
    def zones(self):
        return SHARDS


@pytest.fixture(scope="session")
def single_server():
    with started_lab("a") as lab:
        yield lab


@pytest.fixture(scope="session")
def three_zones():
    with started_lab(*SHARDS) as lab:
        yield lab


@pytest.fixture(params=[None, *Level], ids=lambda level: level or "single-server")
def level(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def compat(request):
    return request.param


@pytest.fixture
def target(request, level, compat):
    lab = request.getfixturevalue("single_server" if level is None else "three_zones")
    return Target(lab=lab, level=level, compat=compat)
