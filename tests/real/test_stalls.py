"""Goal: a stall of the lab's own process is noticed, and a free loop shows none to speak of. Method: block the loop."""

import asyncio
import gc
import time

import uvloop

from zonelab.cluster.real.stalls import StallMonitor
from zonelab.scenarios.run.on_servers import settled_heap

BLOCKED_S = 0.15


def block_the_loop() -> None:
    end = time.monotonic() + BLOCKED_S
    while time.monotonic() < end:
        pass


async def longest_stall_ms(*, watched: bool) -> float:
    monitor = StallMonitor(asyncio.get_running_loop())
    monitor.start()
    await asyncio.sleep(0.05)
    before_ms = monitor.longest_ms
    if not watched:
        monitor.stop()
    block_the_loop()
    await asyncio.sleep(0.05)
    monitor.stop()
    return monitor.longest_ms if watched else monitor.longest_ms - before_ms


def test_a_blocked_loop_is_a_stall_of_about_that_length():
    assert uvloop.run(longest_stall_ms(watched=True)) >= BLOCKED_S * 1000 - 25


def test_a_monitor_that_was_stopped_sees_no_more():
    assert uvloop.run(longest_stall_ms(watched=False)) == 0.0


def test_during_a_run_the_collector_leaves_alone_what_was_there_before():
    with settled_heap():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0


def test_of_few_looks_a_single_stall_is_the_99th_percentile():
    async def looks():
        monitor = StallMonitor(asyncio.get_running_loop())
        monitor.start()
        await asyncio.sleep(0.05)
        block_the_loop()
        await asyncio.sleep(0.05)
        monitor.stop()
        return monitor

    assert uvloop.run(looks()).p99_ms >= BLOCKED_S * 1000 - 25  # the one stall is more than a hundredth of so few looks
