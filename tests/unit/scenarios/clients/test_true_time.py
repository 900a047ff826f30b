"""Goal: what was read from a wrong clock is put right, also if it went wrong meanwhile. Method: a clock set by hand."""

import pytest

from zonelab.cluster.clock import NodeClock
from zonelab.scenarios.clients.true_time import ClockReading

MS = 1_000_000


class Run:
    def __init__(self) -> None:
        self.now_ns = 0
        self.clock = NodeClock(epoch_ns=10**18, run_ns=lambda: self.now_ns)

    def pass_ms(self, duration_ms: int) -> None:
        self.now_ns += duration_ms * MS


def test_a_clock_that_is_right_is_not_ahead() -> None:
    run = Run()
    reading = ClockReading.of(run.clock)
    run.pass_ms(10)
    assert reading.ahead_ms(run.clock.now_ms()) == 0


@pytest.mark.parametrize("offset_ms", [5_000, 30, -30, -5_000])
@pytest.mark.parametrize("read_after_the_jump", [False, True])
def test_what_is_read_before_or_after_a_jump_is_told_apart(offset_ms: int, *, read_after_the_jump: bool) -> None:
    run = Run()
    reading = ClockReading.of(run.clock)
    run.pass_ms(5)
    read_ms = run.clock.now_ms()
    run.clock.jump(offset_ms * MS)
    if read_after_the_jump:
        read_ms = run.clock.now_ms()
    run.pass_ms(5)
    assert reading.ahead_ms(read_ms) == (offset_ms if read_after_the_jump else 0)


def test_a_drift_is_told_to_the_millisecond() -> None:
    run = Run()
    run.clock.drift(ppm=100_000)
    run.pass_ms(1_000)
    reading = ClockReading.of(run.clock)
    run.pass_ms(10)
    assert reading.ahead_ms(run.clock.now_ms()) in (100, 101)
