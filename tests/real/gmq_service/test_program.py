"""Goal: ``zonelab gmq`` starts, shows and stops a program that serves; one that was killed or is in the way is told.

Method: command lines in a folder of their own, on a real server.
"""

import asyncio
import contextlib
import os
import signal
import socket
from pathlib import Path

import pytest
import redis
from support.app import gmq_service as bench
from support.gmq_kills.kills import kills
from support.programs import until

from zonelab.app.gmq_service.clients import BlockingGmqClient, GmqClient, GmqError, JobGone
from zonelab.cluster.zone import Restart

pytestmark = pytest.mark.real


def test_it_starts_serves_tells_of_itself_and_stops(service):
    told = service.start()
    assert (service.folder / "gmq.pid").read_text() == f"{told['pid']}\n"
    with BlockingGmqClient(told["rpc"]) as gmq:
        gmq.push("1", topic="mail", body="é")
        job = gmq.pop("mail")
        assert job is not None
        assert (job.body, gmq.ack("1")) == ("é", True)
        with pytest.raises(JobGone):
            gmq.ack("1")
    code, shown = service.zonelab("status", "--json")
    assert (code, shown["running"], shown["pid"], shown["rpc"]) == (0, True, told["pid"], told["rpc"])
    code, again = service.zonelab("start")
    assert (code, again) == (3, again)
    assert "a service runs already" in again
    assert service.stop() == (0, {"stopped": told["pid"]})
    assert service.stop() == (0, {"stopped": None})
    assert sorted(os.listdir(service.folder)) == ["gmq.ini", "gmq.log"]


def test_one_that_was_killed_is_known_and_the_next_one_goes_on_with_its_jobs(service):
    first = service.start()
    with BlockingGmqClient(first["rpc"]) as gmq:
        gmq.push("ready", topic="mail")
        gmq.push("delayed", topic="mail", delay_s=1)
    with redis.Redis(port=service.server_port) as connection:
        until(lambda: connection.llen("gmq:readyqueue:mail") == 1 and _delayed(connection) == 1)
    os.kill(first["pid"], signal.SIGKILL)
    until(lambda: service.zonelab("status", "--json")[1]["running"] is False)
    assert service.zonelab("status", "--json")[1]["stale"] is True
    with BlockingGmqClient(service.start()["rpc"]) as gmq:
        popped = [until(lambda: _id(gmq.pop("mail"))) for _ in range(2)]
    assert popped == ["ready", "delayed"]


def test_a_stop_under_load_loses_nothing_that_was_confirmed(service):
    async def stopped_under_load(address):
        confirmed, received = [], []

        async def produce(client, name):
            for number in range(10_000):
                await client.push(f"{name}-{number}", topic="mail", delay_s=number % 2, ttr_s=0)
                confirmed.append(f"{name}-{number}")

        async def consume(client):
            while True:
                job = await client.pop("mail")
                if job is not None:
                    received.append(job.id)

        async with GmqClient(address) as one, GmqClient(address) as other:
            working = [*(produce(one, name) for name in "ab"), *(consume(other) for _ in range(2))]
            tasks = [asyncio.ensure_future(work) for work in working]
            await bench.until(lambda: len(confirmed) > 200 and len(received) > 50)
            code = await asyncio.to_thread(service.stop)
            await asyncio.gather(*tasks, return_exceptions=True)
        return code, confirmed, received

    (code, _), confirmed, received = asyncio.run(stopped_under_load(service.start()["rpc"]))
    assert code == 0
    with BlockingGmqClient(service.start()["rpc"]) as gmq:
        until(lambda: received.append(_id(gmq.pop("mail"))) or set(confirmed) <= set(received))
    received = [job_id for job_id in received if job_id is not None]
    assert len(received) == len(set(received))


def test_an_outage_of_the_server_is_an_error_within_a_bound_and_over_when_it_is_back(server, service):
    """N1: the buckets are idle when it goes away, and wake up again."""
    zone, runner = server
    with BlockingGmqClient(service.start()["rpc"]) as gmq:
        runner.run(zone.pause())
        with pytest.raises(GmqError, match="redis"):
            gmq.push("1", topic="mail")
        runner.run(zone.resume())
        runner.run(zone.kill())
        with pytest.raises(GmqError, match="redis"):
            gmq.pop("mail")
        runner.run(zone.restart(Restart.KEEP))
        until(lambda: bench.confirmed(gmq, "2"))
        until(lambda: _id(gmq.pop("mail")) == "2")


def test_what_is_in_the_way_is_told_in_one_line(service):
    first = service.start("--compat")
    service.configure(pid_file="other.pid")
    code, told = service.zonelab("start")
    assert (code, told.count("\n")) == (3, 1)
    assert "(mode compat) serves this data already" in told
    os.kill(first["pid"], signal.SIGTERM)
    until(lambda: not (service.folder / "gmq.pid").exists())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for option in ("rpc", "api", "web"):
            service.configure(**{option: address})
            code, told = service.zonelab("start")
            assert (code, told.count("\n"), f"cannot listen at {address}" in told) == (3, 1, True)
        service.server_port = taken.getsockname()[1]
        service.configure()
        code, told = service.zonelab("start")
        assert (code, told.count("\n"), "no server answers" in told) == (3, 1, True)
    service.configure(colour="blue")
    code, told = service.zonelab("start")
    assert (code, told.count("\n"), "got option 'colour'" in told) == (64, 1, True)


def test_hostile_clients_cost_a_bounded_number_of_descriptors_and_bytes(service):
    """Of 300 idle connections 50 are kept, 50 at HTTP too; lines of 64 MB are closed long before their end."""
    service.configure(clients_max=50)
    told = service.start()
    with contextlib.ExitStack() as stack:
        for port in ("rpc", "api"):
            for _ in range(300):
                stack.enter_context(socket.create_connection(_address(told[port])))
            until(lambda port=port: f"refused a client at {port}" in service.log)
        assert len(os.listdir(f"/proc/{told['pid']}/fd")) < 100 + 256
        until(lambda: _pushes(told["rpc"]))  # the idle ones of JSON-RPC have as many places as there are
        assert "closed a client: no_request" in service.log
    address = _address(told["rpc"])
    for _ in range(3):
        until(lambda: _closed_for_its_size(address))
    assert "closed a client: request_bytes_max" in service.log
    status = Path(f"/proc/{told['pid']}/status").read_text()
    (resident_kb,) = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
    assert resident_kb < 300 * 1024
    with BlockingGmqClient(told["rpc"]) as gmq:
        gmq.push("1", topic="mail")


@pytest.mark.parametrize("mode", ["default", "hardened"])
def test_each_job_that_a_kill_loses_has_a_row(mode, tmp_path):
    found = asyncio.run(kills(mode, 5, seed=2, folder=tmp_path))
    assert (found.rounds, found.unexplained, found.missing) == (5, [], [])
    assert found.holds
    assert found.confirmed > 0


def _pushes(address):
    with contextlib.suppress(OSError), BlockingGmqClient(address) as gmq:
        gmq.push("newcomer", topic="mail")
        return True
    return False


def _address(told):
    host, _, port = told.rpartition(":")
    return host, int(port)


def _id(job):
    return None if job is None else job.id


def _delayed(connection):
    return sum(connection.zcard(f"gmq:bucket:{number}") for number in range(3))


def _closed_for_its_size(address):
    """False if the service has not let go of the clients before yet."""
    sent, piece = 0, b"x" * (1 << 20)
    with socket.create_connection(address) as client, contextlib.suppress(ConnectionError):
        client.sendall(b'{"method":"')
        while sent < 64:
            client.sendall(piece)
            sent += 1
    return 4 <= sent < 64
