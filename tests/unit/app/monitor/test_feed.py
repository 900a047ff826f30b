"""Goal: all who look at a page have the same newest reading, each figure with its own time, and nobody costs anything
once nobody looks.

Method: sources that the test plays.
"""

import asyncio
import json

import pytest
from support.coroutines import coroutine

from zonelab.app.monitor.feed import Feed, event
from zonelab.app.monitor.readings import SHARED_S, Readings

S = 1_000_000_000


def told(line):
    name, data = line.decode().removesuffix("\n\n").split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_everybody_has_each_reading_and_none_is_made_when_the_last_has_gone():
    async def looked():
        count = 0

        async def read():
            nonlocal count
            count += 1
            return {"number": count}

        feed = Feed(read, period_s=0.001)
        one, other = feed.events(), feed.events()
        first, same = await asyncio.gather(anext(one), anext(other))
        assert told(first) == told(same) == ("reading", {"number": 1})
        assert told(await anext(one))[1]["number"] > 1
        await one.aclose()
        assert feed.listeners == 1
        await other.aclose()
        await asyncio.sleep(0)
        made = count
        await asyncio.sleep(0.01)
        assert (feed.listeners, count) == (0, made)
        again = feed.events()
        assert told(await anext(again))[1]["number"] == made + 1
        await again.aclose()

    asyncio.run(looked())


@coroutine
async def test_the_events_end_when_reading_fails_or_the_feed_is_closed():
    async def broken():
        raise OSError("gone")

    assert [one async for one in Feed(broken).events()] == []

    async def read():
        return {}

    feed = Feed(read, period_s=0.001)
    events = feed.events()
    await anext(events)
    feed.close()
    assert len([one async for one in events]) <= 1
    events = feed.events()
    await anext(events)
    feed.end({"words": "over"})
    assert told([one async for one in events][-1]) == ("end", {"words": "over"})
    assert [told(one) async for one in feed.events()] == [("end", {"words": "over"})], "who comes later"
    feed.end()
    assert [one async for one in feed.events()] == []


def test_figures_that_are_no_numbers_of_json_are_refused_and_a_line_is_an_event():
    assert event("reading", {"text": "two\nlines"}) == b'event: reading\ndata: {"text":"two\\nlines"}\n\n'
    with pytest.raises(ValueError, match="JSON"):
        event("reading", {"p99_ms": float("nan")})


class Clock:
    def __init__(self):
        self.now_ns = 10 * S
        self.asked = 0

    async def answer(self):
        self.asked += 1
        return self.asked


@coroutine
async def test_two_who_ask_at_nearly_the_same_time_cost_one_question():
    clock = Clock()
    readings = Readings({"a": clock.answer}, now_ns=lambda: clock.now_ns)
    first = await readings.look(within_s=5)
    clock.now_ns += round(SHARED_S * S)
    assert await readings.look(within_s=5) == first
    clock.now_ns += 1
    second = await readings.look(within_s=5)
    assert (first["a"].value, second["a"].value, second["a"].time_ns) == (1, 2, clock.now_ns)
    clock.now_ns += 1
    assert (await readings.look(within_s=5, shared_s=0))["a"].value == 3


@coroutine
async def test_one_that_does_not_answer_keeps_its_last_figure_and_its_time_and_makes_no_other_old():
    clock = Clock()
    stuck = asyncio.Event()

    async def stands_still():
        if clock.now_ns > 10 * S:
            await stuck.wait()
        return "b"

    readings = Readings({"a": clock.answer, "b": stands_still}, now_ns=lambda: clock.now_ns)
    await readings.look(within_s=5)
    clock.now_ns += 3 * S
    fresh = await readings.look(within_s=0.01)
    assert (fresh.keys(), readings.latest["b"].time_ns) == ({"a"}, 10 * S)
    clock.now_ns += 3 * S
    stuck.set()
    assert (await readings.look(within_s=5))["b"].time_ns == 16 * S
    readings.close()
