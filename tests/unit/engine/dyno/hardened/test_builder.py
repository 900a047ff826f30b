"""A hardened queue is built out of hosts as one of V2 is, and works. Method: simulated zones, and each refusal."""

import pytest
from support.engine.hardened import ZONES, hardened_lab
from support.engine.metrics_page import Page

from zonelab.cluster.coordinators.direct import SingleZoneReads
from zonelab.cluster.votes.levels import Level
from zonelab.engine.common.prometheus import Metrics
from zonelab.engine.dyno import LocalOnly
from zonelab.engine.dyno.hardened import HardenedSettings, ReplicatedHosts, build_hardened_queue
from zonelab.engine.dyno.hosts import AWS_SHARDS, DynoHost, MappedShards, SingleShard
from zonelab.engine.message import Message

HOSTS = {zone: DynoHost(name=f"redis-{zone}", rack=f"eu-west-1{zone}") for zone in ZONES}


@pytest.fixture
def lab():
    with hardened_lab() as made:
        made.runtime.run_until_complete(made.cluster.start())
        yield made
        made.runtime.run_until_complete(made.cluster.stop())


@pytest.fixture
def build(lab):
    def build(zone="a", **options):
        cluster, coordinator = lab.cluster, lab.cluster.coordinators[zone]
        servers = ReplicatedHosts(
            quorum=cluster.connection(zone, Level.DC_QUORUM),
            safe=cluster.connection(zone, Level.DC_SAFE_QUORUM),
            local=cluster.connection(zone, Level.DC_ONE),
            zones={host: SingleZoneReads(coordinator, name, runtime=cluster.runtime) for name, host in HOSTS.items()},
        )
        given = {
            "queue_name": "jobs",
            "redis_key_prefix": "test",
            "unack_ms": 200,
            "servers": servers,
            "instance": f"{zone}-1",
            "local_rack": HOSTS[zone].rack,
            "runtime": cluster.runtime,
            "clock": cluster.clock(zone),
        }
        return build_hardened_queue(**{**given, **options})

    return build


def test_settings_are_as_given_and_otherwise_their_defaults(build):
    queue = build(margin_ms=7, deliveries_max=3)
    given = {"prefix": "test", "shards": ZONES, "shard": "a", "instance": "a-1", "lease_ms": 200}
    assert queue.settings == HardenedSettings(**given, margin_ms=7, deliveries_max=3)
    assert queue.name == "jobs"


def test_shards_are_those_of_the_supplier(build):
    shards = MappedShards(hosts=lambda: list(HOSTS.values()), local_rack="eu-west-1b", shards=AWS_SHARDS)
    queue = build(shard_supplier=shards)
    assert (queue.settings.shards, queue.settings.shard) == (("c", "d", "e"), "d")
    assert build(shard_supplier=shards, current_shard="e").settings.shard == "e"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"local_rack": ""}, "local_rack must be given when shard_supplier is not, got ''"),
        ({"current_shard": "z"}, "shard must be one of a, b, c, got 'z'"),
        ({"shard_supplier": SingleShard("only")}, "every zone must have a shard of its own, got two hosts for"),
        ({"margin_ms": -1}, "margin_ms must be at least 0, got -1"),
    ],
)
def test_what_makes_no_queue_is_refused(build, options, error):
    with pytest.raises(ValueError, match=error):
        build(**options)


def test_metrics_are_passed_on(build, lab):
    metrics = Metrics()
    lab.runtime.run_until_complete(build(metrics=metrics).get("m"))
    assert Page(metrics).value("get_count", queue="jobs") == 1


def test_no_host_is_refused(build, lab):
    connection = lab.cluster.connection("a", Level.DC_ONE)
    none = ReplicatedHosts(quorum=connection, safe=connection, local=connection, zones={})
    with pytest.raises(ValueError, match="servers must have at least one host, got none"):
        build(servers=none)


def test_the_queues_of_two_zones_are_one_queue(build, lab):
    async def program():
        async with build("a", strategy=LocalOnly("b")) as in_a, build("b") as in_b:
            await in_a.push([Message(id="m", payload="work")])
            (delivery,) = await in_b.pop(1, wait_ms=100)
            assert delivery.message.payload == "work"
            assert await in_b.ack(delivery) is True
            assert await in_a.size() == 0

    lab.runtime.run_until_complete(program())
