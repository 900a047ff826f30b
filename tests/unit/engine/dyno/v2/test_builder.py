"""The builder makes one queue or a multi-shard queue of what it is given, with the original's defaults.

Method: hosts and suppliers as in the original's tests, on connections that only note what they carry.
"""

import pytest
from support.engine.dyno import CuttingConnection, SettableClock

from zonelab.engine.dyno import IdHash
from zonelab.engine.dyno.hosts import AWS_SHARDS, DynoHost, MappedShards, RackSuffixShards, SingleShard
from zonelab.engine.dyno.v2 import PipelinedQueue
from zonelab.engine.dyno.v2.builder import Hosts, ShardCluster, build_queue
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.message import Message

HOSTS = tuple(DynoHost(name=f"host{zone}", rack=f"us-east-1{zone}") for zone in "abd")


@pytest.fixture
def build(lab):
    """``build_queue`` with what every test needs."""

    def build(**options):
        given = {
            "queue_name": "jobs",
            "redis_key_prefix": "test",
            "unack_ms": 1000,
            "runtime": lab.runtime,
            "clock": SettableClock(),
        }
        return build_queue(**{**given, **options})

    return build


@pytest.fixture
def cluster(lab):
    return ShardCluster(
        hosts=lambda: HOSTS,
        quorum=CuttingConnection(lab.direct("a"), label="Q"),
        non_quorum=CuttingConnection(lab.direct("a"), label="N"),
    )


def test_the_shard_is_the_last_character_of_the_rack_unless_it_is_told(build, cluster):
    queue = build(servers=cluster, local_rack="us-east-1a", compat=True)
    assert isinstance(queue, MultiQueue)
    assert (queue.shard, list(queue.queues)) == ("a", ["a", "b", "d"])
    assert queue.compat
    assert all(shard.settings.compat for shard in queue.queues.values())
    assert build(servers=cluster, local_rack="us-east-1a", current_shard="d").shard == "d"


@pytest.mark.parametrize(("given", "interval_ms"), [({}, 1000), ({"unack_interval_ms": 50}, 50)])
def test_one_shard_is_a_pipelined_queue_whose_handler_runs_as_often_as_leases_are_long_unless_said_otherwise(
    build, cluster, given, interval_ms
):
    queue = build(servers=cluster, shard_supplier=SingleShard("only"), **given)
    assert isinstance(queue, PipelinedQueue)
    assert (queue.name, queue.settings.shard, queue.keys.tag) == ("jobs", "only", "{jobs.only}")
    assert (queue.settings.unack_ms, queue.settings.unack_interval_ms) == (1000, interval_ms)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"local_rack": "us-east-1z"}, "shard must be one of a, b, d, got 'z'"),
        ({"shard_supplier": SingleShard("only"), "current_shard": "z"}, "shard must be one of only, got 'z'"),
        ({}, "local_rack must be given when shard_supplier is not"),
        ({"hosts": (), "local_rack": "us-east-1a"}, "servers must have at least one host, got none"),
    ],
)
def test_what_makes_no_queue_is_refused(build, lab, options, error):
    options = dict(options)
    hosts = options.pop("hosts", HOSTS)
    with pytest.raises(ValueError, match=error):
        build(servers=ShardCluster(hosts=lambda: hosts, quorum=CuttingConnection(lab.direct("a"))), **options)


def test_a_cluster_serves_all_shards_over_its_two_connections(build, cluster, lab):
    queue = build(servers=cluster, local_rack="us-east-1a", queue_name="shared")
    lab.run(queue.push([Message(id=str(number)) for number in range(3)]))
    assert lab.run(queue.size()) == 3
    assert (len(cluster.quorum.log), len(cluster.non_quorum.log)) == (3, 3)


def test_without_a_non_quorum_connection_the_other_one_serves_all_reads(build, lab):
    quorum = CuttingConnection(lab.direct("a"))
    queue = build(
        servers=ShardCluster(hosts=lambda: HOSTS, quorum=quorum), local_rack="us-east-1a", queue_name="single"
    )
    assert lab.run(queue.size()) == 0
    assert len(quorum.log) == 3


def test_separate_servers_have_a_shard_each_and_of_two_hosts_of_one_shard_the_last_counts(build, lab):
    connections = {host: CuttingConnection(lab.direct("a")) for host in (*HOSTS, DynoHost(name="again", rack="x-d"))}
    queue = build(servers=Hosts(connections), local_rack="us-east-1a", queue_name="separate", strategy=IdHash())
    for shard in queue.queues.values():
        lab.run(shard.push([Message(id="1")]))
    assert {host.name: len(connection.log) for host, connection in connections.items()} == {
        "hosta": 1,
        "hostb": 1,
        "hostd": 0,
        "again": 1,
    }


def test_a_rack_without_a_name_is_refused():
    with pytest.raises(ValueError, match="rack of host 'h' must be a non-empty string, got ''"):
        DynoHost(name="h", rack="")
    with pytest.raises(ValueError, match="local_rack must be a non-empty string, got ''"):
        RackSuffixShards(hosts=lambda: HOSTS, local_rack="")


def test_rack_suffix_supplier():
    """``DynoShardSupplierTest`` of the original."""
    supplier = RackSuffixShards(hosts=lambda: HOSTS, local_rack="us-east-1a")
    assert supplier.current_shard() == "a"
    assert sorted(supplier.queue_shards()) == ["a", "b", "d"]


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1", "us-west-2"])
def test_every_region_has_the_same_shards_under_the_aws_mapping(region):
    racks = [rack for rack in AWS_SHARDS if rack.startswith(region)]
    supplier = MappedShards(
        hosts=lambda: [DynoHost(name=rack, rack=rack) for rack in racks], local_rack=racks[0], shards=AWS_SHARDS
    )
    assert (supplier.queue_shards(), supplier.current_shard()) == (("c", "d", "e"), "c")


def test_an_unknown_rack_is_refused_with_those_that_are_known():
    supplier = MappedShards(hosts=lambda: HOSTS, local_rack="us-east-1a", shards={"r1": "a", "r2": "b"})
    with pytest.raises(ValueError, match="rack must be one of r1, r2, got 'us-east-1a'"):
        supplier.current_shard()
    with pytest.raises(ValueError, match="rack must be one of r1, r2, got 'us-east-1a'"):
        supplier.queue_shards()


def test_a_single_shard_takes_every_host():
    supplier = SingleShard("s")
    assert (supplier.queue_shards(), supplier.current_shard(), supplier.shard_of(HOSTS[0])) == (("s",), "s", "s")
