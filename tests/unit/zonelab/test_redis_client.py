"""Goal: a program on ``redis.asyncio`` runs in simulation as it is. Method: its names and conversions, on a cluster."""

import pytest
import redis

from zonelab import ClusterError
from zonelab.engine.ports import Indeterminate, Unavailable
from zonelab.testing import client, cluster


def on_client(body, **options):
    async def program(lab):
        async with client(lab, "a", decode_responses=True, **options) as mine:
            return await body(mine, lab)

    with cluster("sim") as lab:
        return lab.run(program)


def test_conversions_pipelines_scripts_and_blocking_commands_are_those_of_redis_py():
    async def body(mine, lab):
        assert await mine.set("k", "v", px=1000) is True
        await mine.hset("h", mapping={"a": 1})
        assert await mine.hgetall("h") == {"a": "1"}
        assert await mine.pipeline().incr("n").zadd("z", {"m": 1.5}).execute() == [1, 1]
        assert await mine.zrange("z", 0, -1, withscores=True) == [("m", 1.5)]
        assert await mine.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")(keys=["n"], args=[5]) == 6
        assert await mine.blpop(["none", "jobs"], timeout=1) is None
        await mine.rpush("jobs", "one", "two")
        assert await mine.blpop(["none", "jobs"], timeout=0) == ("jobs", "one")
        assert await mine.blmove("jobs", "taken", 0) == "two"
        assert await mine.client_setname("me") is True
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            await mine.lpush("k", "x")

    on_client(body)


def test_a_watched_key_that_another_task_changes_is_a_watch_error():
    async def body(mine, lab):
        async with mine.pipeline() as pipe:
            await pipe.watch("n")
            await mine.incr("n")
            pipe.multi()
            pipe.set("n", 0)
            with pytest.raises(redis.WatchError):
                await pipe.execute()
        return await mine.get("n")

    assert on_client(body) == "1"


def test_messages_come_to_a_subscriber():
    async def body(mine, lab):
        pubsub = mine.pubsub(ignore_subscribe_messages=True)
        await pubsub.subscribe("news")
        assert await pubsub.get_message(timeout=1) is None
        await client(lab, "b").publish("news", "hello")
        message = await pubsub.get_message(timeout=1)
        await pubsub.aclose()
        return message["data"]

    assert on_client(body) == "hello"


def test_errors_are_those_of_the_ports_and_of_redis_py():
    async def body(mine, lab):
        async with lab.fault("pause", zone="b"), lab.fault("pause", zone="c"):
            with pytest.raises(redis.ResponseError) as raised:
                await mine.set("k", "v")
        return raised.value

    assert isinstance(on_client(body), (Indeterminate, Unavailable))


@pytest.mark.parametrize("transaction", [True, False])
def test_a_pipeline_without_a_quorum_is_one_error(transaction):
    async def body(mine, lab):
        async with lab.fault("pause", zone="b"), lab.fault("pause", zone="c"):
            with pytest.raises(redis.ResponseError) as raised:
                await mine.pipeline(transaction=transaction).set("k", "v").incr("n").execute()
        await lab.sleep(60)
        return raised.value, await mine.get("other")

    error, after = on_client(body)
    assert isinstance(error, (Indeterminate, Unavailable))
    assert after is None


@pytest.mark.parametrize(
    ("zone", "level", "wrong"), [("x", "DC_ONE", "zone: got 'x'"), ("a", "ALL", "level: got 'ALL'")]
)
def test_a_zone_and_a_level_that_are_not_there_are_refused(zone, level, wrong):
    with cluster("sim") as lab, pytest.raises(ClusterError, match=wrong):
        lab.run(lambda within: _opened(within, zone, level))


async def _opened(lab, zone, level):
    return client(lab, zone, level=level)
