"""Expired leases come back; and nothing short of closing ends the handler, which keeps its rhythm.

Method: a simulated server with a clock that stands still for what is moved; for the rhythm of the handler the virtual
time of the simulation, and a connection that takes its time and fails when told.
"""

import pytest
from support.engine.dyno import SettableClock, make_queue
from support.engine.dyno_bench import LEASE_MS, DynoBench

from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.dyno import UnackResult
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, ServerError, Unavailable

MS = 1_000_000


def test_a_lease_is_left_alone_until_the_millisecond_in_which_it_ends(either):
    either.lease("x")
    either.clock.advance(LEASE_MS - 1)
    assert either(either.queue.process_unacks()) == UnackResult(requeued=0, stale=0, queue_depth=0)
    either.clock.advance(1)
    assert either(either.queue.process_unacks()) == UnackResult(requeued=1, stale=0, queue_depth=0)
    assert either(either.queue.process_unacks()) == UnackResult(requeued=0, stale=0, queue_depth=1)
    assert either.queue.counters.requeued == 1


def test_a_requeued_message_with_an_unreadable_payload_is_not_dropped(bench):
    bench.lease("x")
    bench.store_payload("x", "nonsense")
    bench.clock.advance(LEASE_MS)
    assert bench(bench.queue.process_unacks()).requeued == 1
    assert bench.content().state("x") == "H Q:a"


def test_what_a_lagging_local_replica_still_lists_is_not_requeued_twice_in_a_run(lab):
    """Otherwise a consumer's new lease, taken since, would be removed under it."""
    bench = DynoBench(lab, unack_batch=2)
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


class Scripted:
    """Answers with nothing, raises or returns in turn what it is given; each command takes ``takes_ms``.

    ``runs_ms``: when each run of the handler began.
    """

    def __init__(self, runtime, outcomes=(), takes_ms=0):
        self._runtime, self._outcomes, self._takes_ms = runtime, list(outcomes), takes_ms
        self._begin_ns, self.runs_ms = runtime.now_ns(), []

    async def execute(self, *commands):
        if commands[0][0] == "ZCARD":
            self.runs_ms.append((self._runtime.now_ns() - self._begin_ns) // MS)
        await self._runtime.sleep(self._takes_ms * MS)
        outcome = self._outcomes.pop(0) if self._outcomes else None
        if isinstance(outcome, ServerError):
            return [outcome]
        if outcome is not None:
            raise outcome
        return [[] if commands[0][0] == "ZRANGEBYSCORE" else 0]


@pytest.fixture
def handled(lab):
    """Connection and handler of a queue whose handler had every 100 ms for a run, ``for_ms`` long."""

    def handled(*, for_ms, **connection):
        scripted = Scripted(lab.runtime, **connection)
        queue = make_queue(scripted, runtime=lab.runtime, clock=SettableClock(), shards=("a",), unack_interval_ms=100)

        async def program():
            await queue.start()
            with pytest.raises(RuntimeError, match="already running"):
                await queue.start()
            await lab.runtime.sleep(for_ms * MS)
            for _ in range(2):
                await queue.close()
            runs = len(scripted.runs_ms)
            await lab.runtime.sleep(300 * MS)
            assert len(scripted.runs_ms) == runs

        lab.run(program())
        return scripted, queue.unack_handler

    return handled


@pytest.mark.parametrize(
    ("takes_ms", "runs_ms"),
    [
        (15, [100, 200, 300, 400]),  # two commands a run
        (125, [100, 400]),  # those that are overdue are skipped
    ],
)
def test_the_handler_runs_at_a_fixed_rate_beginning_after_one_interval(handled, takes_ms, runs_ms):
    scripted, handler = handled(for_ms=450, takes_ms=takes_ms)
    assert scripted.runs_ms == runs_ms
    assert handler.failures == 0


@pytest.mark.parametrize("error", [Unavailable("down"), Indeterminate("timed out"), ServerError("LOADING")])
def test_the_handler_survives_every_failure_of_a_command_and_remembers_it(handled, error):
    _, handler = handled(for_ms=550, outcomes=[None, error, error, None, None])
    assert (handler.runs, handler.failures, handler.last_error) == (5, 2, error)


def test_a_defect_ends_the_handler_and_is_raised():
    runtime = SimRuntime(seed=1)
    scripted = Scripted(runtime, outcomes=[ZeroDivisionError("a defect")])
    queue = make_queue(scripted, runtime=runtime, clock=SettableClock(), shards=("a",), unack_interval_ms=100)

    async def program():
        await queue.start()
        await runtime.sleep(500 * MS)

    with pytest.raises(ZeroDivisionError, match="a defect"):
        runtime.run_until_complete(program())
    assert scripted.runs_ms == [100]


def test_the_handler_brings_messages_back_while_the_program_goes_on(lab):
    bench = DynoBench(lab, unack_interval_ms=5)

    async def wait_for_redelivery():
        async with bench.queue:
            await bench.queue.push([Message(id="x")])
            await bench.queue.pop(1)
            bench.clock.advance(LEASE_MS)
            return await bench.queue.pop(1, wait_ms=30_000)

    (delivery,) = lab.run(wait_for_redelivery())
    assert delivery.message.id == "x"
    assert bench.queue.counters.requeued == 1
