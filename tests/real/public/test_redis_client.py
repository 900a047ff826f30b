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


def test_real_zones_refuse_a_subscription_by_name():
    async def subscribe(lab):
        async with client(lab, "a") as mine:
            await mine.pubsub().subscribe("news")

    with cluster("process") as lab, pytest.raises(redis.ResponseError, match="SUBSCRIBE is not available here"):
        lab.run(subscribe)
