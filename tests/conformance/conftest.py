"""Where the conformance suite runs: one plain server, and three zones, real and simulated, at every level.

A test takes ``target`` and makes its queues on ``target.quorum(zone)`` and ``target.local(zone)``, or, if it is about
V1, by ``target.queue``. It runs in both modes of V1 unless its module overrides the fixture ``compat``.
"""

from dataclasses import dataclass, field

import pytest
from support.cluster.servers import Lab, started_lab
from support.cluster.sim_lab import SimLab, simulated_lab
from support.engine.dyno import SHARDS, SettableClock, content, fresh_name, make_queue

from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC, Level


@dataclass
class Target:
    """A place to run queues on: for each zone a quorum and a local connection, one runtime, one clock that is set.

    ``level`` is None for a single server, which then stands for every zone.
    """

    lab: Lab | SimLab
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

    def at_rest(self, queue):
        """What every zone holds of ``queue``, once all hold the same; fails if that does not come."""
        return self.eventually(
            lambda: [self.content(queue, zone) for zone in self.zones],
            lambda contents: contents.count(contents[0]) == len(contents),
        )[0]

    def eventually(self, look, settled):
        """What ``look`` finds, once that is ``settled``; fails if it does not come to that."""
        for _ in range(1000):
            found = look()
            if settled(found):
                return found
            self.run(self.lab.runtime.sleep(10_000_000))
        raise AssertionError(f"at last there is {found}")

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


@pytest.fixture(scope="session")
def simulation():
    """In strict mode, which refuses nothing that the queues send: they would run on Dynomite."""
    with simulated_lab(*SHARDS, strict=True) as lab:
        yield lab
        assert lab.refused == 0


PLACES = [
    pytest.param(("single_server", None), id="single-server", marks=pytest.mark.real),
    *(
        pytest.param(("three_zones", level), id=f"three-zones-{level}", marks=pytest.mark.real)
        for level in LEVELS_OF_ONE_DC
    ),
    *(pytest.param(("simulation", level), id=f"simulation-{level}") for level in LEVELS_OF_ONE_DC),
]


@pytest.fixture(params=PLACES)
def place(request):
    """The fixture that is the lab, and the level."""
    return request.param


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def compat(request):
    return request.param


@pytest.fixture
def target(request, place, compat):
    lab, level = place
    return Target(lab=request.getfixturevalue(lab), level=level, compat=compat)
