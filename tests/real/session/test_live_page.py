"""Goal: the live page of a cluster shows what its servers have, while a queue is used and when it is at rest again;
that of a run says what happened so far and nothing more.

Method: ``zonelab up`` and Chromium, beside a reader of the servers; the events of a run, as the page asks for them.
"""

import asyncio
import contextlib
import json
import re
import signal
import threading

import httpx
import pytest
from support.app.browser import chromium, opened
from support.app.page_figures import Reader, readings, shown, wrong
from support.programs import until

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.connections.server import ServerConnection
from zonelab.cluster.connections.timeouts import Timeouts
from zonelab.cluster.coordinators.direct import DirectConnection
from zonelab.cluster.real.connection import RedisUpstream
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.zone import Address
from zonelab.engine.dyno import DynoQueue, DynoSettings
from zonelab.engine.message import Message

pytestmark = pytest.mark.real

GROWING = ("app.QUEUE.jobs.a", "app.QUEUE.jobs.b", "app.UNACK.jobs.c", "app.MESSAGE.jobs")
RATE_PER_S = 200
READINGS = 15


class Load(threading.Thread):
    """Pushes 200 messages a second through the ports of all zones; zone c leases what is due there and keeps it."""

    def __init__(self, addresses):
        super().__init__()
        self._addresses = addresses
        self._ended = threading.Event()

    def end(self):
        self._ended.set()
        self.join()

    def run(self):
        asyncio.run(self._carry_out())

    async def _carry_out(self):
        runtime = RealRuntime(seed=1)
        connections = {zone: self._connection(address, runtime) for zone, address in self._addresses.items()}
        await asyncio.gather(*(self._connected(one) for one in connections.values()))
        queues = {zone: self._queue(zone, connections[zone], runtime) for zone in connections}
        await asyncio.gather(*(self._push(zone, queue) for zone, queue in queues.items()), self._lease(queues["c"]))
        for connection in connections.values():
            connection.close()
        await runtime.close()

    def _connection(self, address, runtime):
        host, _, port = address.rpartition(":")
        upstream = RedisUpstream(Address(host, int(port)), loop=asyncio.get_running_loop())
        connection = ServerConnection(upstream=upstream, runtime=runtime, timeouts=Timeouts(factor=10))
        connection.open()
        return connection

    async def _connected(self, connection):
        while not connection.connected:  # noqa: ASYNC110 (nobody is told)
            await asyncio.sleep(0.01)

    def _queue(self, zone, connection, runtime):
        server = DirectConnection(connection, runtime=runtime)
        settings = DynoSettings(prefix="app", shards=tuple(self._addresses), shard=zone, unack_ms=600_000)
        clock = NodeClock(epoch_ns=runtime.epoch_ns, run_ns=runtime.now_ns)
        return DynoQueue("jobs", runtime=runtime, clock=clock, quorum=server, local=server, settings=settings)

    async def _push(self, zone, queue):
        loop, number = asyncio.get_running_loop(), 0
        next_s = loop.time()
        while not self._ended.is_set():
            number += 1
            await queue.push([Message(id=f"{zone}{number}", timeout_ms=0 if number % 3 else 600_000)])
            next_s += len(self._addresses) / RATE_PER_S
            await asyncio.sleep(next_s - loop.time())

    async def _lease(self, queue):
        while not self._ended.is_set():
            await queue.pop(5, wait_ms=100)


def entries_of(server, key):
    return server.hlen(key) if ".MESSAGE." in key else server.zcard(key)


def at_rest(page, servers):
    """Entries by server and key of the first reading after now, if nothing changes meanwhile."""

    def all_held():
        return [entries_of(server, key) for server in servers.values() for key in GROWING]

    before, now_ms = all_held(), max(server.time()[0] * 1_000 + 1_000 for server in servers.values())
    until(lambda: page.wait_for_timeout(100) or min((one.read_ms for one in shown(page)), default=0) > now_ms)
    return {(one.server, one.key): one.entries for one in shown(page)} if all_held() == before else None


@pytest.mark.chromium
def test_figures_are_what_the_servers_had_and_at_rest_what_they_have(lab):
    status = lab.up("--lag", "constant:1ms")
    page_of = json.loads(lab.run("monitor", "--queue", "jobs", "--prefix", "app", "--json"))
    assert page_of["queues"] == ["jobs (dyno)"]
    load = Load({zone["zone"]: zone["coordinator"]["address"] for zone in status["zones"]})
    servers = {zone: lab.server(zone) for zone in lab.zones}
    with chromium() as browser, opened(browser, page_of["page"]) as page, Reader(servers, GROWING) as reader:
        load.start()
        try:
            seen = [one for figures in readings(page, count=READINGS) for one in figures]
        finally:
            load.end()
        held = until(lambda: at_rest(page, servers))
        assert held == {(zone, key): entries_of(servers[zone], key) for zone, key in held}
        page.get_by_label("id").fill("a1")
        page.get_by_role("button", name="follow").click()
        page.wait_for_function("() => document.querySelectorAll('#message tbody tr').length >= 6")
        assert "3 servers have its payload" in page.locator("#message .told").text_content()
    assert {one.key for one in seen} > set(GROWING)
    assert len({(one.server, one.key, one.read_ms) for one in seen if not one.old}) > 3 * READINGS
    assert wrong(seen, reader.samples) == []
    assert held["a", "app.MESSAGE.jobs"] > READINGS


def test_coordinators_of_another_cluster_have_a_page_that_only_reads_until_ctrl_c(lab):
    zones = lab.up()["zones"]
    servers = [word for zone in zones for word in ("--server", zone["server"]["address"])]
    watching = lab.begin("monitor", *(zone["coordinator"]["admin"] for zone in zones), *servers, "--queue", "jobs")
    address, token = re.search(r"(\S+)/#token=(\S+)", watching.stdout.readline()).groups()
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        with client.stream("GET", "/events", headers={"Authorization": f"Bearer {token}"}) as events:
            lines = (line for line in events.iter_lines() if line.startswith("data: "))
            hello, reading = (json.loads(next(lines).removeprefix("data: ")) for _ in range(2))
        assert (
            'zonelab_queue_messages{engine="dyno",queue="jobs",state="due",zone="b"} 0.0' in client.get("/metrics").text
        )
        assert client.post("/faults", headers={"Authorization": f"Bearer {token}"}).status_code == 404
    assert (hello["title"], hello["faultable"]) == ("Coordinators of a, b, c", None)
    assert [zone["server"]["state"] for zone in reading["zones"]] == ["running"] * 3
    assert {zone["zone"] for zone in reading["queues"][0]["zones"]} == {"a", "b", "c"}
    watching.send_signal(signal.SIGINT)
    assert watching.wait() == 0, watching.stderr.read()


def test_the_page_of_a_run_says_what_happened_so_far_and_that_it_has_ended(lab):
    run = lab.begin("run", "steady", "--live", "--live-wait", "60", "--set", "load.duration_s=4", "--on", "process")
    address, token = re.search(r"live page: (\S+)/#token=(\S+)", next(iter(run.stderr.readline, ""))).groups()
    told = []
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        until(lambda: answers(client))
        assert client.post("/heal").status_code == 401
        assert client.get("/events").status_code == 401
        while not told or told[-1][0] != "end":
            with (
                contextlib.suppress(httpx.TransportError),  # whoever comes while the port changes hands comes again
                client.stream("GET", "/events", headers={"Authorization": f"Bearer {token}"}) as events,
            ):
                names = (line.removeprefix("event: ") for line in events.iter_lines() if line)
                for name in names:
                    told.append((name, json.loads(next(names).removeprefix("data: "))))  # noqa: PERF401 (kept if it breaks)
            assert run.poll() is None or told[-1][0] == "end"
    out, errors = run.communicate()
    assert run.returncode in (0, 1), errors
    assert told[0][0] == "hello"
    ending = told[-1][1]
    assert ending["word"] == {0: "valid", 1: "invalid"}[run.returncode]
    assert ending["sentences"][1] in out.replace("\n", " ")
    assert ending["html"] == (lab.folder / ending["report"]).read_text(encoding="utf-8")
    assert {reading["run"]["phase"] for name, reading in told if name == "reading" and "over" in reading} <= {
        "check",
        "plots",
    }
    assert "zones" not in told[1][1], "the run begins when somebody looks"
    readings_of = [reading for name, reading in told if name == "reading" and "zones" in reading]
    last = readings_of[-1]
    assert {zone["zone"] for zone in last["zones"]} == {"a", "b", "c"}
    assert last["queues"][0]["zones"][0]["read_ms"] is not None
    assert 0 < last["run"]["messages"]["delivered"] <= last["run"]["messages"]["confirmed"]
    assert "lost" not in json.dumps([reading["run"] for reading in readings_of])
    assert token not in out + errors.replace(f"token={token}", "")


def answers(client):
    try:
        return client.get("/").status_code == 200
    except httpx.TransportError:
        return False
