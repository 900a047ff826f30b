"""Goal: every verb of a zone does what it says and nothing else. Method: one suite on real processes and containers."""

import asyncio
import os
import signal
import time

import pytest
from docker.client import DockerClient
from redis.exceptions import ConnectionError as RedisConnectionError
from support.cluster.zones import client, eventually, is_refused, make_zone, running
from support.coroutines import coroutine

from zonelab.cluster.real.zones import ProcessZone
from zonelab.cluster.real.zones.docker.container import DockerZone
from zonelab.cluster.zone import Restart, ZoneError, ZoneState

ALLOWED = {
    ZoneState.STOPPED: {"start", "stop"},
    ZoneState.RUNNING: {"stop", "kill", "pause"},
    ZoneState.PAUSED: {"stop", "kill", "resume"},
    ZoneState.DEAD: {"stop", "restart"},
}
VERBS = {
    "start": lambda zone: zone.start(),
    "kill": lambda zone: zone.kill(),
    "pause": lambda zone: zone.pause(),
    "resume": lambda zone: zone.resume(),
    "restart": lambda zone: zone.restart(Restart.KEEP),
}
INTO = {
    ZoneState.STOPPED: ["stop"],
    ZoneState.RUNNING: [],
    ZoneState.PAUSED: ["pause"],
    ZoneState.DEAD: ["kill"],
}


@pytest.mark.parametrize("state", ZoneState)
@coroutine
async def test_a_verb_that_does_not_fit_the_state_is_refused_by_name_and_changes_nothing(kind, state):
    zone = make_zone(kind, "a")
    async with running(zone):
        for verb in INTO[state]:
            await (zone.stop() if verb == "stop" else VERBS[verb](zone))
        for verb in sorted(set(VERBS) - ALLOWED[state]):
            with pytest.raises(ZoneError, match=rf"^zone a: cannot {verb} while {state}; it must be "):
                await VERBS[verb](zone)
            assert zone.state is state


@coroutine
async def test_a_zone_starts_empty_stops_without_trace_and_starts_again_at_the_same_address(kind):
    zone = make_zone(kind, "a")
    assert zone.state is ZoneState.STOPPED
    with pytest.raises(ZoneError, match="no address before its first start"):
        _ = zone.address
    async with running(zone):
        assert zone.state is ZoneState.RUNNING
        address = zone.address
        assert address.host == "127.0.0.1"
        async with client(zone) as redis:
            assert await redis.dbsize() == 0
            await redis.set("k", "v")
        await zone.stop()
        await zone.stop()
        assert zone.state is ZoneState.STOPPED
        assert await is_refused(address)
        await zone.start()
        assert zone.address == address
        async with client(zone) as redis:
            assert await redis.dbsize() == 0


@coroutine
async def test_the_server_says_its_product_and_version(kind):
    zone = make_zone(kind, "a")
    async with running(zone):
        product, version = (await zone.server_version()).split()
        assert product == "valkey"
        assert int(version.split(".")[0]) >= 9


@coroutine
async def test_a_killed_zone_breaks_its_connections_refuses_new_ones_and_restarts_at_its_address(kind):
    zone = make_zone(kind, "a")
    async with running(zone):
        address = zone.address
        async with client(zone) as redis:
            blocked = asyncio.ensure_future(redis.blpop(["never"], timeout=0))
            await eventually(lambda: has_blocked_client(zone))
            await zone.kill()
            with pytest.raises(RedisConnectionError):
                await blocked
        assert zone.state is ZoneState.DEAD
        assert await is_refused(address)
        for mode in (Restart.KEEP, Restart.WIPE):
            await zone.restart(mode)
            assert zone.state is ZoneState.RUNNING
            assert zone.address == address
            async with client(zone) as redis:
                assert await redis.ping()
            await zone.kill()


async def has_blocked_client(zone):
    async with client(zone) as redis:
        return (await redis.info("clients"))["blocked_clients"] > 0


@coroutine
async def test_a_paused_zone_answers_nothing_keeps_connections_and_answers_after_resume(kind):
    zone = make_zone(kind, "a")
    async with running(zone):
        reader, writer = await asyncio.open_connection(zone.address.host, zone.address.port)
        writer.write(b"INCR n\r\n")
        assert await reader.readline() == b":1\r\n"
        await zone.pause()
        assert zone.state is ZoneState.PAUSED
        writer.write(b"INCR n\r\n")
        answer = asyncio.ensure_future(reader.readline())
        done, _ = await asyncio.wait({answer}, timeout=0.3)
        assert not done
        late_reader, late_writer = await asyncio.open_connection(zone.address.host, zone.address.port)
        late_writer.write(b"INCR n\r\n")
        late_answer = asyncio.ensure_future(late_reader.readline())
        done, _ = await asyncio.wait({answer, late_answer}, timeout=0.1)
        assert not done
        await zone.resume()
        assert zone.state is ZoneState.RUNNING
        answers = await asyncio.wait_for(asyncio.gather(answer, late_answer), 30)
        assert sorted(answers) == [b":2\r\n", b":3\r\n"]
        writer.close()
        late_writer.close()


@coroutine
async def test_a_slow_server_keeps_clients_waiting_now_and_again_until_it_has_its_speed_back(kind):
    zone = make_zone(kind, "a")
    async with running(zone), client(zone) as redis:

        async def waits():
            begin_s = time.monotonic()
            await redis.ping()
            return time.monotonic() - begin_s > 0.04

        await zone.slow_down(20)
        for _ in range(3):
            await eventually(waits)
            assert zone.state is ZoneState.RUNNING
        await zone.slow_down(1)
        at_speed = iter(range(20))

        async def twenty_at_once():
            return not await waits() and next(at_speed, None) is None

        await eventually(twenty_at_once)


@pytest.mark.parametrize("verb", ["pause", "kill"])
@coroutine
async def test_stop_works_in_every_state(kind, verb):
    zone = make_zone(kind, "a")
    async with running(zone):
        await VERBS[verb](zone)
        await zone.stop()
        assert zone.state is ZoneState.STOPPED
        assert await is_refused(zone.address)


@coroutine
async def test_a_server_that_dies_by_itself_is_noticed_and_can_be_restarted(kind):
    zone = make_zone(kind, "a")
    async with running(zone):
        kill_behind_its_back(zone)
        await eventually(lambda: zone.state is ZoneState.DEAD)
        with pytest.raises(ZoneError, match="cannot kill while dead"):
            await zone.kill()
        await zone.restart(Restart.KEEP)
        assert zone.state is ZoneState.RUNNING


def kill_behind_its_back(zone):
    if isinstance(zone, ProcessZone):
        os.kill(zone.pid, signal.SIGKILL)
        return
    assert isinstance(zone, DockerZone)
    docker = DockerClient.from_env()
    docker.containers.get(zone.container_name).kill()
    docker.close()


@coroutine
async def test_verbs_called_at_once_are_carried_out_one_after_the_other(kind):
    zone = make_zone(kind, "a")
    async with running(zone):
        outcomes = await asyncio.gather(zone.kill(), zone.restart(Restart.KEEP), zone.pause(), return_exceptions=True)
        assert outcomes == [None, None, None]
        assert zone.state is ZoneState.PAUSED
