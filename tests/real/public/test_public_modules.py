"""Goal: connections, queues and clusters of the public modules work on real servers. Method: processes, clients."""

import asyncio

import pytest
import redis
from support.coroutines import coroutine

from zonelab import ClusterError, Message, ScenarioError, ServerError, connect, queues, runs
from zonelab.testing import cluster

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def lab():
    with cluster("process", set={"replication.time_factor": 0.2}) as three_zones:
        yield three_zones


@pytest.mark.parametrize(("engine", "mode"), [("dyno", None), ("dyno", "hardened"), ("gmq", None), ("zset", None)])
def test_a_plain_server_serves_every_kind_of_engine(lab, engine, mode):
    name = f"plain-{engine}-{mode}"
    with queues.open(name, lab.server_urls["a"], engine=engine, mode=mode) as queue:
        queue.push(Message(id="1", payload="hello"))
        (delivery,) = queue.pop(1, wait_ms=5_000)
        assert (delivery.message.payload, queue.ack(delivery)) == ("hello", True)


def test_programs_of_different_processes_share_a_queue(lab):
    url = lab.server_urls["a"]
    with queues.open("shared", url, mode="hardened") as one, queues.open("shared", url, mode="hardened") as other:
        one.push(Message(id="1"))
        (delivery,) = other.pop(1, wait_ms=5_000)
        assert other.ack(delivery)


def test_a_port_has_the_level_that_is_asked_for_and_refuses_modes_that_need_all_zones(lab):
    with connect(lab.urls["b"], level="DC_SAFE_QUORUM") as server:
        assert server.is_port
        assert server.execute("SET", "level", "safe") == b"OK"
        assert [redis.Redis.from_url(url).get("level") for url in lab.server_urls.values()] == [b"safe"] * 3
        with pytest.raises(ScenarioError, match="got 'hardened' at the port of one zone; accepted: default"):
            queues.open("jobs", server, mode="hardened")
        with queues.open("through-a-port", server) as queue:
            queue.push(Message(id="1"))
            assert queue.ack(queue.pop(1, wait_ms=5_000)[0])


@coroutine
async def test_the_servers_of_all_zones_are_a_cluster(lab):
    async with connect(lab.server_urls, zone="c") as server, queues.open("voted", server, mode="hardened") as queue:
        (receipt,) = await queue.push(Message(id="1"))
        async with queues.open("voted", server, mode="hardened", zone=receipt.shard) as there:
            assert [await there.ack(one) for one in await there.pop(1, wait_ms=5_000)] == [True]


def test_links_and_coordinators_break_for_other_clients_too(lab):
    client = redis.Redis.from_url(lab.urls["b"], socket_timeout=20, retry=None)
    client.execute_command("DYNO_CONFIG:CONN_CONSISTENCY", "DC_QUORUM")
    with lab.fault("cut", isolate="b"), pytest.raises(redis.RedisError):
        client.set("k", "cut off")
    with lab.fault("coordinator_crash", zone="b"), pytest.raises(redis.RedisError):
        redis.Redis.from_url(lab.urls["b"], socket_timeout=20, retry=None).set("k", "no coordinator")


def test_a_zone_that_dies_costs_hardened_mode_nothing(lab):
    with queues.open("survives", lab, mode="hardened") as queue:
        queue.push([Message(id=str(number)) for number in range(10)])
        with lab.fault("kill", zone="b"):
            with pytest.raises(redis.ConnectionError):
                redis.Redis.from_url(lab.server_urls["b"], retry=None).ping()
            for delivery in queue.pop(10, wait_ms=1_000):
                queue.ack(delivery)
    verdict = lab.verdict("survives")
    assert (verdict.valid, verdict.totals.acked) == (True, 10)


def test_what_a_wiped_zone_loses_is_lost():
    with cluster("process", zones=("a",), set={"replication.time_factor": 0.2}) as one:
        with queues.open("jobs", one, engine="zset") as queue:
            queue.push([Message(id=str(number)) for number in range(5)])
            with one.fault("wipe", zone="a"):
                pass
        assert one.verdict().counts["lost"] == 5


def test_a_server_that_is_not_there_or_refuses_is_one_line(lab):
    with pytest.raises(ClusterError, match=r"no server answers at 127\.0\.0\.1:1: "), connect("redis://127.0.0.1:1"):
        pass
    address = lab.server_urls["a"].removeprefix("redis://")
    with pytest.raises(ClusterError, match=f"the server at {address} refused: "), connect(f"redis://:wrong@{address}"):
        pass
    with pytest.raises(ClusterError, match="refused: ERR DB index is out of range"), connect(f"redis://{address}/1"):
        pass
    with connect(f"redis://{address}") as server, pytest.raises(ServerError, match="unknown command"):
        server.execute("NOTHING")
    with pytest.raises(ClusterError, match="the connection is closed"):
        server.execute("PING")
    with pytest.raises(ClusterError, match="the connection is closed"):
        queues.open("jobs", server)


def test_a_run_on_servers_within_a_running_loop(tmp_path):
    async def notebook():
        return runs.run("steady", on="process", set={"load.duration_s": 1}, folder=tmp_path)

    assert asyncio.run(notebook()).status == "complete"


@pytest.mark.docker
def test_zones_in_containers_have_ports_faults_and_verdicts():
    with cluster("docker") as containers:
        assert redis.Redis.from_url(containers.urls["a"]).set("k", "v")
        with queues.open("jobs", containers, mode="hardened") as queue:
            queue.push(Message(id="1"))
            with containers.fault("pause", zone="c"):
                for delivery in queue.pop(1, wait_ms=1_000):
                    queue.ack(delivery)
        assert containers.verdict().valid is True
