"""Timers as a program: they scan by themselves, survive errors, and stop in order.

Method: started on one simulated server; simulated time passes while the tests wait.
"""

import pytest
from support.engine.dyno import CuttingConnection, Interceptor
from support.engine.youzan import YouzanBench

NS_PER_MS = 1_000_000


def ready_after(bench, duration_ms):
    bench.push("x")
    bench.run(bench.timers.start())
    bench.run(bench.lab.runtime.sleep(duration_ms * NS_PER_MS))
    bench.run(bench.timers.close())
    return bench.state() == "PR"


@pytest.mark.parametrize(("compat", "scan_ms"), [(False, 100), (True, 1_000)], ids=["default", "compat"])
def test_a_job_is_ready_after_a_scan_interval(lab, compat, scan_ms):
    assert ready_after(YouzanBench(lab, compat=compat), scan_ms + 20)


def test_the_original_scans_for_the_first_time_after_a_second(original):
    assert not ready_after(original, 999)


def test_timers_go_on_after_an_error(lab, bench):
    bench.push("x")
    connection = CuttingConnection(bench.direct)
    connection.cut(after_pipelines=0, applied=None)
    timers = bench.program("t1", connection)
    bench.run(timers.start())
    bench.run(lab.runtime.sleep(150 * NS_PER_MS))
    connection.mend()
    bench.run(lab.runtime.sleep(150 * NS_PER_MS))
    assert bench.state() == "PR"
    bench.run(timers.close())


@pytest.mark.parametrize(("compat", "left"), [(False, ("PR", "PB")), (True, ("PBR", "PB"))], ids=["default", "compat"])
def test_a_stop_ends_after_the_job_at_hand_and_gives_back_the_lock(lab, compat, left):
    """``x`` is being made ready when the stop comes, ``y`` is due, too."""
    bench = YouzanBench(lab, compat=compat, buckets=1, scan_interval_ms=10)
    bench.push("x", "y")
    timers = []

    async def stop():
        lab.runtime.spawn(timers[0].close(), name="stop")
        await lab.runtime.sleep(5 * NS_PER_MS)

    timers.append(bench.program("t1", Interceptor(bench.direct, "ZREM", stop)))
    bench.run(timers[0].start())
    bench.run(lab.runtime.sleep(100 * NS_PER_MS))
    assert (bench.state("x"), bench.state("y")) == left
    assert bench.redis("EXISTS", bench.keys.lock(1)) == 0


def test_timers_can_be_started_again(lab, bench):
    bench.run(bench.timers.start())
    bench.run(bench.timers.close())
    bench.push("x")
    bench.run(bench.timers.start())
    bench.run(lab.runtime.sleep(150 * NS_PER_MS))
    assert bench.state() == "PR"
    bench.run(bench.timers.close())
