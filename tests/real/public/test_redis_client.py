"""Goal: a program on ``redis.asyncio`` does on real zones what it does in simulation. Method: same steps on both."""

import pytest
import redis

from zonelab.testing import client, cluster

pytestmark = pytest.mark.real


async def steps(lab):
    seen = []
    async with client(lab, "a", decode_responses=True) as mine, client(lab, "b", decode_responses=True) as other:
        seen.append(await mine.pipeline(transaction=True).incr("n").rpush("jobs", "one", "two").execute())
        seen.append(await mine.blpop(["none", "jobs"], timeout=5))
        seen.append(await mine.blmove("jobs", "taken", 5))
        seen.append(await mine.blpop("none", timeout=0.1))
        async with mine.pipeline() as pipe:
            await pipe.watch("n")
            await other.incr("n")
            pipe.multi()
            pipe.set("n", 0)
            with pytest.raises(redis.WatchError):
                await pipe.execute()
        async with mine.pipeline() as pipe:
            await pipe.watch("n")
            pipe.multi()
            pipe.set("n", 7)
            seen.append(await pipe.execute())
        seen.append(await other.get("n"))
    return seen


@pytest.mark.parametrize("where", ["sim", "process"])
def test_transactions_watched_keys_and_waits_are_the_same_in_both_arms(where):
    with cluster(where) as lab:
        assert lab.run(steps) == [[1, 2], ("jobs", "one"), "two", None, [True], "7"]


async def messages(lab):
    heard = []
    async with client(lab, "b", decode_responses=True) as mine, client(lab, "a", decode_responses=True) as other:
        pubsub = mine.pubsub()
        await pubsub.subscribe("news")
        await pubsub.psubscribe("__keyevent@0__:*")

        async def hear(count):
            for _ in range(count):
                message = await pubsub.get_message(timeout=30)
                heard.append((message["type"], message["channel"], message["data"]))

        await hear(2)
        await other.publish("news", "x")
        await hear(1)
        await other.rpush("jobs", "one")
        await other.lpop("jobs")
        await other.set("lock", "mine", px=150)
        await hear(6)
        await pubsub.unsubscribe("news")
        await hear(1)
    return heard


@pytest.mark.parametrize("where", ["sim", "process"])
def test_messages_and_the_events_of_keys_are_the_same_in_both_arms(where):
    with cluster(where, set={"notify_keyspace_events": "EA"}) as lab:
        assert lab.run(messages) == [
            ("subscribe", "news", 1),
            ("psubscribe", "__keyevent@0__:*", 2),
            ("message", "news", "x"),
            ("pmessage", "__keyevent@0__:rpush", "jobs"),
            ("pmessage", "__keyevent@0__:lpop", "jobs"),
            ("pmessage", "__keyevent@0__:del", "jobs"),
            ("pmessage", "__keyevent@0__:set", "lock"),
            ("pmessage", "__keyevent@0__:expire", "lock"),
            ("pmessage", "__keyevent@0__:expired", "lock"),
            ("unsubscribe", "news", 1),
        ]


@pytest.mark.parametrize("where", ["sim", "process"])
def test_a_subscriber_whose_server_dies_gets_an_error(where):
    async def steps(lab):
        async with client(lab, "a") as mine:
            pubsub = mine.pubsub()
            await pubsub.subscribe("news")
            await pubsub.get_message(timeout=30)
            async with lab.fault("kill", zone="a"):
                with pytest.raises(redis.RedisError, match="the server of the own zone is lost"):
                    await pubsub.get_message(timeout=30)

    with cluster(where) as lab:
        lab.run(steps)


def test_a_subscriber_at_a_zones_port_hears_the_events_of_its_server():
    with cluster("process", set={"notify_keyspace_events": "EA"}) as lab:
        mine, other = redis.Redis.from_url(lab.urls["b"]), redis.Redis.from_url(lab.urls["a"])
        with mine, other, mine.pubsub() as pubsub:
            pubsub.psubscribe("__keyevent@0__:*")
            assert pubsub.get_message(timeout=30)["type"] == "psubscribe"
            other.rpush("jobs", "one")
            other.set("lock", "mine", px=150)
            heard = [pubsub.get_message(timeout=30) for _ in range(4)]
    assert [(one["channel"].partition(b":")[2], one["data"]) for one in heard] == [
        (b"rpush", b"jobs"),
        (b"set", b"lock"),
        (b"expire", b"lock"),
        (b"expired", b"lock"),
    ]
