"""Goal: timers fire in order and never early, and cancelling works. Method: real loops, both ways of waking them.

How late a timer may fire depends on the machine, so nothing here depends on it.
"""

import asyncio
import sys
import time

import pytest
import uvloop
from support.coroutines import coroutine

from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.real.timers import Timers

MS = 1_000_000
LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.fixture(params=["linux", "elsewhere"])
def platform(request, monkeypatch):
    if request.param == "linux" and sys.platform != "linux":
        pytest.skip("timerfd is Linux's")
    monkeypatch.setattr(sys, "platform", request.param)


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def run(request, platform):
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner.run


class Fired:
    """Timers whose firing is noted, and the wait for the last.

    All delays count from one moment, so a machine that stalls between two settings changes nothing about their order.
    """

    def __init__(self):
        self.start_ns = time.monotonic_ns()
        self.timers = Timers(asyncio.get_running_loop())
        self.names = []
        self.early = []
        self.last = asyncio.get_running_loop().create_future()

    def set(self, name, delay_ms, *, last=False):
        deadline_ns = self.start_ns + round(delay_ms * MS)

        def fire():
            self.names.append(name)
            if time.monotonic_ns() < deadline_ns:
                self.early.append(name)
            if last:
                self.last.set_result(None)

        return self.timers.call_at(deadline_ns, fire)

    async def wait(self):
        await asyncio.wait_for(self.last, 60)
        self.timers.close()
        assert self.early == []
        return self.names


@coroutine
async def test_timers_fire_in_order_of_time_and_not_early():
    fired = Fired()
    fired.set("last", 40, last=True)
    for delay_ms in (30, 10, 20, 0.3, 0.1, 0.2):
        fired.set(delay_ms, delay_ms)
    assert await fired.wait() == [0.1, 0.2, 0.3, 10, 20, 30, "last"]


@coroutine
async def test_timers_of_equal_time_fire_in_order_of_setting():
    fired = Fired()
    for number in range(100):
        fired.set(number, 5, last=number == 99)
    assert await fired.wait() == list(range(100))


@coroutine
async def test_a_time_that_has_passed_fires_in_a_later_turn_of_the_loop():
    fired = Fired()
    fired.set("past", -1_000, last=True)
    assert fired.names == []
    assert await fired.wait() == ["past"]


@coroutine
async def test_a_cancelled_timer_does_not_fire_and_those_behind_it_do():
    fired = Fired()
    first = fired.set("first", 5)
    fired.set("second", 10)
    third = fired.set("third", 15)
    fired.set("last", 20, last=True)
    first.cancel()
    third.cancel()
    third.cancel()
    assert await fired.wait() == ["second", "last"]


@coroutine
async def test_a_timer_may_set_and_cancel_others():
    fired = Fired()
    doomed = fired.set("doomed", 10)
    fired.set("last", 30, last=True)

    def busy():
        doomed.cancel()
        fired.set("soon", 2)
        fired.set("later", 7)

    fired.timers.call_at(fired.start_ns + 2 * MS, busy)
    assert await fired.wait() == ["soon", "later", "last"]


@coroutine
async def test_a_callback_that_raises_is_reported_and_stops_nobody():
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    fired = Fired()
    fired.timers.call_at(fired.start_ns + 2 * MS, lambda: 1 // 0)
    fired.set("same time", 2)
    fired.set("last", 10, last=True)
    names = await fired.wait()
    assert names == ["same time", "last"]
    assert [type(error) for error in reported] == [ZeroDivisionError]


@coroutine
async def test_nothing_fires_after_closing():
    fired = Fired()
    fired.set("never", 1)
    fired.timers.close()
    fired.timers.close()
    await asyncio.sleep(0.02)
    assert fired.names == []


@coroutine
async def test_ten_thousand_timers_all_fire_in_order():
    fired = Fired()
    for number in range(10_000):
        shuffled = number * 7_919 % 10_000
        fired.set(shuffled, shuffled / 1_000)
    fired.set("last", 50, last=True)
    assert await fired.wait() == [*range(10_000), "last"]


@coroutine
async def test_closing_ends_every_task_that_is_left():
    ended = []
    runtime = RealRuntime(seed=1)

    async def sleeper(name):
        try:
            await runtime.sleep(3_600_000 * MS)
        finally:
            ended.append(name)

    for name in ("one", "two"):
        runtime.spawn(sleeper(name), name=name)
    await runtime.sleep(MS)
    await runtime.close()
    assert sorted(ended) == ["one", "two"]
