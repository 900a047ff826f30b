"""Goal: every runtime keeps the promises of the ``Runtime`` port. Method: one suite, in virtual time and on loops."""

import asyncio
import time
from functools import partial
from types import SimpleNamespace

import pytest
import uvloop

from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.real.timers import _LoopTimer
from zonelab.cluster.sim.runtime import Cancelled, SimRuntime
from zonelab.cluster.sim.schedule import Schedule, TieBreak

MS = 1_000_000


def in_virtual_time(order):
    def carry_out(test):
        runtime = SimRuntime(seed=1, schedule=Schedule(tie_break=order))
        runtime.run_until_complete(test(runtime))

    return carry_out


def on_loop(factory):
    async def whole(test):
        runtime = RealRuntime(seed=1)
        try:
            await test(runtime)
        finally:
            await runtime.close()

    def carry_out(test):
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(whole(test))

    return carry_out


KINDS = {order: in_virtual_time(order) for order in TieBreak}
KINDS |= {"asyncio": on_loop(asyncio.new_event_loop), "uvloop": on_loop(uvloop.new_event_loop)}


def on_each(test):
    """A decorator for a coroutine: it is run on a ``runtime`` of each kind."""

    def carried_out(carry_out):
        carry_out(test)

    return pytest.mark.parametrize("carry_out", KINDS.values(), ids=KINDS)(carried_out)


@on_each
async def test_sleeping_lasts_at_least_as_long_as_asked_by_the_runs_own_time(runtime):
    for duration_ns in (0, 100_000, 3 * MS):
        begin_ns = runtime.now_ns()
        await runtime.sleep(duration_ns)
        assert runtime.now_ns() - begin_ns >= duration_ns


@on_each
async def test_a_promise_wakes_everybody_who_awaits_it_before_or_after(runtime):
    promise = runtime.promise()

    async def waiter():
        return await promise

    tasks = [runtime.spawn(waiter(), name="waiter") for _ in range(3)]
    await runtime.sleep(MS)
    assert not promise.done()
    promise.set_result("kept")
    assert promise.done()
    assert [await task.join() for task in tasks] + [await promise] == ["kept"] * 4


@on_each
async def test_a_promise_may_be_kept_after_who_awaited_it_was_cancelled(runtime):
    promise = runtime.promise()

    async def waiter():
        return await promise

    task = runtime.spawn(waiter(), name="waiter")
    await runtime.sleep(MS)
    task.cancel()
    await runtime.sleep(MS)
    promise.set_result(1)
    assert task.done()


@on_each
async def test_a_task_that_is_spawned_does_not_begin_within_the_call(runtime):
    log = []

    async def child():
        log.append("child")

    task = runtime.spawn(child(), name="child")
    log.append("parent")
    await task.join()
    assert log == ["parent", "child"]


@on_each
async def test_who_joins_a_task_gets_its_result_or_its_failure(runtime):
    async def good():
        await runtime.sleep(MS)
        return 7

    async def bad():
        await runtime.sleep(MS)
        raise LookupError("lost")

    assert await runtime.spawn(good(), name="good").join() == 7
    with pytest.raises(LookupError, match="lost"):
        await runtime.spawn(bad(), name="bad").join()


@on_each
async def test_cancelling_runs_the_clean_up_of_a_task_once_and_it_never_wakes_again(runtime):
    log = []

    async def sleeper():
        try:
            await runtime.sleep(20 * MS)
            log.append("woke")
        finally:
            log.append("clean-up")

    task = runtime.spawn(sleeper(), name="sleeper")
    await runtime.sleep(MS)
    assert not task.done()
    task.cancel()
    task.cancel()
    with pytest.raises((Cancelled, asyncio.CancelledError)):
        await task.join()
    assert task.done()
    await runtime.sleep(40 * MS)
    assert log == ["clean-up"]


@on_each
async def test_a_task_that_is_cancelled_before_it_began_never_runs(runtime):
    log = []

    async def child():
        log.append("ran")

    task = runtime.spawn(child(), name="child")
    task.cancel()
    await runtime.sleep(MS)
    assert (task.done(), log) == (True, [])


@on_each
async def test_who_stops_waiting_for_a_task_does_not_stop_the_task(runtime):
    async def work():
        await runtime.sleep(20 * MS)
        return "done"

    task = runtime.spawn(work(), name="work")

    async def join():
        return await task.join()

    joiner = runtime.spawn(join(), name="joiner")
    await runtime.sleep(MS)
    joiner.cancel()
    assert await task.join() == "done"


class LaterCalls:
    """A loop as far as a timer needs one: what it is asked to call, after how long, and whether that was called off."""

    def __init__(self):
        self.calls = []

    def call_later(self, delay_s, callback):
        self.calls.append([delay_s, callback, "open"])
        return SimpleNamespace(cancel=partial(self.calls[-1].__setitem__, 2, "cancelled"))


def test_a_timer_without_the_kernels_waits_for_its_deadline_and_for_the_last_one_only():
    loop, fired = LaterCalls(), []
    timer = _LoopTimer(loop, partial(fired.append, "fired"))
    for ahead_s in (100, 50, -5):
        timer.arm(time.monotonic_ns() + ahead_s * 10**9)
    timer.close()
    assert [state for *_, state in loop.calls] == ["cancelled"] * 3
    far, near, past = (delay_s for delay_s, *_ in loop.calls)
    assert 50 < far <= 100
    assert 0 < near <= 50
    assert past == 0
    loop.calls[0][1]()
    assert fired == ["fired"]
