"""Simulated servers and zones for tests, and a client that has nothing between itself and the server."""

from dataclasses import dataclass, field

from support.coroutines import given

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.commands.routes import is_write
from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.sim.cluster import EPOCH_NS
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.server import ServerSettings
from zonelab.cluster.sim.upstream import SimUpstream
from zonelab.cluster.sim.zone import SimZone


@dataclass
class Client:
    """Notes when it is connected, what is answered and when."""

    zone: SimZone
    runtime: SimRuntime
    events: list = field(default_factory=list)

    def __post_init__(self):
        self.upstream = SimUpstream(self.zone.server, runtime=self.runtime)

    def open(self):
        self.upstream.open(on_open=lambda: self._note("open"), on_close=lambda: self._note("closed"))

    def send(self, *commands):
        self.upstream.send(Batch(commands, writes=any(map(is_write, commands))), self._note)

    async def ask(self, *commands):
        promise = self.runtime.promise()
        self.upstream.send(Batch(commands, writes=any(map(is_write, commands))), promise.set_result)
        return await promise

    @property
    def answers(self):
        return [what for _, what in self.events]

    def _note(self, what):
        self.events.append((self.runtime.now_ns(), what))


class Site:
    """Zones a and b on one runtime."""

    def __init__(self, **settings):
        self.runtime = SimRuntime(seed=settings.pop("seed", 1))
        self.settings = ServerSettings(**settings)
        self.zones = {name: self._zone(name) for name in "ab"}
        self.zone = self.zones["a"]

    def _zone(self, name):
        clock = NodeClock(epoch_ns=EPOCH_NS, run_ns=self.runtime.now_ns)
        return SimZone(name, runtime=self.runtime, clock=clock, settings=self.settings)

    def run(self, coroutine):
        return self.runtime.run_until_complete(coroutine)

    async def connected(self, zone="a"):
        client = Client(self.zones[zone], self.runtime)
        client.open()
        await self.runtime.sleep(1_000_000)
        assert client.answers == ["open"]
        client.events.clear()
        return client


def on_site(**settings):
    """A decorator for a coroutine: it is run on a ``Site`` of these settings, ``lab``, on which zone a has started."""

    def carry_out(test):
        lab = Site(**settings)

        async def whole():
            await lab.zone.start()
            return await test(lab)

        return lab.run(whole())

    return given("lab", carry_out)
