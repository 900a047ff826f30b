"""Goal: a node's clock shows true time plus the offset that faults gave it. Method: run time moved by hand."""

from zonelab.cluster.clock import NodeClock


class Run:
    def __init__(self):
        self.now_ns = 0

    def clock(self):
        return NodeClock(epoch_ns=10**18, run_ns=lambda: self.now_ns)


def test_without_faults_it_shows_the_epoch_plus_run_time():
    run = Run()
    clock = run.clock()
    run.now_ns = 1_999_999
    assert clock.now_ns() == 10**18 + 1_999_999
    assert clock.now_ms() == 10**12 + 1
    assert clock.now_us() == 10**15 + 1_999


def test_a_jump_moves_it_once_in_either_direction():
    run = Run()
    clock = run.clock()
    clock.jump(-5_000_000)
    assert clock.offset_ns == -5_000_000
    run.now_ns = 10**9
    assert clock.offset_ns == -5_000_000
    clock.jump(7_000_000)
    assert clock.offset_ns == 2_000_000


def test_a_drift_adds_up_from_when_it_began_and_what_it_made_stays():
    run = Run()
    clock = run.clock()
    run.now_ns = 5 * 10**9
    clock.drift(ppm=100)
    assert clock.offset_ns == 0
    run.now_ns += 10**9
    assert clock.offset_ns == 100_000
    clock.drift(ppm=-50)
    run.now_ns += 2 * 10**9
    assert clock.offset_ns == 0


def test_correcting_it_brings_true_time_back():
    run = Run()
    clock = run.clock()
    clock.jump(3)
    clock.drift(ppm=500)
    run.now_ns = 10**9
    clock.correct()
    run.now_ns = 2 * 10**9
    assert clock.now_ns() == 10**18 + 2 * 10**9
