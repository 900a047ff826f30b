"""Goal: ``zonelab up`` serves data centres and zones of several servers, and what breaks there is missing just there.

Method: the command line as a user runs it; redis-py and redis-cli as clients; the servers are read one by one. Two data
centres of three zones of two servers, each with its coordinator: 24 processes, which the tests of this module share.
"""

import asyncio
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import httpx
import pyarrow.parquet as pq
import pytest
import redis
from support.app.session_cluster import EAST, NODES, WEST, SessionCluster

from zonelab.cluster.connections.failures import NO_QUORUM
from zonelab.cluster.votes.levels import Level

pytestmark = pytest.mark.real

SPARSE = ("--time-factor", "0.5", "--hash-tag", "{}", "--persistence", "none")


@pytest.fixture(scope="module")
def cluster(shared_lab):
    status = shared_lab.up("--dcs", "2", "--zones", "3", "--nodes", "2", "--dc-lag", "constant:5ms", *SPARSE)
    assert [zone["zone"] for zone in status["zones"]] == list(NODES)
    made = SessionCluster(shared_lab, status)
    made.until_whole()
    return made


@pytest.mark.parametrize("protocol", [2, 3])
def test_keys_are_where_the_tokens_say_and_commands_of_many_keys_are_split_and_joined(cluster, protocol):
    keys = [f"spread {protocol}:{number}" for number in range(60)]
    with cluster.client("a2", protocol=protocol) as near, cluster.client("f1", protocol=protocol) as far:
        assert near.mset({key: f"value of {key}" for key in keys})
        assert near.mget([*reversed(keys), "nobody's"]) == [*(f"value of {key}" for key in reversed(keys)), None]
        assert near.exists(*keys, keys[0], "nobody's") == 61
        for node in NODES:
            own = sorted(key for key in keys if node in cluster.owners(key))
            assert 0 < len(own) < 60
            with cluster.server(node) as server:
                cluster.lab.until(lambda server=server, own=own: sorted(server.keys(f"spread {protocol}:*")) == own)
        assert far.mget(keys) == [f"value of {key}" for key in keys]
        with near.pipeline(transaction=False) as pipe:
            for key in keys[:30]:
                pipe.append(key, "!")
            pipe.mget(keys[:3]).delete(*keys[10:])
            answers = pipe.execute()
        assert answers[-2:] == [[f"value of {key}!" for key in keys[:3]], 50]
        cluster.lab.until(lambda: far.exists(*keys) == 10)


def test_unmodified_clients_of_any_kind_are_served_by_any_node(cluster):
    async def together():
        clients = [
            redis.asyncio.Redis(port=int(cluster.lab.zones[node]["coordinator"]["address"].split(":")[1]))
            for node in EAST
        ]
        try:
            await asyncio.gather(*(client.incrby("together", 1) for client in clients for _ in range(50)))
            return int(await clients[0].get("together"))
        finally:
            for client in clients:
                await client.aclose()

    assert asyncio.run(together()) == 300
    cluster.until_held("together", "300")
    binary = shutil.which("redis-cli") or shutil.which("valkey-cli")
    if binary is not None:
        port = cluster.lab.zones["d2"]["coordinator"]["address"].rpartition(":")[2]
        asked = [binary, "-p", port, "mget", "together", "{together}2", "nobody's"]
        said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout
        assert said.splitlines() == ["300", "", ""]


def test_every_replica_of_every_data_centre_gets_an_increment_once_at_each_safe_quorum(cluster):
    with cluster.client("b2", Level.DC_EACH_SAFE_QUORUM) as client:
        assert [client.incr("each") for _ in range(5)] == [1, 2, 3, 4, 5]
        assert client.get("each") == "5"
        cluster.until_held("each", "5")
        sent = cluster.statistics("b2")["remote"]["sent"]
        client.incr("each")
        assert cluster.statistics("b2")["remote"]["sent"] == sent
        for number, node in enumerate(cluster.owners("each", WEST)):
            cluster.server(node).set("each", number)
        with pytest.raises(redis.ResponseError, match=NO_QUORUM.removeprefix("ERR ")):
            client.get("each")
    with cluster.client("b2", Level.DC_SAFE_QUORUM) as client:
        assert client.get("each") == "6"


def test_a_dead_server_is_missing_in_the_votes_on_its_keys_only(cluster):
    own, others = cluster.keys_of("b1", "dead"), cluster.keys_of("b2", "dead")
    with cluster.client("a1", Level.DC_SAFE_QUORUM) as client:
        cluster.lab.run("fault", "kill", "b1")
        cluster.lab.until(lambda: not cluster.statistics("a1")["connected"]["b1"])
        failures = cluster.statistics("a1")["zone_failures"].get("b1", {})
        assert client.mset(dict.fromkeys(others, "1"))
        assert cluster.statistics("a1")["zone_failures"].get("b1", {}) == failures
        assert client.mset(dict.fromkeys(own, "1"))
        assert client.mget(*own, *others) == ["1"] * 10
        assert cluster.statistics("a1")["zone_failures"]["b1"] != failures
        cluster.lab.run("fault", "kill", "c1")
        cluster.lab.until(lambda: not cluster.statistics("a1")["connected"]["c1"])
        assert client.mget(others) == ["1"] * 5
        for refused in (lambda: client.get(own[0]), lambda: client.mget(own[0], others[0])):
            with pytest.raises(redis.ResponseError, match="Storage: Datastore refused connection"):
                refused()
        with cluster.client("d1", Level.DC_SAFE_QUORUM) as far:
            cluster.lab.until(lambda: far.mget(own) == ["1"] * 5)
    cluster.heal()
    assert [cluster.server("b1").get(key) for key in own] == [None] * 5
    assert [cluster.server("b2").get(key) for key in others] == ["1"] * 5


def test_a_data_centre_that_is_cut_off_misses_writes_and_each_safe_quorum_says_so(cluster):
    with (
        cluster.client("a1") as near,
        cluster.client("d1") as far,
        cluster.client("a1", Level.DC_EACH_SAFE_QUORUM) as each,
    ):
        near.set("before", "1")
        cluster.lab.until(lambda: far.get("before") == "1")
        dropped = cluster.statistics("a1")["remote"]["dropped"]
        told = json.loads(cluster.lab.run("fault", "cut", "dc1:dc2", "--json"))
        assert len(told["links"]) == 2 * len(EAST) * len(WEST)
        cluster.lab.until(lambda: not any(cluster.statistics("a1")["peers"].values()))
        assert near.set("during", "2")
        assert near.get("during") == "2"
        assert far.get("during") is None
        assert cluster.statistics("a1")["remote"]["dropped"] == dropped + 1
        for refused in (lambda: each.set("during each", "3"), lambda: each.get("before")):
            with pytest.raises(redis.ResponseError, match="Peer: Peer Node is not connected"):
                refused()
        assert near.get("during each") == "3", "an error never means that nothing was done"
        failures = cluster.statistics("a1")["zone_failures"]
        for owner in cluster.owners("during each", WEST):
            assert failures[owner]["ERR Peer: Peer Node is not connected"] >= 1
        cluster.heal()
        near.set("after", "4")
        cluster.lab.until(lambda: far.get("after") == "4")
        assert far.get("during") is None
        assert each.set("during each", "5")
        assert far.get("during each") == "5"


def test_writes_go_through_another_zone_when_coordinators_of_the_chosen_one_are_dead(cluster):
    with cluster.client("a1") as near, cluster.client("f2") as far:
        cluster.lab.run("fault", "port_crash", "d")
        cluster.lab.until(
            lambda: not cluster.statistics("a1")["peers"]["d1"] and not cluster.statistics("a1")["peers"]["d2"]
        )
        before = cluster.statistics("a1")["remote"]["failed_over"]
        for number in range(10):
            near.set(f"over {number}", number)
        cluster.lab.until(lambda: far.mget([f"over {number}" for number in range(10)]) == list("0123456789"))
        assert cluster.statistics("a1")["remote"]["failed_over"] == before + 10
        for number in range(10):
            cluster.until_held(f"over {number}", str(number))
    cluster.heal()


def test_a_zone_dies_and_comes_back_with_what_the_servers_of_the_same_keys_have(cluster):
    keys = [f"warm {number}" for number in range(20)]
    with cluster.client("b1") as client:
        client.mset(dict.fromkeys(keys, "1"))
        cluster.until_held(keys[0], "1")
        cluster.lab.run("fault", "kill", "a")
        assert [cluster.lab.zone(node)["server"]["state"] for node in ("a1", "a2", "b1")] == ["dead", "dead", "running"]
        assert client.mset(dict.fromkeys(keys, "2"))
        cluster.lab.run("fault", "restart", "a", "--warm")
        for node in ("a1", "a2"):
            held = [cluster.server(node).get(key) for key in keys]
            assert held == ["2" if node in cluster.owners(key) else None for key in keys]
    cluster.until_whole()


def test_keys_of_a_transaction_or_script_have_to_be_together_and_a_hash_tag_keeps_them_so(cluster):
    with cluster.client("c2") as client:
        with client.pipeline() as pipe:
            for number in range(20):
                pipe.set(f"apart {number}", "1")
            with pytest.raises(redis.exceptions.ExecAbortError):
                pipe.execute()
        assert client.exists(*(f"apart {number}" for number in range(20))) == 0
        with pytest.raises(redis.ResponseError, match="Keys in the script cannot span multiple nodes"):
            client.eval("return 1", 20, *(f"apart {number}" for number in range(20)))
        with client.pipeline() as pipe:
            pipe.set("{near} 1", "1").incr("{near} 1").set("{near} 2", "x")
            assert pipe.execute() == [True, 2, True]
        assert client.eval("return redis.call('GET', KEYS[2])", 2, "{near} 1", "{near} 2") == "x"
    cluster.until_held("{near} 1", "2")


def test_watched_keys_stop_a_transaction_at_their_owners_and_one_that_is_done_goes_to_the_other_data_centre(cluster):
    keys = "{watched} 1", "{watched} 2"
    far = cluster.keys_of("a1" if "a2" in cluster.owners(keys[0]) else "a2", "elsewhere")[0]
    for node in ("a1", "a2"):
        with cluster.client(node) as client, cluster.client("b1") as other, client.pipeline() as pipe:
            client.delete(*keys)
            pipe.watch(keys[0])
            pipe.watch(keys[1])
            assert pipe.get(keys[0]) is None
            other.set(keys[1], "changed")
            pipe.multi()
            pipe.set(keys[0], "1")
            with pytest.raises(redis.WatchError):
                pipe.execute()
            assert client.mget(keys) == [None, "changed"]
            assert client.transaction(lambda pipe: pipe.multi() or pipe.set(keys[0], "done"), keys[0]) == [True]
            cluster.until_held(keys[0], "done")
            with pytest.raises(redis.ResponseError, match=r"watched keys .* have to be on one node"):
                client.execute_command("WATCH", keys[0], far)
            with pytest.raises(redis.ResponseError, match="Transaction discarded: watched keys"):
                client.transaction(lambda pipe: pipe.multi() or pipe.set(far, "1"), keys[0])
            assert client.get(far) is None
    refusal = pytest.raises(redis.ResponseError, match="WATCH is not available at DC_EACH_SAFE_QUORUM")
    with cluster.client("a1", Level.DC_EACH_SAFE_QUORUM) as client, refusal:
        client.execute_command("WATCH", keys[0])


def test_concurrent_check_and_set_through_one_node_loses_no_increment(cluster):
    def increase(pipe):
        value = int(pipe.get("cas") or 0)
        pipe.multi()
        pipe.set("cas", value + 1)

    def one(_):
        with cluster.client("c1") as client:
            for _ in range(10):
                client.transaction(increase, "cas")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(4)))
    cluster.until_held("cas", "40")


def test_messages_scripts_and_waiting_clients_find_each_other_whatever_their_node(cluster):
    with cluster.client("e2") as far, cluster.client("a1") as near, far.pubsub() as subscriber:
        subscriber.subscribe("news")
        assert subscriber.get_message(timeout=30)["type"] == "subscribe"
        near.publish("news", "hello")
        cluster.lab.until(lambda: (subscriber.get_message(timeout=30) or {}).get("data") == "hello")
        sha = near.script_load("return redis.call('INCR', KEYS[1])")
        cluster.lab.until(lambda: far.script_exists(sha) == [True])
        assert near.evalsha(sha, 1, "counted") == 1
        cluster.until_held("counted", "1")
        near.rpush("jobs", "one")
        owners = cluster.owners("jobs")  # what a zone is told to pop before it is told to push stays there for ever
        cluster.lab.until(lambda: all(cluster.server(node).exists("jobs") for node in owners))
        with cluster.client("a2") as waiting:
            assert waiting.blpop("jobs", timeout=30) == ("jobs", "one")
        cluster.lab.until(lambda: not any(cluster.server(node).exists("jobs") for node in owners))


def test_the_administration_of_a_node_shows_the_topology(cluster):
    told = httpx.get(cluster.lab.zones["a2"]["coordinator"]["admin"] + "/topology", trust_env=False).json()
    assert told["zone"] == "a2"
    assert told["data_centres"]["dc2"]["e"] == {"e1": 0, "e2": 2**31}
    told = httpx.get(f"{cluster.lab.zones['a2']['coordinator']['admin']}/topology", trust_env=False).json()
    assert (told["zone"], sorted(told["data_centres"])) == ("a2", ["dc1", "dc2"])


def test_targets_that_are_not_there_are_told_with_those_that_are(cluster):
    for arguments, words in (
        (("fault", "kill", "a3"), ("'a3'", "dc1, dc2, a, b", "f2")),
        (("fault", "cut", "dc1:dc3"), ("'dc1:dc3'", "dc1:dc2", "dc1>dc2 (one way), all")),
    ):
        said = cluster.lab.run(*arguments, code=64)
        assert all(word in said for word in words), said
        assert said.count("\n") == 1


def test_at_the_end_the_report_tells_what_was_done_to_which_part(cluster):
    lab = cluster.lab
    for verb, target in (("pause", "b1"), ("cut", "dc1:dc2"), ("cut", "d")):
        lab.run("fault", verb, target)
    cluster.heal()
    with cluster.client("a1") as client:
        assert client.set("k", "v")
    shown = lab.run("status")
    assert "dc2" in shown
    assert "Batches of writes for other data centres" in shown
    lab.run("down")
    lab.assert_nothing_is_left()
    latest = lab.folder / "runs" / "session" / "latest"
    targets = {row["target"] for row in pq.read_table(latest / "faults.parquet").to_pylist()}
    assert {"b1", "dc1:dc2", "d"} <= targets
    assert {row["zone"] for row in pq.read_table(latest / "samples.parquet").to_pylist()} == set(NODES)
    run = json.loads((latest / "run.json").read_text())
    assert run["session"]["data_centres"]["dc1"]["a"] == {"a1": 0, "a2": 2**31}
    assert "--dcs 2" in run["command"]
    page = (lab.folder / json.loads(lab.run("report", str(latest), "--json"))["report"]).read_text()
    assert "cut dc1:dc2" in page
