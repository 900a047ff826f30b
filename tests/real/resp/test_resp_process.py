"""Goal: a gateway says where it is, can be controlled and ends cleanly. Method: processes, and one in the loop."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis
import redis.asyncio
import uvloop
from support.cluster.real import until
from support.coroutines import coroutine

from zonelab.cluster.admin.links import LinkControls, LinkState
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.links.lag import ConstantLag
from zonelab.cluster.links.lag_text import parse_lag
from zonelab.cluster.links.link import Cut
from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.resp.settings import PortSettings
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import NetworkSettings
from zonelab.cluster.zone import Address, ClusterError, Restart

pytestmark = pytest.mark.real

DEADLINE_S = 60
SINGLE = {"single_connection_client": True}
PLACED = {"data_centres": {"east": {"a": ["a"], "b": ["b"]}, "west": {"c": ["c"]}}}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_gateway_says_where_it_is_and_ends_when_told(cluster, number):
    with cluster.gateway("b") as gateway:
        assert gateway.said.keys() == {"zone", "port", "pid"}
        assert (gateway.said["zone"], gateway.said["pid"]) == ("b", gateway.process.pid)
        with gateway.client() as client:
            client.set("k", "v")
            gateway.process.send_signal(number)
            gateway.process.wait(DEADLINE_S)
            with pytest.raises(redis.ConnectionError):
                client.get("k")


COMPANION = """
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from zonelab.cluster.resp.gateway.configuration import read_configuration
from zonelab.cluster.resp.gateway.program import run

@asynccontextmanager
async def beside(gateway):
    yield {"admin": gateway.topology()["zone"]}
    print("left", flush=True)

run(read_configuration(Path(sys.argv[1])), companions=[beside])
"""


def test_a_companion_runs_beside_the_gateway_and_ends_with_it(cluster, tmp_path):
    path = tmp_path / "gateway.json"
    zone_texts = {name: str(address) for name, address in cluster.addresses.items()}
    path.write_text(json.dumps({"zone": "c", "zones": zone_texts}))
    process = subprocess.Popen([sys.executable, "-c", COMPANION, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert json.loads(process.stdout.readline())["admin"] == "c"
    finally:
        process.terminate()
        rest, _ = process.communicate(timeout=DEADLINE_S)
    assert (rest, process.returncode) == ("left\n", 0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"port": "TAKEN"}, "cannot listen at 127.0.0.1:TAKEN"),
        (
            {"topology": PLACED, "peers": {"b": "127.0.0.1:1", "c": "127.0.0.1:1", "a": "127.0.0.1:TAKEN"}},
            "listen at 127.0.0.1:TAKEN",
        ),
        ({"certificate": "FILE", "private_key": "FILE"}, "cannot be used"),
        ({"frob": 1}, "frob:"),
    ],
    ids=["port", "port for peers", "certificate", "option"],
)
def test_a_gateway_that_cannot_begin_says_why_in_one_line(cluster, quorum, tmp_path, change, said):
    """What else a configuration may have wrong: tests/unit/cluster/resp/test_resp_configuration.py."""
    path, taken = tmp_path / "gateway.json", str(quorum.port)
    zone_texts = {name: str(address) for name, address in cluster.addresses.items()}
    text = json.dumps({"zone": "a", "zones": zone_texts, **change})
    path.write_text(text.replace('"TAKEN"', taken).replace("TAKEN", taken).replace("FILE", str(path)))
    command = [sys.executable, "-m", "zonelab.cluster.resp", "--config", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert said.replace("TAKEN", taken) in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def run():
    return uvloop.run


def gateway(cluster, zone="a", **options):
    settings = NetworkSettings(seed=1, timeouts=Timeouts(factor=0.1), **options.pop("network", {}))
    return ZoneGateway(zone, cluster.addresses, settings=settings, **options)


def client_of(one, **options):
    return redis.asyncio.Redis(host=one.address.host, port=one.address.port, **options)


@coroutine
async def test_links_are_slowed_cut_mended_and_healed_while_clients_work(cluster):
    async with (
        gateway(cluster, level=Level.DC_QUORUM, network={"lag": ConstantLag(1)}) as one,
        client_of(one) as client,
    ):
        assert await client.set("k", "1")
        links = LinkControls(one.links)
        lossy = {name: LinkState(loss=0.1) for name in ("a>c", "c>a")}
        links.apply({"a>b": LinkState(lag="constant:2ms"), **lossy})
        described = {link["link"]: link for link in links.described()}
        assert described.keys() == {"a>b", "b>a", "a>c", "c>a"}
        assert described["a>b"]["lag"] == str(parse_lag("constant:2ms"))
        assert described["c>a"]["loss"] == 0.1
        links.apply({name: LinkState(cut=Cut.DROP) for name in ("a>b", "b>a")} | dict.fromkeys(lossy, LinkState()))
        assert await client.set("k", "2")
        links.apply({name: LinkState(cut=Cut.DROP) for name in lossy})
        with pytest.raises(redis.ResponseError, match="Peer: Peer Node is not connected"):
            await client.set("k", "3")
        assert await one.server.loop.run_in_executor(None, cluster.direct("b").get, "k") == b"1"
        assert one.connected_to == {"a": True, "b": False, "c": False}
        links.heal()
        assert {link["cut"] for link in links.described()} == {None}
        assert {link["loss"] for link in links.described()} == {0.0}
        await until(lambda: all(one.connected_to.values()), "connected again")
        assert await client.set("k", "4")
        assert one.statistics()["coordinator"]["levels"]["DC_QUORUM"]["commands"] >= 3


@coroutine
async def test_a_changed_level_holds_for_new_connections(cluster):
    async with gateway(cluster, level=Level.DC_ONE) as one, client_of(one) as client:
        for zone, value in zip("abc", "122", strict=True):
            cluster.direct(zone).set("k", value)
        assert await client.get("k") == b"1"
        one.set_level(read=Level.DC_SAFE_QUORUM)
        assert one.topology()["read_level"] == "DC_SAFE_QUORUM"
        assert one.topology()["write_level"] == "DC_ONE"
        assert await client.get("k") == b"1"
        async with client_of(one) as other:
            assert await other.get("k") == b"2"


@coroutine
async def test_a_transaction_is_stopped_where_the_connection_that_watched_is_gone(cluster):
    async with gateway(cluster, level=Level.DC_QUORUM) as one, client_of(one) as client:
        await client.set("n", 1)
        async with client.pipeline() as pipe:
            await pipe.watch("n")
            [session] = [session for session in one.server.clients if session.watching is not None]
            channels = session.watching.coordinator.channels
            for channel in channels[1:]:
                channel.far_end.reset()
            await until(lambda: all(channel.connected for channel in channels), "connected again")
            pipe.multi()
            pipe.set("n", 2)
            with pytest.raises(redis.WatchError):
                await pipe.execute()
        assert await client.get("n") == b"1"
        async with client.pipeline() as pipe:
            await pipe.watch("n")
            pipe.multi()
            pipe.set("n", 3)
            assert await pipe.execute() == [True]


@pytest.mark.parametrize("end", ["UNWATCH", "EXEC", "leave"])
@coroutine
async def test_clients_that_watch_no_more_leave_few_connections_open_and_their_transactions_everywhere(cluster, end):
    async with gateway(cluster, level=Level.DC_QUORUM, network={"lag": ConstantLag(5)}) as one:
        servers = [cluster.direct(zone) for zone in "abc"]
        before = [server.info("clients")["connected_clients"] for server in servers]
        clients = [client_of(one, **SINGLE) for _ in range(60)]
        for number, client in enumerate(clients):
            await client.execute_command("WATCH", "k")
            if end == "EXEC":
                await client.execute_command("MULTI")
                await client.execute_command("SET", f"k{number}", "v")
        for client in clients:
            await (client.aclose() if end == "leave" else client.execute_command(end))

        def few():
            now = [server.info("clients")["connected_clients"] for server in servers]
            return all(count - other <= 20 for count, other in zip(now, before, strict=True))

        await until(few, "connections are closed")
        if end == "EXEC":
            assert [server.exists(*(f"k{number}" for number in range(60))) for server in servers] == [60] * 3
        for client in clients:
            await client.aclose()


@coroutine
async def test_more_clients_than_allowed_cannot_watch_and_one_that_leaves_makes_room(cluster, monkeypatch):
    monkeypatch.setattr("zonelab.cluster.client.lent_coordinators.WATCHERS_MAX", 2)
    async with (
        gateway(cluster) as one,
        client_of(one, **SINGLE) as first,
        client_of(one, **SINGLE) as second,
        client_of(one, **SINGLE) as third,
    ):
        for client in (first, second, first):
            await client.execute_command("WATCH", "k")
        with pytest.raises(redis.ResponseError, match="2 clients watch keys"):
            await third.execute_command("WATCH", "k")
        assert await first.execute_command("UNWATCH")
        assert await third.execute_command("WATCH", "k")


@coroutine
async def test_a_gateway_needs_a_server_to_learn_its_commands_from(monkeypatch):
    monkeypatch.setattr("zonelab.cluster.resp.gateway.introduction.READY_S", 0.2)
    with pytest.raises(ClusterError, match=r"no server answers at 127\.0\.0\.1:1"):
        await ZoneGateway("a", {"a": Address("127.0.0.1", 1)}, settings=NetworkSettings(seed=1)).start()


@coroutine
async def test_a_gateway_begins_without_its_own_zone_and_serves_it_once_it_is_there(cluster, monkeypatch):
    monkeypatch.setattr("zonelab.cluster.client.lent_coordinators.CONNECT_NS", 200_000_000)
    addresses = {**cluster.addresses, "a": Address("127.0.0.1", 1)}
    settings = NetworkSettings(seed=1, timeouts=Timeouts(factor=0.1))
    one = ZoneGateway("a", addresses, settings=settings, port=PortSettings(), level=Level.DC_QUORUM)
    async with one, client_of(one) as client:
        assert await client.set("k", "quorum of the two others")
        with pytest.raises(redis.ResponseError, match="Storage: Datastore refused connection"):
            await client.ping()


def connected_by_file(cluster, zone):
    """How many of the server's clients came through its socket file."""
    with cluster.direct(zone) as client:
        return sum("U" in one["flags"] for one in client.client_list())


@pytest.mark.parametrize(("mode", "by_file"), [(Restart.KEEP, 1), (Restart.WIPE, 1), (Restart.WARM, 0)])
def test_servers_are_reached_by_their_socket_files_where_they_listen_there(cluster, mode, by_file):
    """A server that was restarted as a copy of another zone listens at its address only."""
    sockets = {name: cluster.zone(name).socket for name in "ab"}
    with cluster.gateway("a", sockets=sockets, time_factor=0.2) as gateway, gateway.client() as client:
        assert client.set("k", "v")
        assert [connected_by_file(cluster, zone) for zone in "abc"] == [1, 1, 0]
        cluster.run(cluster.zone("a").kill())
        with pytest.raises(redis.ResponseError, match="Datastore refused"):
            client.ping()
        source = cluster.zone("b") if mode is Restart.WARM else None
        cluster.run(cluster.zone("a").restart(mode, warm_from=source))
        gateway.until_served()
        assert client.set("k", "w")
        assert connected_by_file(cluster, "a") == by_file
        cluster.until_everywhere(b"w", "GET", "k")
        cluster.run(cluster.zone("a").kill())
        cluster.run(cluster.zone("a").restart(Restart.KEEP))


def test_a_server_that_is_not_at_the_socket_file_is_reached_at_its_address(cluster, tmp_path):
    with cluster.gateway("a", sockets={"a": str(tmp_path / "none.sock")}) as gateway, gateway.client() as client:
        assert client.set("k", "v")
        assert connected_by_file(cluster, "a") == 0


def processor_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_gateway_that_stays_awake_answers_and_goes_to_sleep_with_its_clients(cluster):
    with cluster.gateway("a", busy_poll_us=20_000) as gateway, gateway.client() as client:
        for number in range(100):
            assert client.incr("polled") == number + 1
        pid = gateway.process.pid

        def used_s():
            begin_s = processor_s(pid)
            time.sleep(1)  # what is measured is how much processor time it takes in a second without requests
            return processor_s(pid) - begin_s

        deadline_s = time.monotonic() + DEADLINE_S
        while used_s() > 0.2:
            assert time.monotonic() < deadline_s, "it goes on without requests"
        assert client.incr("polled") == 101
