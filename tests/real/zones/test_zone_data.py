"""Goal: a restarted zone has exactly the data it should have. Method: write, kill, restart each way, read back."""

import asyncio

import pytest
from support.cluster.zones import client, eventually, make_zone, running
from support.coroutines import coroutine

from zonelab.cluster.zone import Persistence, Restart, ZoneError, ZoneState

BOTH = [b"saved", b"unsaved"]


@pytest.mark.parametrize(
    ("persistence", "left"),
    [
        (Persistence.NONE, []),
        (Persistence.RDB, [b"saved"]),
        (Persistence.AOF_ALWAYS, BOTH),
        (Persistence.AOF_EVERYSEC, BOTH),
        (Persistence.AOF_NO, BOTH),
    ],
)
@coroutine
async def test_a_killed_zone_keeps_what_its_persistence_keeps_and_nothing_once_it_is_wiped(kind, persistence, left):
    zone = make_zone(kind, "a", persistence=persistence, save_points=((3600, 1),))
    async with running(zone):
        async with client(zone) as redis:
            await redis.set("saved", 1)
            if persistence is Persistence.RDB:
                await redis.save()
            for number in range(200):
                await redis.set("unsaved", number)
        for restart, keys in ((Restart.KEEP, left), (Restart.WIPE, [])):
            await zone.kill()
            await zone.restart(restart)
            async with client(zone) as redis:
                assert sorted(await redis.keys("*")) == keys
                assert await redis.get("unsaved") == (b"199" if b"unsaved" in keys else None)


@pytest.mark.parametrize("persistence", [Persistence.AOF_ALWAYS, Persistence.AOF_EVERYSEC, Persistence.AOF_NO])
@coroutine
async def test_a_wiped_zone_persists_again_and_flushes_as_it_should(kind, persistence):
    zone = make_zone(kind, "a", persistence=persistence)
    async with running(zone):
        await zone.kill()
        await zone.restart(Restart.WIPE)
        async with client(zone, decode_responses=True) as redis:
            assert await redis.config_get("appendfsync") == {"appendfsync": persistence.removeprefix("aof-")}
            await redis.set("new", 1)
        await zone.kill()
        await zone.restart(Restart.KEEP)
        async with client(zone) as redis:
            assert await redis.keys("*") == [b"new"]


@coroutine
async def test_save_points_are_the_servers(kind):
    zone = make_zone(kind, "a", persistence=Persistence.RDB, save_points=((1, 1), (60, 7)))
    async with running(zone), client(zone, decode_responses=True) as redis:
        assert await redis.config_get("save") == {"save": "1 1 60 7"}


@pytest.mark.parametrize("persistence", [Persistence.NONE, Persistence.AOF_EVERYSEC, Persistence.RDB])
@coroutine
async def test_a_warm_restart_copies_the_source_exactly_and_persists_the_copy_as_its_own_data(kind, persistence):
    source, target = (make_zone(kind, name, persistence=persistence) for name in "ab")
    async with running(source, target):
        async with client(source) as redis:
            await fill(redis)
        async with client(target) as redis:
            await redis.set("own", "must go")
        await target.kill()
        await target.restart(Restart.WARM, warm_from=source)
        expected = await everything(source)
        assert len(expected) == 207
        assert await everything(target) == expected
        async with client(target) as redis:
            assert (await redis.info("replication"))["role"] == "master"
        await target.kill()
        await target.restart(Restart.KEEP)
        assert await everything(target) == ({} if persistence is Persistence.NONE else expected)
        assert await everything(source) == expected


async def fill(redis):
    await redis.set("text", b"\x00\xff bytes")
    await redis.set("expiring", 1, pxat=4_102_444_800_000)
    await redis.hset("payloads", mapping={f"id{number}": f'{{"n": {number}}}' for number in range(500)})
    await redis.zadd("queue", {f"id{number}": 1_700_000_000_000 + number + 0.25 for number in range(500)})
    await redis.rpush("list", *range(300))
    await redis.sadd("set", *range(300))
    await redis.xadd("stream", {"f": "v"}, id="1-1")
    for number in range(200):
        await redis.set(f"key{number}", number)


async def everything(zone):
    """Every key's value as the server serializes it, sets aside (their order is not part of the value), and expiry."""
    async with client(zone) as redis:
        found = {}
        async for key in redis.scan_iter(count=1000):
            value = await redis.smembers(key) if await redis.type(key) == b"set" else await redis.dump(key)
            found[key] = (value, await redis.pexpiretime(key))
        return found


@coroutine
async def test_a_warm_restart_under_load_is_the_source_at_one_instant_and_misses_no_earlier_write(kind):
    source, target = (make_zone(kind, name, persistence=Persistence.AOF_EVERYSEC) for name in "ab")
    async with running(source, target):
        await target.kill()
        written = 0
        finished = asyncio.Event()

        async def write():
            nonlocal written
            async with client(source) as redis:
                while not finished.is_set():
                    await redis.rpush("log", written)
                    written += 1

        writer = asyncio.ensure_future(write())
        await eventually(lambda: written >= 50)
        written_before = written
        await target.restart(Restart.WARM, warm_from=source)
        finished.set()
        await writer
        async with client(target) as redis:
            copied = [int(entry) for entry in await redis.lrange("log", 0, -1)]
        assert copied == list(range(len(copied)))
        assert written_before < len(copied) <= written


@coroutine
async def test_a_warm_restart_needs_a_running_source_of_the_same_kind(kind):
    source, target = (make_zone(kind, name) for name in "ab")
    other = make_zone("docker" if kind == "process" else "process", "other")
    async with running(source, target):
        await target.kill()
        for refused in (None, target, other):
            with pytest.raises(
                ZoneError, match=rf"^zone b: restart warm needs another {type(target).__name__} to copy from"
            ):
                await target.restart(Restart.WARM, warm_from=refused)
        with pytest.raises(ZoneError, match="zone b: restart keep takes no zone to copy from, got a"):
            await target.restart(Restart.KEEP, warm_from=source)
        await source.pause()
        with pytest.raises(ZoneError, match="zone b: cannot restart warm from zone a while it is paused"):
            await target.restart(Restart.WARM, warm_from=source)
        assert target.state is ZoneState.DEAD


@coroutine
async def test_a_warm_restart_that_takes_too_long_leaves_the_zone_dead_and_the_source_writable(kind):
    source = make_zone(kind, "a")
    target = make_zone(kind, "b", warm_timeout_s=0.0001)
    async with running(source, target):
        await target.kill()
        with pytest.raises(ZoneError, match=r"^zone b: warm copy from zone a was not complete in 0\.0001 s$"):
            await target.restart(Restart.WARM, warm_from=source)
        assert target.state is ZoneState.DEAD
        async with client(source) as redis:
            assert await asyncio.wait_for(redis.set("k", "v"), 30)
        await target.restart(Restart.KEEP)
        async with client(target) as redis:
            assert await redis.dbsize() == 0


@coroutine
async def test_a_cancelled_warm_restart_leaves_the_zone_dead_and_the_source_writable(kind):
    source, target = (make_zone(kind, name) for name in "ab")
    async with running(source, target):
        async with client(source) as redis:
            await fill(redis)
        await target.kill()
        restart = asyncio.ensure_future(target.restart(Restart.WARM, warm_from=source))
        await asyncio.sleep(0)
        restart.cancel()
        with pytest.raises(asyncio.CancelledError):
            await restart
        assert target.state is ZoneState.DEAD
        async with client(source) as redis:
            assert await asyncio.wait_for(redis.set("k", "v"), 30)
        await target.restart(Restart.WARM, warm_from=source)
        assert await everything(target) == await everything(source)
