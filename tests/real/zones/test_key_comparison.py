"""Goal: keys that differ between zones are named with what each zone has, and equal ones are not, whatever their kind.

Method: real servers, filled in other orders and with other contents.
"""

import asyncio

import pytest
from support.cluster.zones import client, make_zone, running
from support.coroutines import coroutine

from zonelab.cluster.real.zones import key_comparison
from zonelab.cluster.real.zones.key_comparison import compare_zones

pytestmark = pytest.mark.real
TASKS = [f"task-{number}" for number in range(255)]


async def fill(redis, *, backwards):
    order = [*reversed(TASKS)] if backwards else TASKS
    await redis.sadd("set", *order)
    await redis.hset("hash", mapping={each: each for each in order})
    await redis.zadd("zset", dict.fromkeys(order, 7))
    await redis.rpush("list", *TASKS)
    await redis.xadd("stream", {"a": "b"}, id="1-1")
    await redis.set("text", "v", ex=9_000)


@coroutine
async def test_equal_keys_are_equal_and_those_that_differ_are_told_with_their_elements():
    a, b = make_zone("process", "a"), make_zone("process", "b")
    async with running(a), running(b), client(a) as of_a, client(b) as of_b:
        await fill(of_a, backwards=False)
        await fill(of_b, backwards=True)
        servers = {"a": a.address, "b": b.address}
        found = await compare_zones([servers])
        assert (found.compared, found.complete) == (6, True)
        assert list(found.sentences()) == ["no key differs between the zones, 6 keys compared"]
        await of_b.rpush("celery", *TASKS)
        await of_b.hset("hash", "task-1", "other")
        await of_b.delete("text")
        await of_b.expire("list", 9_000)
        found = await compare_zones([servers])
        assert found.differing == {"celery": {"a": 0, "b": 255}, "hash": {"a": 255, "b": 255}, "text": {"a": 1, "b": 0}}
        differing, ttls = found.sentences()
        assert differing.startswith("3 keys differ: `celery` a 0, b 255 elements; `text` ")
        assert ttls == "1 key differs in the time to live alone: `list`"


@coroutine
async def test_a_comparison_is_bounded_and_says_so(monkeypatch):
    monkeypatch.setattr(key_comparison, "KEYS_MAX", 100)
    a, b = make_zone("process", "a"), make_zone("process", "b")
    async with running(a), running(b), client(a) as of_a, client(b) as of_b:
        await of_a.mset(dict.fromkeys(TASKS, "v"))
        told = []
        found = await compare_zones([{"a": a.address, "b": b.address}], progress=told.append)
        assert (found.complete, found.compared, len(found.differing), told) == (False, 100, 100, [100])
        assert next(found.sentences()).startswith("100 keys of the first 100, as more would take too long differ: ")
        await of_b.mset({**dict.fromkeys(TASKS, "v"), "zz": "only here"})
        found = await compare_zones([{"a": a.address, "b": b.address}])
        assert (found.complete, found.differing) == (False, {"zz": {"a": 0, "b": len("only here")}})
        await b.pause()
        monkeypatch.setattr(key_comparison, "_READ_S", 0.2)
        found = await compare_zones([{"a": a.address, "b": b.address}])
        assert list(found.unread) == ["b"]
        assert next(found.sentences()) == "no keys were compared between the zones"
        await b.resume()


@coroutine
async def test_keys_that_differ_are_looked_at_again_before_they_are_named(monkeypatch):
    a, b = make_zone("process", "a"), make_zone("process", "b")
    async with running(a), running(b), client(a) as of_a, client(b) as of_b:
        held, written = key_comparison._held, asyncio.Event()

        async def written_meanwhile(address, keys):
            if address == b.address:
                await written.wait()
            if address == a.address:
                await of_a.incr("hot")
            found = await held(address, keys)
            if not written.is_set():
                await of_a.mset({"text": "new", "gone": "new"})
                await of_b.mset({"text": "new", "gone": "new"})
                written.set()
            return found

        await of_a.mset({"text": "old", "other": "a", "hot": 0})
        await of_b.mset({"text": "old", "other": "b", "hot": 0, "gone": "v"})
        monkeypatch.setattr(key_comparison, "_held", written_meanwhile)
        found = await compare_zones([{"a": a.address, "b": b.address}])
        assert (found.compared, sorted(found.differing), found.changing) == (4, ["hot", "other"], ["hot"])
        differing, changing = found.sentences()
        assert differing.startswith("2 keys differ: `hot` ")
        assert changing == "1 of these changed from look to look, as clients write it: `hot`"


@coroutine
async def test_long_keys_whose_lengths_alone_are_compared_are_told(monkeypatch):
    monkeypatch.setattr(key_comparison, "ELEMENTS_MAX", 100)
    a, b = make_zone("process", "a"), make_zone("process", "b")
    async with running(a), running(b), client(a) as of_a, client(b) as of_b:
        await of_a.rpush("list", *TASKS)
        await of_b.rpush("list", *reversed(TASKS))
        await of_a.set("text", "v")
        await of_b.set("text", "v")
        found = await compare_zones([{"a": a.address, "b": b.address}])
        assert (found.differing, found.lengths_only) == ({}, ["list"])
        equal, lengths = found.sentences()
        assert equal == "no key differs between the zones, 2 keys compared"
        assert lengths == "only the length of 1 key was compared, as a server does not report its digest: `list`"


@coroutine
async def test_a_server_that_dies_meanwhile_is_named_and_nothing_is_raised(monkeypatch):
    a, b = make_zone("process", "a"), make_zone("process", "b")
    async with running(a), running(b):
        answers = key_comparison._answers

        async def dies(zone, address, found):
            answered = await answers(zone, address, found)
            if zone == "b":
                await b.kill()
            return answered

        monkeypatch.setattr(key_comparison, "_answers", dies)
        found = await compare_zones([{"a": a.address, "b": b.address}])
        assert (found.complete, list(found.unread), found.compared) == (False, ["a, b"], 0)
