"""Goal: timers fire in order and never early, and cancelling works. Method: real loops, both ways of waking them.

How late a timer may fire depends on the machine, so nothing here depends on it.
"""

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
import uvloop
from support.coroutines import coroutine, within

from cluster.real.runtime import RealRuntime
from cluster.real.timers import Timers

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
    """Timers whose firing is noted, and the wait for the last."""

    def __init__(self):
        self.timers = Timers(asyncio.get_running_loop())
        self.names = []
        self.early = []
        self.last = asyncio.get_running_loop().create_future()

    def set(self, name, delay_ms, *, last=False):
        deadline_ns = time.monotonic_ns() + round(delay_ms * MS)
        return self.set_at(name, deadline_ns, last=last)

    def set_at(self, name, deadline_ns, *, last=False):
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
    deadline_ns = time.monotonic_ns() + 5 * MS
    for number in range(100):
        fired.set_at(number, deadline_ns, last=number == 99)
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
        fired.set("soon", 0)
        fired.set("later", 5)

    fired.timers.call_at(time.monotonic_ns() + 2 * MS, busy)
    assert await fired.wait() == ["soon", "later", "last"]


@coroutine
async def test_a_callback_that_raises_is_reported_and_stops_nobody():
    reported = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    fired = Fired()
    deadline_ns = time.monotonic_ns() + 2 * MS
    fired.timers.call_at(deadline_ns, lambda: 1 // 0)
    fired.set_at("same time", deadline_ns)
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
    now_ns = time.monotonic_ns()
    for number in range(10_000):
        shuffled = number * 7_919 % 10_000
        fired.set_at(shuffled, now_ns + shuffled * 1_000)
    fired.set("last", 50, last=True)
    assert await fired.wait() == [*range(10_000), "last"]


@asynccontextmanager
async def opened():
    runtime = RealRuntime(seed=1)
    try:
        yield runtime
    finally:
        await runtime.close()


on_runtime = within("runtime", opened)


@on_runtime
async def test_sleeping_lasts_at_least_as_long_as_asked_by_the_runs_own_time(runtime):
    times = [runtime.now_ns()]
    for duration_ns in (0, 100_000, 3 * MS):
        await runtime.sleep(duration_ns)
        times.append(runtime.now_ns())
    slept = [later - earlier for earlier, later in pairwise(times)]
    assert [duration >= asked for duration, asked in zip(slept, (0, 100_000, 3 * MS), strict=True)] == [True] * 3


@on_runtime
async def test_a_cancelled_task_ends_where_it_waits_and_runs_its_clean_up(runtime):
    log = []

    async def sleeper():
        try:
            await runtime.sleep(3_600_000 * MS)
        finally:
            log.append("clean-up")

    task = runtime.spawn(sleeper(), name="sleeper")
    await runtime.sleep(MS)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task.join()
    assert (log, task.done()) == (["clean-up"], True)


@on_runtime
async def test_a_promise_may_be_kept_after_who_awaited_it_was_cancelled(runtime):
    promise = runtime.promise()

    async def waiter():
        return await promise

    task = runtime.spawn(waiter(), name="waiter")
    await runtime.sleep(MS)
    task.cancel()
    await runtime.sleep(MS)
    promise.set_result(1)
    assert task.done() is True


@on_runtime
async def test_a_promise_wakes_everybody_who_awaits_it_before_or_after(runtime):
    promise = runtime.promise()

    async def waiter():
        return await promise

    tasks = [runtime.spawn(waiter(), name="waiter") for _ in range(3)]
    await runtime.sleep(MS)
    promise.set_result("kept")
    assert ([await task.join() for task in tasks] + [await promise], promise.done()) == (["kept"] * 4, True)


@on_runtime
async def test_who_stops_waiting_for_a_task_does_not_stop_the_task(runtime):
    async def work():
        await runtime.sleep(20 * MS)
        return "done"

    async def join(task):
        return await task.join()

    task = runtime.spawn(work(), name="work")
    joiner = runtime.spawn(join(task), name="joiner")
    await runtime.sleep(MS)
    joiner.cancel()
    assert await task.join() == "done"


@on_runtime
async def test_joining_a_task_that_failed_raises_its_error(runtime):
    async def work():
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        await runtime.spawn(work(), name="work").join()


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


@on_runtime
async def test_equal_seeds_give_equal_random_streams(runtime):
    other = RealRuntime(seed=1)
    assert [runtime.random(name).random() for name in "xy"] == [other.random(name).random() for name in "xy"]
    await other.close()
