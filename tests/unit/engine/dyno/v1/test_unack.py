"""Expired leases come back, all of them, with their priority; and nothing short of closing ends the handler.

Method: a simulated server with a clock that stands still for what is moved; for the rhythm of the handler a scripted
runtime whose sleeps take no time, and a connection that fails when told.
"""

import pytest
from support.engine.dyno import EPOCH_MS, SettableClock, make_queue
from support.engine.dyno_bench import LEASE_MS, Bench

from engine.dyno import UnackResult
from engine.message import Message
from engine.ports import Indeterminate, ServerError, Unavailable

MS = 1_000_000


def test_a_lease_is_left_alone_until_the_millisecond_in_which_it_ends(either):
    either.lease("x")
    either.clock.advance(LEASE_MS - 1)
    assert either(either.queue.process_unacks()) == UnackResult(requeued=0, stale=0, queue_depth=0)
    either.clock.advance(1)
    assert either(either.queue.process_unacks()) == UnackResult(requeued=1, stale=0, queue_depth=0)
    assert either(either.queue.process_unacks()) == UnackResult(requeued=0, stale=0, queue_depth=1)


def test_a_requeued_message_keeps_its_priority(bench):
    bench.lease(Message(id="p9", priority=9), Message(id="p3", priority=3))
    bench.clock.advance(LEASE_MS)
    bench(bench.queue.process_unacks())
    ends = EPOCH_MS + LEASE_MS
    assert bench.content().waiting == {"a": {"p3": pytest.approx(ends + 0.03, abs=3e-4), "p9": ends + 0.09}}
    assert bench.pop(2) == ["p3", "p9"]


def test_in_the_original_a_requeued_message_has_no_priority_left(original):
    original.lease(Message(id="p9", priority=9), Message(id="p3", priority=3))
    original.clock.advance(LEASE_MS)
    original(original.queue.process_unacks())
    assert original.content().waiting == {"a": {"p3": EPOCH_MS + LEASE_MS, "p9": EPOCH_MS + LEASE_MS}}


def test_a_requeued_message_with_an_unreadable_payload_is_not_dropped(bench):
    bench.lease("x")
    bench.store_payload("x", "nonsense")
    bench.clock.advance(LEASE_MS)
    assert bench(bench.queue.process_unacks()).requeued == 1
    assert bench.content().state("x") == "H Q:a"


def test_one_run_brings_back_more_than_a_batch(lab):
    bench = Bench(lab, unack_batch=10)
    bench.lease(*map(str, range(35)))
    bench.clock.advance(LEASE_MS)
    assert bench(bench.queue.process_unacks()).requeued == 35
    assert bench.queue.counters.requeued == 35


def test_one_run_of_the_original_brings_back_one_batch(lab):
    bench = Bench(lab, unack_batch=10, compat=True)
    bench.lease(*map(str, range(35)))
    bench.clock.advance(LEASE_MS)
    assert [bench(bench.queue.process_unacks()).requeued for _ in range(5)] == [10, 10, 10, 5, 0]


def test_only_the_own_shard_is_looked_after(bench):
    bench.lease("x")
    bench.clock.advance(LEASE_MS)
    assert bench(bench.another(shard="b").process_unacks()).requeued == 0
    assert bench(bench.queue.process_unacks()).requeued == 1


def test_what_a_lagging_local_replica_still_lists_is_not_requeued_twice_in_a_run(lab):
    """Otherwise a consumer's new lease, taken since, would be removed under it."""
    bench = Bench(lab, unack_batch=2)
    bench.lease("u", "v", "w")
    bench.clock.advance(LEASE_MS)
    lagging = Frozen(bench.direct)
    assert bench(bench.another(local=lagging).process_unacks()).requeued == 2
    assert lagging.reads == 2


class Frozen:
    """A replica that answers every range read like the first."""

    def __init__(self, inner):
        self._inner = inner
        self._first = None
        self.reads = 0

    async def execute(self, *commands):
        if commands[0][0] != "ZRANGEBYSCORE":
            return await self._inner.execute(*commands)
        self.reads += 1
        self._first = self._first or await self._inner.execute(*commands)
        return self._first


class Ended(BaseException):
    """The script of the runtime is over."""


class ScriptedRuntime:
    """Sleeps at once, and ends the only task at the sleep after ``sleeps``."""

    def __init__(self, sleeps):
        self.slept_ms = []
        self._sleeps = sleeps
        self._now_ns = 0
        self.task = None

    def now_ns(self):
        return self._now_ns

    def take(self, duration_ms):
        self._now_ns += duration_ms * MS

    async def sleep(self, duration_ns):
        if len(self.slept_ms) == self._sleeps:
            raise Ended
        self.slept_ms.append(duration_ns / MS)
        self._now_ns += duration_ns

    def spawn(self, coroutine, *, name):
        self.task = ScriptedTask(coroutine)
        return self.task

    def run(self):
        with pytest.raises(Ended):
            self.task.coroutine.send(None)


class ScriptedTask:
    def __init__(self, coroutine):
        self.coroutine = coroutine
        self.error = None
        self.cancelled = False

    def cancel(self):
        self.cancelled = True
        self.coroutine.close()

    def done(self):
        return self.error is not None

    async def join(self):
        raise self.error


class ScriptedConnection:
    """Answers with nothing, raises or returns in turn what it is given, and lets each command take ``takes_ms``."""

    def __init__(self, runtime, outcomes=(), takes_ms=0):
        self._runtime = runtime
        self._outcomes = list(outcomes)
        self._takes_ms = takes_ms

    async def execute(self, *commands):
        self._runtime.take(self._takes_ms)
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if isinstance(outcome, ServerError):
            return [outcome]
        if outcome is not None:
            raise outcome
        return [[] if commands[0][0] == "ZRANGEBYSCORE" else 0]


def scripted_queue(runtime, **connection):
    connection = ScriptedConnection(runtime, **connection)
    return make_queue(connection, runtime=runtime, clock=SettableClock(), shards=("a",), unack_interval_ms=100)


def start(queue):
    with pytest.raises(StopIteration):
        queue.start().send(None)


def test_the_handler_runs_at_a_fixed_rate_beginning_after_one_interval():
    runtime = ScriptedRuntime(sleeps=4)
    queue = scripted_queue(runtime, takes_ms=15)  # two commands a run
    start(queue)
    runtime.run()
    assert runtime.slept_ms == [100, 70, 70, 70]
    assert (queue.unack_handler.runs, queue.unack_handler.failures) == (4, 0)


def test_runs_that_are_overdue_are_skipped_and_the_rhythm_is_kept():
    runtime = ScriptedRuntime(sleeps=3)
    queue = scripted_queue(runtime, takes_ms=125)
    start(queue)
    runtime.run()
    assert runtime.slept_ms == [100, 50, 50]


@pytest.mark.parametrize("error", [Unavailable("down"), Indeterminate("timed out"), ServerError("LOADING")])
def test_the_handler_survives_every_failure_of_a_command_and_remembers_it(error):
    runtime = ScriptedRuntime(sleeps=5)
    queue = scripted_queue(runtime, outcomes=[None, error, error, None, None])
    start(queue)
    runtime.run()
    handler = queue.unack_handler
    assert (handler.runs, handler.failures, handler.last_error) == (5, 2, error)


def test_a_defect_ends_the_handler_and_close_raises_it():
    runtime = ScriptedRuntime(sleeps=5)
    queue = scripted_queue(runtime, outcomes=[ZeroDivisionError("a defect")])
    start(queue)
    with pytest.raises(ZeroDivisionError) as raised:
        runtime.task.coroutine.send(None)
    runtime.task.error = raised.value
    with pytest.raises(ZeroDivisionError, match="a defect"):
        queue.close().send(None)


def test_close_stops_the_handler_and_may_be_repeated():
    runtime = ScriptedRuntime(sleeps=5)
    queue = scripted_queue(runtime)
    start(queue)
    for _ in range(2):
        with pytest.raises(StopIteration):
            queue.close().send(None)
    assert runtime.task.cancelled


def test_the_handler_cannot_be_started_twice():
    queue = scripted_queue(ScriptedRuntime(sleeps=0))
    start(queue)
    with pytest.raises(RuntimeError, match="already running"):
        queue.start().send(None)
    queue.unack_handler._task.coroutine.close()


def test_the_handler_brings_messages_back_while_the_program_goes_on(lab):
    bench = Bench(lab, unack_interval_ms=5)

    async def wait_for_redelivery():
        async with bench.queue:
            await bench.queue.push([Message(id="x")])
            await bench.queue.pop(1)
            bench.clock.advance(LEASE_MS)
            return await bench.queue.pop(1, wait_ms=30_000)

    (delivery,) = lab.run(wait_for_redelivery())
    assert delivery.message.id == "x"
    assert bench.queue.counters.requeued == 1
