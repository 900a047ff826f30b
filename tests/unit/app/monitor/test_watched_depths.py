"""Goal: a queue that does not tell its places is shown by its depths, and its messages are found in its end state."""

import asyncio

from support.coroutines import coroutine

from zonelab.app.monitor.watched_depths import SEARCHED_MAX, WatchedDepths
from zonelab.engine.ports import Unavailable
from zonelab.scenarios.queues.end_state import state_row
from zonelab.scenarios.queues.under_test import Depth


class Own:
    shards = {"s": "a", "away": "b"}  # noqa: RUF012
    rows = 1

    async def depth(self, shard):
        if shard == "away":
            raise Unavailable("gone")
        return Depth(waiting=3, leased=1)

    async def final_state(self, zone):
        if zone == "b":
            raise Unavailable("gone")
        for number in range(self.rows):
            yield state_row(zone, "unack", f"m{number}", shard="s", score=7.0)


@coroutine
async def test_depths_are_those_of_the_shards_that_answer():
    watched = WatchedDepths("queue", "own", Own(), ["a", "b"])
    await watched.look()
    told = watched.shown()
    assert [(one["holds"], one["zone"], one["entries"]) for one in told["keys"]] == [
        ("queue", "a", 3),
        ("unack", "a", 1),
    ]
    assert told["ids"] is None


def test_a_message_is_searched_for_in_every_zone_as_far_as_that_is_cheap():
    own = Own()
    watched = WatchedDepths("queue", "own", own, ["a", "b"])
    found = asyncio.run(watched.find("m0"))
    assert [(one["zone"], one.get("holds"), one.get("at_ms"), one.get("error")) for one in found] == [
        ("a", "unack", 7.0, None),
        ("b", None, None, "gone"),
    ]
    assert asyncio.run(watched.find("m1"))[0]["holds"] is None
    own.rows = SEARCHED_MAX + 1
    assert asyncio.run(watched.find("m0"))[0]["error"] == "more than 10,000 entries"
