"""Goal: the simulated runtime keeps the promises of the Runtime port. Method: small programs in virtual time."""

import pytest
import simpy

from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.cluster.sim.schedule import Schedule, TieBreak

ORDERS = tuple(TieBreak)


def runtime(tie_break=TieBreak.FIFO, *, seed=1, **schedule):
    return SimRuntime(seed=seed, schedule=Schedule(tie_break=tie_break, **schedule))


@pytest.mark.parametrize("tie_break", ORDERS)
def test_sleeping_takes_virtual_time_in_whole_nanoseconds(tie_break):
    sim = runtime(tie_break)

    async def program():
        await sim.sleep(3)
        await sim.sleep(10**18)
        return sim.now_ns()

    assert sim.run_until_complete(program()) == 10**18 + 3
    assert isinstance(sim.now_ns(), int)


def test_a_time_that_is_not_whole_is_refused():
    sim = runtime()
    with pytest.raises(TypeError):
        sim.run_until_complete(sim.sleep(1.5))


@pytest.mark.parametrize("delay_ns", [-1])
def test_a_delay_below_zero_is_refused(delay_ns):
    with pytest.raises(ValueError, match="-1"):
        runtime().call_later(delay_ns, lambda: None)


def test_a_timer_that_was_cancelled_does_nothing():
    sim, fired = runtime(), []
    sim.call_later(5, lambda: fired.append("kept"))
    sim.call_later(5, lambda: fired.append("cancelled")).cancel()
    sim.run(for_ns=6)
    assert fired == ["kept"]


def test_run_stops_before_what_is_due_at_its_end():
    sim, fired = runtime(), []
    sim.call_later(5, lambda: fired.append(sim.now_ns()))
    sim.run(for_ns=5)
    assert (fired, sim.now_ns()) == ([], 5)
    sim.run(for_ns=1)
    assert (fired, sim.now_ns()) == ([5], 6)


def test_a_failure_that_nobody_waits_for_ends_the_run_instead_of_hiding():
    sim = runtime()

    async def bad():
        raise KeyError("gone")

    async def program():
        sim.spawn(bad(), name="bad")
        await sim.sleep(1)

    with pytest.raises(KeyError, match="gone"):
        sim.run_until_complete(program())


def test_of_thousands_of_timers_those_that_were_cancelled_do_nothing_however_late_they_were_cancelled():
    sim, fired = SimRuntime(seed=1), []

    async def program():
        timers = [sim.call_later(number, lambda number=number: fired.append(number)) for number in range(9_000)]
        await sim.sleep(2_999)
        for number, timer in enumerate(timers):
            if number % 3:
                timer.cancel()  # a third of these have fired
        await sim.sleep(10_000)

    sim.run_until_complete(program())
    early = [number for number in fired if number < 2_999]
    assert early == list(range(2_999))
    assert [number for number in fired if number > 2_999] == [
        number for number in range(3_000, 9_000) if not number % 3
    ]


def test_a_task_that_is_cancelled_at_the_instant_of_its_waking_wakes_once_at_most():
    for seed in range(20):
        sim, log = runtime(TieBreak.RANDOM, seed=seed), []

        async def child(sim=sim, log=log):
            await sim.sleep(10)
            log.append("woke")
            await sim.sleep(10)
            log.append("woke again")

        async def program(sim=sim, child=child):
            task = sim.spawn(child(), name="child")
            await sim.sleep(10)
            task.cancel()
            await sim.sleep(100)
            assert task.done()

        sim.run_until_complete(program())
        assert log in ([], ["woke"]), seed


def test_a_program_that_can_never_end_is_told_so():
    sim = runtime()

    async def program():
        await sim.promise()

    with pytest.raises(RuntimeError, match="nothing is left to happen"):
        sim.run_until_complete(program())


def test_closing_cancels_what_still_runs():
    sim, log = runtime(), []

    async def child(number):
        try:
            await sim.promise()
        finally:
            log.append(number)

    async def program():
        for number in range(3):
            sim.spawn(child(number), name=f"child {number}")
        await sim.sleep(1)
        sim.close()
        await sim.sleep(1)

    sim.run_until_complete(program())
    assert log == [0, 1, 2]


class ProgramEnded(BaseException):
    """As a program of several tasks raises it in each of them when it dies."""


def test_the_end_of_a_program_ends_its_task_and_nothing_else():
    runtime = SimRuntime(seed=1)

    async def dies():
        await runtime.sleep(1)
        raise ProgramEnded

    async def lives():
        runtime.spawn(dies(), name="unjoined")
        joined = runtime.spawn(dies(), name="joined")
        with pytest.raises(ProgramEnded):
            await joined.join()
        await runtime.sleep(5)
        return runtime.now_ns()

    assert runtime.run_until_complete(lives()) == 6


@pytest.mark.parametrize("tie_break", ORDERS)
def test_processes_and_resources_of_simpy_run_beside_tasks_in_the_same_time(tie_break):
    sim, log = runtime(tie_break), []
    environment = sim.environment
    desk = simpy.Resource(environment, capacity=1)

    def customer(name, arrives_ns):
        yield environment.timeout(arrives_ns)
        with desk.request() as turn:
            yield turn
            log.append((name, environment.now))
            yield environment.timeout(10)

    async def program():
        environment.process(customer("one", 1))
        environment.process(customer("other", 2))
        await sim.sleep(5)
        log.append(("task", sim.now_ns()))
        await sim.sleep(100)

    sim.run_until_complete(program())
    assert log == [("one", 1), ("task", 5), ("other", 11)]


def test_a_process_of_simpy_that_fails_ends_the_run():
    sim = runtime()

    def fails():
        yield sim.environment.timeout(1)
        raise KeyError("gone")

    sim.environment.process(fails())
    with pytest.raises(KeyError, match="gone"):
        sim.run(for_ns=5)


def test_simpy_itself_can_run_what_is_scheduled():
    sim, fired = runtime(), []
    sim.call_later(3, lambda: fired.append(sim.now_ns()))
    assert sim.environment.peek() == 3
    sim.environment.run(until=7)
    assert (fired, sim.now_ns(), sim.environment.peek()) == ([3], 7, float("inf"))


def test_a_promise_takes_one_result():
    promise = runtime().promise()
    promise.set_result("one")
    with pytest.raises(RuntimeError, match="'one' and not 'other'"):
        promise.set_result("other")
