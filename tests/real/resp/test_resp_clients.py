"""Goal: ordinary clients work through a zone's port, unmodified. Method: redis-cli; redis-py of all kinds."""

import asyncio
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
import redis
import redis.asyncio
from support.coroutines import coroutine
from support.programs import until

from zonelab.cluster.resp.commands.connection_commands import PORT_COMMANDS
from zonelab.cluster.resp.gateway.introduction import introduced
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.zone import Restart

pytestmark = pytest.mark.real

BOTH = pytest.mark.parametrize("protocol", [2, 3])


@pytest.fixture(autouse=True)
def _empty(cluster, quorum):
    """No data, and the shared gateway has its own zone."""
    cluster.flush()
    quorum.until_served()


@BOTH
def test_what_is_written_through_the_port_is_in_every_zone(cluster, quorum, protocol):
    with quorum.client(protocol=protocol, decode_responses=True) as client:
        assert client.set("k", "v")
        assert client.get("k") == "v"
        assert client.get("none") is None
        assert client.hset("h", mapping={"f": "1", "g": "2"}) == 2
        assert client.hgetall("h") == {"f": "1", "g": "2"}
        assert client.zadd("z", {"m": 1.5, "n": 2}) == 2
        assert client.zrange("z", 0, -1, withscores=True) in ([("m", 1.5), ("n", 2.0)], [["m", 1.5], ["n", 2.0]])
        assert client.smembers("s") == set()
        assert client.eval("return {KEYS[1], ARGV[1]}", 1, "k", "x") == ["k", "x"]
        assert client.info("server")["redis_version"]
        assert list(client.scan_iter(match="k*")) == ["k"]
        assert client.dbsize() == 3
        script = client.register_script("return redis.call('INCR', KEYS[1])")
        assert [script(keys=["n"]), script(keys=["n"])] == [1, 2]
    cluster.until_everywhere(b"v", "GET", "k")
    cluster.until_everywhere(b"2", "GET", "n")


@BOTH
def test_a_pipeline_and_a_transaction_are_answered_command_by_command(cluster, quorum, protocol):
    with quorum.client(protocol=protocol) as client:
        for transaction in (False, True):
            with client.pipeline(transaction=transaction) as pipe:
                for number in range(500):
                    pipe.set(f"k{number}", number).get(f"k{number}").incr("n")
                answers = pipe.execute()
            assert answers[1::3] == [b"%d" % number for number in range(500)]
        assert answers[-1] == 1000
        with client.pipeline() as pipe, pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            pipe.set("k", "v").lpush("k", "x").get("k").execute()
        assert client.get("k") == b"v"
        with client.pipeline() as pipe, pytest.raises(redis.ResponseError, match="CONFIG SET is not available"):
            pipe.set("k", "w").config_set("maxmemory", "1").execute()
        assert client.get("k") == b"v"
    cluster.until_everywhere(b"1000", "GET", "n")


@BOTH
def test_watched_keys_stop_a_transaction_when_another_client_was_faster(cluster, quorum, protocol):
    with quorum.client(protocol=protocol) as client, quorum.client() as other:
        client.set("n", 5)
        for _ in range(3):
            with client.pipeline() as pipe:
                pipe.watch("n")
                before = int(pipe.get("n"))
                pipe.multi()
                pipe.set("n", before * 2)
                assert pipe.execute() == [True]
        with client.pipeline() as pipe:
            pipe.watch("n")
            pipe.watch("m")
            other.set("n", 7)
            pipe.multi()
            pipe.set("n", 0)
            with pytest.raises(redis.WatchError):
                pipe.execute()
        assert client.get("n") == b"7"


def test_concurrent_check_and_set_through_one_port_loses_no_increment(cluster, quorum):
    def increment(pipe):
        value = int(pipe.get("n"))
        pipe.multi()
        pipe.set("n", value + 1)

    def increments():
        with quorum.client() as client:
            for _ in range(20):
                client.transaction(increment, "n")

    cluster.everywhere("SET", "n", 0)
    threads = [threading.Thread(target=increments) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with quorum.client() as client:
        assert client.get("n") == b"40"


@BOTH
def test_five_megabytes_go_through_and_come_back(cluster, quorum, protocol):
    value = bytes(range(256)) * 20_000
    with quorum.client(protocol=protocol) as client:
        client.set("large", value)
        assert client.get("large") == value
        with client.pipeline(transaction=False) as pipe:
            for _ in range(20):
                pipe.get("large")
            assert pipe.execute() == [value] * 20
        client.rpush("list", *[b"x" * 100] * 20_000)
        assert len(client.lrange("list", 0, -1)) == 20_000
    cluster.until_everywhere(len(value), "STRLEN", "large")


@BOTH
@coroutine
async def test_asynchronous_clients_share_the_port(cluster, quorum, protocol):
    async with redis.asyncio.Redis(host=quorum.host, port=quorum.port, protocol=protocol) as client:
        for _ in range(5):
            await asyncio.gather(*(client.incr("n") for _ in range(60)))
        async with client.pipeline() as pipe:
            answers = await pipe.set("k", "v").get("k").execute()
        assert await client.get("n") == b"300"
        assert answers == [True, b"v"]


@BOTH
def test_messages_reach_subscribers_in_every_zone(cluster, protocol):
    with (
        cluster.gateway("a") as first,
        cluster.gateway("b") as second,
        first.client(protocol=protocol) as near,
        second.client(protocol=protocol) as far,
    ):
        subscribers = [near.pubsub(), far.pubsub()]
        subscribers[0].subscribe("news", "more")
        subscribers[1].psubscribe("n*")
        for subscriber, confirmations in zip(subscribers, (2, 1), strict=True):
            for _ in range(confirmations):
                assert received(subscriber)["type"] in ("subscribe", "psubscribe")
        publisher = second.client()
        assert publisher.publish("news", "hello") == 1
        assert [received(one)["data"] for one in subscribers] == [b"hello"] * 2
        subscribers[0].ping("x")
        assert received(subscribers[0])["type"] == "pong"
        subscribers[0].unsubscribe()
        assert [received(subscribers[0])["type"] for _ in range(2)] == ["unsubscribe"] * 2
        subscribers[0].subscribe("again")
        assert received(subscribers[0])["type"] == "subscribe"
        for subscriber in subscribers:
            subscriber.close()
        publisher.close()


def received(subscriber):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        message = subscriber.get_message(timeout=1)
        if message is not None:
            return message
    raise AssertionError("no message came")


def test_a_blocking_pop_wakes_up_and_takes_from_every_zone(cluster, quorum):
    with quorum.client() as waiting, quorum.client() as pushing:
        for pop, push, expected in [
            (lambda: waiting.blpop(["p", "q"], 30), lambda: pushing.rpush("q", "x"), (b"q", b"x")),
            (lambda: waiting.brpop("q", 30), lambda: pushing.rpush("q", "y", "z"), (b"q", b"z")),
            (lambda: waiting.blmove("q", "r", 30), lambda: None, b"y"),
            (lambda: waiting.bzpopmin("z", 30), lambda: pushing.zadd("z", {"m": 2}), (b"z", b"m", 2.0)),
            (
                lambda: waiting.blmpop(30, 2, "p", "q", direction="LEFT"),
                lambda: pushing.rpush("q", "w"),
                [b"q", [b"w"]],
            ),
        ]:
            timer = threading.Timer(0.05, push)
            timer.start()
            answer = pop()
            timer.join()
            assert tuple(answer) == tuple(expected)
        assert waiting.blpop("q", 0.1) is None
    cluster.until_everywhere(0, "EXISTS", "q", "z")
    cluster.until_everywhere([b"y"], "LRANGE", "r", 0, -1)


def test_servers_of_equal_writes_scan_the_same_keys_and_scripts_reach_no_other_database(cluster, quorum):
    with quorum.client(protocol=2) as client:
        for number in range(300):
            client.set(f"key {number}", number)
        cluster.until_everywhere(b"299", "GET", "key 299")
        pages = [(cursor, sorted(keys)) for cursor, keys in cluster.everywhere("SCAN", 0, "COUNT", 50)]
        assert pages[0] == pages[1] == pages[2]
        assert 50 <= len(pages[0][1]) < 300
        for forbidden in ("'SELECT', 1", "'SWAPDB', 0, 1", "'MOVE', KEYS[1], 1"):
            with pytest.raises(redis.ResponseError, match="DB index is out of range"):
                client.eval(f"return redis.call({forbidden})", 1, "key 1")


def test_what_a_zone_missed_while_it_was_away_is_popped_and_read_there(cluster, quorum):
    cluster.run(cluster.zone("a").kill())
    try:
        with quorum.client() as client:
            for key in ("blpop", "brpop", "blmove", "brpoplpush", "blmpop"):
                assert client.lpush(key, "j1", "j2", "j3") == 3
            for key in ("bzpopmin", "bzpopmax", "bzmpop"):
                assert client.zadd(key, {"j1": 1, "j2": 2}) == 2
            assert client.xadd("stream", {"f": "old"}, id="1-1")
            assert client.xgroup_create("stream", "g", id="0")
    finally:
        cluster.run(cluster.zone("a").restart(Restart.KEEP))
    quorum.until_served()
    with quorum.client(protocol=2) as client, quorum.client() as pushing:
        assert client.brpop("brpop", 30) == (b"brpop", b"j1")
        assert client.brpop("brpop", 30) == (b"brpop", b"j2")
        assert client.blpop(["empty", "blpop"], 30) == (b"blpop", b"j3")
        assert client.blmove("blmove", "moved", 30, "RIGHT", "LEFT") == b"j1"
        assert client.brpoplpush("brpoplpush", "moved", 30) == b"j1"
        assert client.blmpop(30, 2, "empty", "blmpop", direction="LEFT", count=2) == [b"blmpop", [b"j3", b"j2"]]
        assert client.bzpopmin("bzpopmin", 30) == (b"bzpopmin", b"j1", 1.0)
        assert client.bzpopmax("bzpopmax", 30) == (b"bzpopmax", b"j2", 2.0)
        assert client.bzmpop(30, 1, ["bzmpop"], min=True) == [b"bzmpop", [[b"j1", b"1"]]]
        assert client.xread({"stream": "0"}, block=30_000) == [[b"stream", [(b"1-1", {b"f": b"old"})]]]
        assert client.xreadgroup("g", "c", {"stream": ">"}, block=30_000)[0][1][0][0] == b"1-1"
        timer = threading.Timer(0.1, lambda: pushing.xadd("stream", {"f": "new"}, id="2-1"))
        timer.start()
        answer = client.xread({"stream": "$"}, block=30_000)
        timer.join()
        assert answer == [[b"stream", [(b"2-1", {b"f": b"new"})]]]
        assert client.brpop("brpop", 30) == (b"brpop", b"j3")
        assert client.brpop("brpop", 0.01) is None
        assert client.bzpopmin("empty", 0.01) is None


def test_reading_a_stream_waits_for_the_next_entry(cluster, quorum):
    with quorum.client(protocol=2) as waiting, quorum.client() as pushing:
        pushing.xadd("s", {"f": "old"}, id="1-1")
        timer = threading.Timer(0.1, lambda: pushing.xadd("s", {"f": "new"}, id="2-1"))
        timer.start()
        answer = waiting.xread({"s": "$"}, block=30_000)
        timer.join()
        assert answer == [[b"s", [(b"2-1", {b"f": b"new"})]]]
        pushing.xgroup_create("s", "g", id="0")
        assert waiting.xreadgroup("g", "c", {"s": ">"}, count=1, block=1000)[0][1][0][0] == b"1-1"
        assert not waiting.xread({"s": "$"}, block=50)
    until(lambda: [zone["pending"] for zone in cluster.everywhere("XPENDING", "s", "g")] == [1] * 3)


@pytest.mark.parametrize("protocol", ["-2", "-3"])
def test_the_command_line_client_works(cluster, quorum, protocol):
    program = shutil.which("redis-cli") or shutil.which("valkey-cli")
    if program is None:
        pytest.skip("no redis-cli or valkey-cli on the PATH")
    typed = "SET k v\nGET k\nHSET h f 1\nHGETALL h\nMULTI\nINCR n\nEXEC\nDYNO_CONFIG:CONN_CONSISTENCY DC_ONE\n"
    done = subprocess.run(
        [program, protocol, "-p", str(quorum.port)], input=typed, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["OK", "v", "1", "f", "1", "OK", "QUEUED", "1", "OK"]


def test_a_client_may_choose_its_level_and_is_told_dynomites_errors(cluster):
    with cluster.gateway("a", level=Level.DC_SAFE_QUORUM) as gateway, gateway.client() as client:
        for zone, value in zip("abc", "123", strict=True):
            cluster.direct(zone).set("k", value)
        with pytest.raises(redis.ResponseError, match=r"^Dynomite: Failed to achieve Quorum$"):
            client.get("k")
        with client.client() as pinned:
            assert pinned.execute_command("DYNO_CONFIG:CONN_CONSISTENCY", "dc_one")
            assert pinned.get("k") == b"1"


@BOTH
def test_values_and_members_of_zones_that_differ_are_voted_on_as_dynomite_does(cluster, protocol):
    for zone, values in zip("abc", ("AX", "AY", "BY"), strict=True):
        cluster.direct(zone).mset(dict(zip(("k", "l"), values, strict=True)))
        cluster.direct(zone).mset(dict.fromkeys(("m", "n"), zone))
    for zone, order in zip("abc", ("x10", "0x1", "10x"), strict=True):
        for member in order:
            cluster.direct(zone).sadd("s", member)
    with cluster.gateway("b", level=Level.DC_SAFE_QUORUM) as gateway, gateway.client(protocol=protocol) as client:
        assert client.mget("k", "l", "none") == [b"A", b"Y", None]
        with pytest.raises(redis.ResponseError, match="Dynomite: Failed to achieve Quorum"):
            client.mget("k", "m")
        assert client.smembers("s") == {b"x", b"1", b"0"}
        with client.pipeline(transaction=False) as pipe:
            answers = pipe.get("k").mget("k", "l").smembers("s").get("l").execute()
        assert answers == [b"A", [b"A", b"Y"], {b"x", b"1", b"0"}, b"Y"]
        client.execute_command("DYNO_CONFIG:CONN_CONSISTENCY", "DC_QUORUM")
        assert client.mget("k", "m")[0] == b"A"
        assert client.mget("k", "m")[1] in (b"a", b"b", b"c")
        client.execute_command("DYNO_CONFIG:CONN_CONSISTENCY", "DC_ONE")
        assert client.mget("k", "l", "m") == [b"A", b"Y", b"b"]


def test_a_dead_zone_is_reported_as_dynomite_reports_it(cluster):
    with cluster.gateway("a", level=Level.DC_ONE) as gateway, gateway.client() as client:
        client.set("k", "v")
        cluster.run(cluster.zone("a").kill())
        try:
            with pytest.raises(redis.ResponseError, match=r"^Storage: Datastore refused connection$"):
                client.get("k")
            with pytest.raises(redis.ResponseError, match=r"^Storage: Datastore refused connection$"):
                client.set("k", "w")
            until(lambda: [cluster.direct(zone).get("k") for zone in "bc"] == [b"w"] * 2)  # nobody waited for them
            assert client.echo("the port is up") == b"the port is up"
            with client.client() as pinned:
                pinned.execute_command("DYNO_CONFIG:CONN_CONSISTENCY", "DC_QUORUM")
                assert pinned.get("k") == b"w"
        finally:
            cluster.run(cluster.zone("a").restart(Restart.KEEP))


def test_every_command_of_the_server_has_a_treatment(cluster, quorum):
    with quorum.client(protocol=2) as client:
        names = list(cluster.direct("a", protocol=2).command())
        assert len(names) > 200
        assert sorted(client.command()) == sorted(names)
        silent = []
        for name in names:
            if name.upper() in ("QUIT", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"):
                continue
            with quorum.client(protocol=2) as one:
                try:
                    one.execute_command(name)
                except redis.ResponseError:
                    pass
                except redis.ConnectionError:
                    silent.append(name)
        assert silent == []
        assert client.set("still", "alive")
    cluster.until_everywhere(b"alive", "GET", "still")


def test_the_documented_table_is_that_of_the_server(cluster):
    page = (Path(__file__).resolve().parents[3] / "docs" / "resp.md").read_text()
    rows = re.findall(r"^\| (\w+) \| ([^|]+) \| [D+] \|", page, flags=re.MULTILINE)
    table = cluster.run(introduced([cluster.addresses["a"]])).table
    told = [(name, treatment) for treatment, names in rows for name in re.findall(r"`([A-Z]+)`", names)]
    assert len(told) > 80
    real = {name: table[name].treatment.name.lower() for name, _ in told}
    assert {name: real[name] for name, told_as in told if told_as != real[name]} == {}
    begins = (r"\*\*`CLIENT`.\*\*", "connections to the zones are shared:")
    answered, refused = (
        {f"CLIENT|{name}" for name in re.findall("`([A-Z-]+)`", re.search(begin + r"((?:\s*`[A-Z-]+`)+)", page)[1])}
        for begin in begins
    )
    subcommands = {name.decode() for name in table.by_name if name.startswith(b"CLIENT|")}
    assert (answered, refused) == (subcommands & PORT_COMMANDS.keys(), subcommands - PORT_COMMANDS.keys())
