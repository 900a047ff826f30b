"""Goal: whoever only looks at a queue, whatever its engine, sees there what an end state has: places, ids and times.

Method: a simulated cluster of one zone, with messages that are due, delayed and leased.
"""

import pkgutil
from collections import Counter

import pytest
from support.cluster.sim_lab import simulated_lab
from support.scenarios.sim_runs import small

from zonelab.engine.message import Message
from zonelab.scenarios.queues.catalogue import queue_under_test
from zonelab.scenarios.queues.places import PlaceKind, places_of
from zonelab.scenarios.queues.under_test import QueueNames, RunsServices
from zonelab.scenarios.spec.engines import ENGINES

LEASE_MS = 60_000
LATER_MS = 600_000


def unwrapped(connection):
    return connection


def scenario(engine, mode, **more):
    chosen = {"compat": True} if mode == "compat" else {"mode": mode}
    queue = {"engine": engine, "unack_ms": LEASE_MS, **chosen, **more}
    return small(topology={"zones": ["a"]}, queue=queue, drain={"bound_s": 200})


async def filled(queue, cluster, told, *, topic=None):
    """Four due messages, of which one is leased, and three delayed ones."""
    if isinstance(queue, RunsServices):
        for name, zone in told.services:
            await (await queue.service(name, zone, unwrapped)).start()
    producer = await queue.producer("a", unwrapped)
    for number in range(7):
        await producer.push([Message(id=f"m{number}", timeout_ms=LATER_MS if number > 3 else 0, topic=topic)])
    consumer = await queue.consumer("a", unwrapped)
    leased = await consumer.pop(1, wait_ms=10_000)
    await cluster.runtime.sleep(3_000_000_000)
    return leased


@pytest.mark.parametrize(
    ("engine", "mode"),
    [(name, mode) for name, engine in ENGINES.items() for mode, it in engine.modes.items() if not it.features.groups],
)
def test_places_hold_what_the_end_state_says(engine, mode):
    with simulated_lab("a", lag="0") as lab:
        told = scenario(engine, mode)
        queue = queue_under_test(lab.cluster, told)
        places = places_of(told.queue, told.zones)

        async def looked():
            leased = await filled(queue, lab.cluster, told)
            rows = [row async for row in queue.final_state("a")]
            depths = [await queue.depth(shard) for shard in queue.shards]
            direct = lab.cluster.direct("a")
            now_ms = lab.cluster.clock("a").now_ms()
            found = []
            for place in places:
                counts = await direct.execute(*place.counting(now_ms)) if place.counting(now_ms) else None
                members = (await direct.execute(place.listing()))[0] if place.listing() is not None else None
                asked = [place.finding(row["message_id"]) for row in rows]
                hits = None if None in asked else await direct.execute(*asked)
                found.append((place, counts, members, hits))
            return leased, rows, found, now_ms, depths

        leased, rows, found, now_ms, depths = lab.run(looked())
    assert len(leased) == 1
    held = Counter(row["place"] for row in rows)
    assert (sum(one.waiting for one in depths), sum(one.leased for one in depths)) == (held["queue"], held["unack"])
    seen = {"queue": {}, "unack": {}, "dead": {}, "payload": {}}
    for place, counts, members, hits in found:
        ids = [place.id_of(member.decode()) for member in members or ()]
        if hits is not None:
            hit = {row["message_id"] for row, reply in zip(rows, hits, strict=True) if reply is not None and reply != 0}
            if place.kind is PlaceKind.EACH:
                ids = sorted(hit)
            elif place.kind is not PlaceKind.LIST:
                assert hit == set(ids)
        if counts is not None:
            assert counts[0] == len(ids)
        at = dict.fromkeys(ids)
        if place.kind is PlaceKind.SORTED and ids and place.unit_ms:
            at[ids[0]] = place.time_ms(float(counts[2][1]))
            expected = {row["message_id"]: row["score"] for row in rows if row["place"] == place.holds}
            assert at[ids[0]] == expected[ids[0]]
            assert counts[1] == sum(expected[one] <= now_ms for one in ids)
        seen[place.holds] |= at
    for holds, at in seen.items():
        assert at.keys() == {row["message_id"] for row in rows if row["place"] == holds}, holds
    assert len(seen["queue"]) + len(seen["unack"]) == (7 if ENGINES[engine].modes[mode].features.leases else 6)


@pytest.mark.parametrize(
    ("engine", "mode"),
    [
        (name, mode)
        for name, engine in ENGINES.items()
        for mode, it in engine.modes.items()
        if not it.features.groups and (name, mode) != ("youzan", "compat")  # whose keys have no prefix
    ],
)
def test_another_name_and_prefix_are_those_of_every_key_and_place(engine, mode):
    """No key has the names of a queue that is not told any."""
    told = scenario(engine, mode, **({"topics": ["mails"]} if (engine, mode) == ("gmq", "hardened") else {}))
    with simulated_lab("a", lag="0") as lab:
        make = pkgutil.resolve_name(ENGINES[engine].modes[mode].make)
        queue = make(lab.cluster, told, QueueNames(name="mails", prefix="app"))

        async def looked():
            await filled(queue, lab.cluster, told, topic="mails")
            (keys,) = await lab.cluster.direct("a").execute(("KEYS", "*"))
            return {key.decode() for key in keys}

        keys = lab.run(looked())
    begins = "mails" if engine == "zset" else "app"
    assert keys
    assert {key for key in keys if not key.startswith(begins)} == set()
    ours = {place.key for place in places_of(told.queue, told.zones, name="mails", prefix="app") if place.key}
    default = {place.key for place in places_of(told.queue, told.zones) if place.key}
    assert all(key.startswith(begins) for key in ours)
    assert ours.isdisjoint(default)
    assert ours & keys
    assert any("mails" in key for key in ours)


def test_a_queue_that_tells_no_places_has_none():
    own = small(queue={"factory": "zonelab.scenarios.queues.under_test:site_of"})
    for told in (own, scenario("fifo", "rocketmq-5.3")):
        assert places_of(told.queue, told.zones) == ()
