"""Goal: a halt wakes every sleeper at once, and no task's end, good or bad, goes unnoticed.

Method: virtual time, so that every duration is exact.
"""

import pytest

from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.scenarios.tasks import Halt, TaskGroup, until_quiet

S = 1_000_000_000


@pytest.fixture
def runtime() -> SimRuntime:
    return SimRuntime(seed=1)


def test_a_sleep_that_nobody_halts_lasts_as_long_as_asked(runtime: SimRuntime) -> None:
    assert runtime.run_until_complete(Halt(runtime).sleep(3 * S)) is False
    assert runtime.now_ns() == 3 * S


def test_an_interruption_wakes_every_sleeper_and_lets_nobody_sleep_again(runtime: SimRuntime) -> None:
    halt = Halt(runtime)
    woken: list[tuple[int, bool]] = []

    async def sleeper(duration_ns: int) -> None:
        halted = await halt.sleep(duration_ns)
        woken.append((runtime.now_ns(), halted))

    for seconds in (1, 5, 9):
        runtime.spawn(sleeper(seconds * S), name="sleeper")
    runtime.call_later(2 * S, halt.interrupt)
    runtime.run(for_ns=20 * S)
    assert woken == [(1 * S, False), (2 * S, True), (2 * S, True)]
    assert runtime.run_until_complete(halt.sleep(5 * S)) is True
    assert halt.interrupted
    assert halt.error is None


def test_the_first_error_is_the_one_that_counts(runtime: SimRuntime) -> None:
    halt = Halt(runtime)
    first = ValueError("first")
    halt.fail(first)
    halt.fail(ValueError("second"))
    assert halt.error is first


def test_an_exception_in_a_task_halts_the_run(runtime: SimRuntime) -> None:
    halt = Halt(runtime)
    group = TaskGroup(runtime, halt)

    async def fails() -> None:
        raise OSError(28, "No space left on device")

    group.spawn(fails(), name="fails")
    runtime.run(for_ns=1 * S)
    assert isinstance(halt.error, OSError)
    assert len(group) == 0


def test_waiting_ends_with_the_last_task_or_at_the_bound(runtime: SimRuntime) -> None:
    group = TaskGroup(runtime, Halt(runtime))
    for seconds in (1, 4):
        group.spawn(runtime.sleep(seconds * S), name="sleep")
    assert runtime.run_until_complete(group.wait(2.0)) is False
    assert runtime.run_until_complete(group.wait(10.0)) is True
    assert runtime.now_ns() == pytest.approx(4 * S, abs=2_000_000)


def test_dismissal_cancels_what_is_left_and_waits_for_its_end(runtime: SimRuntime) -> None:
    group = TaskGroup(runtime, Halt(runtime))
    tidied: list[int] = []

    async def tidy() -> None:
        try:
            await runtime.sleep(1000 * S)
        finally:
            await runtime.sleep(1 * S)
            tidied.append(runtime.now_ns())

    group.spawn(tidy(), name="tidy")
    runtime.run(for_ns=5 * S)
    runtime.run_until_complete(group.dismiss())
    assert tidied == [6 * S]
    assert len(group) == 0


@pytest.mark.parametrize(
    ("readings", "deadline_ns", "quiet", "asked"),
    [
        ([True, True], S, True, 2),
        ([True, False, True, True], S, True, 4),
        ([True, False] * 20, S, False, 10),
        ([True, True], S // 20, False, 1),
        ([], 0, False, 0),
    ],
)
def test_what_is_quiet_once_may_not_be_at_rest(runtime: SimRuntime, readings, deadline_ns, quiet, asked) -> None:
    told = iter(readings)

    async def is_quiet() -> bool:
        return next(told)

    waiting = until_quiet(is_quiet, runtime=runtime, deadline_ns=deadline_ns)
    assert runtime.run_until_complete(waiting) is quiet
    assert len(readings) - len(list(told)) == asked


def test_nobody_waits_for_quiet_once_halted(runtime: SimRuntime) -> None:
    halt = Halt(runtime)

    async def is_quiet() -> bool:
        return False

    runtime.call_later(2 * S, halt.interrupt)
    waiting = until_quiet(is_quiet, runtime=runtime, deadline_ns=60 * S, sleep=halt.sleep)
    assert runtime.run_until_complete(waiting) is False
    assert runtime.now_ns() == 2 * S
