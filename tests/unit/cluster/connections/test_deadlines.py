"""Goal: one timer watches all requests of a connection. Method: deadlines in virtual time, timers counted."""

import pytest
from support.cluster.timers import CountedTimers

from zonelab.cluster.connections.deadlines import Deadlines


class Watched:
    """Requests as a list of deadlines, and when each look found one expired."""

    def __init__(self, runtime=None):
        self.runtime = runtime or CountedTimers()
        self.requests = []
        self.expired_at = []
        self.deadlines = Deadlines(runtime=self.runtime, earliest_ns=self.earliest, expired=self.expire)

    def earliest(self):
        return min(self.requests, default=None)

    def expire(self):
        self.expired_at.append(self.runtime.now_ns())
        self.requests.clear()

    def add(self, *deadlines_ns):
        for deadline_ns in deadlines_ns:
            self.requests.append(deadline_ns)
            self.deadlines.watch(deadline_ns)

    def run(self, duration_ns=1_000):
        self.runtime.run(for_ns=duration_ns)


@pytest.mark.parametrize(
    ("added", "left", "expired_at", "timers"),
    [
        pytest.param([50], [50], [50], 1, id="what is not answered expires at its deadline"),
        pytest.param([50], [], [], 1, id="what is answered does not expire"),
        pytest.param([*range(50, 80)], [70, 79], [70], 2, id="one timer watches many, then the earliest that is left"),
        pytest.param([252, 52], [252, 52], [52], 2, id="a later request may have an earlier deadline"),
        pytest.param([-50], [-50], [0], 1, id="a deadline that has passed expires at once"),
    ],
)
def test_requests_expire_at_their_deadlines(added, left, expired_at, timers):
    watched = Watched()
    watched.run(100)
    watched.add(*(100 + deadline_ns for deadline_ns in added))
    watched.requests[:] = [100 + deadline_ns for deadline_ns in left]
    watched.run()
    assert watched.expired_at == [100 + time_ns for time_ns in expired_at]
    assert watched.runtime.timers == timers


def test_after_everything_was_dropped_only_new_requests_count():
    watched = Watched()
    watched.add(50)
    watched.deadlines.clear()
    watched.requests.clear()
    watched.add(70)
    watched.run()
    assert watched.expired_at == [70]


MS = 1_000_000


class LateRuntime(CountedTimers):
    """Its process did not get to run for ``stalled_ns``, so timers that were set before fire so much later."""

    stalled_ns = 0

    def now_ns(self):
        return super().now_ns() + self.stalled_ns


class WatchedLate(Watched):
    """``each_ns``: the process stalls so long before every look."""

    def __init__(self, *, each_ns=0):
        super().__init__(LateRuntime())
        self.each_ns = each_ns

    def earliest(self):
        self.runtime.stalled_ns += self.each_ns
        return super().earliest()


def test_a_request_whose_reply_waits_to_be_read_does_not_expire_because_the_process_was_late():
    watched = WatchedLate()
    watched.add(50 * MS)
    watched.runtime.stalled_ns = 100 * MS
    watched.runtime.call_later(60 * MS, watched.requests.clear)
    watched.run(10_000 * MS)
    assert watched.expired_at == []


def test_a_request_that_is_not_answered_gets_as_much_time_again_as_the_process_was_late():
    watched = WatchedLate()
    watched.add(50 * MS)
    watched.runtime.stalled_ns = 100 * MS
    watched.run(10_000 * MS)
    assert watched.expired_at == [250 * MS]


def test_a_process_that_is_always_late_has_time_outs_all_the_same():
    watched = WatchedLate(each_ns=100 * MS)
    watched.add(50 * MS)
    watched.run(60_000 * MS)
    assert len(watched.expired_at) == 1
