"""Goal: one timer watches all requests of a connection. Method: deadlines in virtual time, timers counted."""

from support.cluster.timers import CountedTimers

from cluster.connections.deadlines import Deadlines


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

    def add(self, deadline_ns):
        self.requests.append(deadline_ns)
        self.deadlines.watch(deadline_ns)

    def run(self, duration_ns=1_000):
        self.runtime.run(for_ns=duration_ns)


def test_a_request_that_is_not_answered_expires_at_its_deadline():
    watched = Watched()
    watched.add(50)
    watched.run()
    assert watched.expired_at == [50]


def test_an_answered_request_does_not_expire():
    watched = Watched()
    watched.add(50)
    watched.requests.clear()
    watched.run()
    assert watched.expired_at == []


def test_many_requests_cost_one_timer_until_it_fires_and_then_the_earliest_left_is_watched():
    watched = Watched()
    for deadline_ns in range(50, 80):
        watched.add(deadline_ns)
    assert watched.runtime.timers == 1
    watched.requests[:] = [70, 79]
    watched.run()
    assert (watched.expired_at, watched.runtime.timers) == ([70], 2)


def test_a_later_request_with_an_earlier_deadline_is_watched_too():
    watched = Watched()
    watched.add(252)
    watched.add(52)
    watched.run()
    assert watched.expired_at == [52]


def test_after_everything_was_dropped_only_new_requests_count():
    watched = Watched()
    watched.add(50)
    watched.deadlines.clear()
    watched.requests.clear()
    watched.add(70)
    watched.run()
    assert watched.expired_at == [70]


def test_a_deadline_that_has_passed_already_expires_at_once():
    watched = Watched()
    watched.run(100)
    watched.add(50)
    watched.run()
    assert watched.expired_at == [100]


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
