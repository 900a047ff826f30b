"""Three real zones, and gateway processes in front of them, for unmodified clients."""

import asyncio
import json
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis
import uvloop
from support.programs import Program, until

from zonelab.cluster.real.zones import zones
from zonelab.cluster.votes.levels import Level

ZONES = ("a", "b", "c")


class Gateway(Program):
    """A gateway process."""

    def __init__(self, zone, addresses, directory, **options):
        configuration = Path(directory) / f"{zone}.json"
        settings = {"zone": zone, "zones": {name: str(address) for name, address in addresses.items()}, **options}
        configuration.write_text(json.dumps(settings))
        super().__init__("-m", "zonelab.cluster.resp", "--config", str(configuration))
        host, _, port = self.said["port"].rpartition(":")
        self.host, self.port = host, int(port)

    @property
    def url(self):
        return f"redis://{self.host}:{self.port}/0"

    @property
    def resident_kb(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0])

    def client(self, **options):
        return redis.Redis(host=self.host, port=self.port, **options)

    def until_served(self):
        """Wait until the gateway is connected to its own zone's server."""
        with self.client() as client:
            until(lambda: _served(client))

    def stop(self):
        self.process.terminate()
        return self.wait()


def _served(client):
    with suppress(redis.ResponseError):
        return client.ping()
    return False


class Cluster:
    """Three zones; ``gateway`` starts a process in front of one of them."""

    def __init__(self, runner, zone_set):
        self._runner = runner
        self._zones = zone_set
        self.addresses = {zone.name: zone.address for zone in zone_set}

    def direct(self, zone, **options):
        """A client of a zone's server, past every coordinator."""
        address = self.addresses[zone]
        return redis.Redis(host=address.host, port=address.port, **options)

    def run(self, coroutine):
        return self._runner.run(coroutine)

    def zone(self, name):
        return self._zones[name]

    def everywhere(self, *command):
        return [self.direct(zone).execute_command(*command) for zone in ZONES]

    def until_everywhere(self, expected, *command):
        """Wait until the server of every zone answers ``expected``: no write waits for all of them."""
        until(lambda: self.everywhere(*command) == [expected] * len(ZONES))

    def flush(self):
        self.everywhere("FLUSHALL")

    @contextmanager
    def gateway(self, zone="a", *, level=Level.DC_QUORUM, **options):
        with tempfile.TemporaryDirectory() as directory:
            gateway = Gateway(zone, self.addresses, directory, level=level.value, **{"time_factor": 0.5, **options})
            try:
                yield gateway
            finally:
                code, errors = gateway.stop()
            assert (code, errors) == (0, "")


@contextmanager
def started():
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        zone_set = zones("process", ZONES)
        runner.run(zone_set.__aenter__())
        try:
            yield Cluster(runner, zone_set)
        finally:
            runner.run(zone_set.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def cluster():
    with started() as one:
        yield one


@pytest.fixture(scope="module")
def quorum(cluster):
    """A gateway of zone a at DC_QUORUM."""
    with cluster.gateway("a") as one:
        yield one
