"""Goal: what V1 and V2 answer holds without a real server, too.

Method: one simulated server, a clock that stands still, and another program that comes between two commands.
"""

import pytest
from support.engine.dyno import BreakingConnection, Interceptor, SettableClock
from support.engine.dyno_bench import LEASE_MS, Bench, ids, messages
from support.engine.dyno_v2 import CuttingConnection, Refusing, make_pipelined, shard_content

from engine.common.mutex import Mutex
from engine.dyno.v2 import BatchPushIndeterminate
from engine.message import Message
from engine.ports import Indeterminate

MS = 1_000_000


@pytest.fixture
def bench(lab):
    return Bench(lab)


def test_ensure_pushes_neither_what_waits_nor_what_is_leased(bench):
    assert bench(bench.queue.ensure(Message(id="x"))) is True
    assert bench(bench.queue.ensure(Message(id="x"))) is False
    assert ids(bench(bench.queue.pop(1))) == ["x"]
    assert bench(bench.queue.ensure(Message(id="x"))) is False
    assert bench.states("x") == ["H U:a"]


def test_an_extension_without_a_lease_is_told_as_refused(bench):
    assert bench(bench.queue.set_unack_timeout("x", timeout_ms=5)) is False
    bench.push(Message(id="x"))
    assert bench(bench.queue.set_unack_timeout("x", timeout_ms=5)) is False
    bench(bench.queue.pop(1))
    assert bench(bench.queue.set_unack_timeout("x", timeout_ms=5)) is True


def test_a_bulk_pop_counts_as_misses_what_it_could_not_lease(bench):
    bench.push(*messages("x", "y"))
    assert ids(bench(bench.queue.bulk_pop(1))) == ["x"]
    assert bench.queue.counters.misses == 0


def test_a_bulk_pop_leases_nothing_that_is_not_due_any_more(bench):
    bench.push(Message(id="x"))

    async def put_off():
        assert await bench.another().set_timeout("x", timeout_ms=5_000)

    queue = bench.another(Interceptor(bench.direct, "EVAL", put_off))
    assert ids(bench(queue.bulk_pop(1))) == []
    assert bench.states("x") == ["H Q:a"]


def test_a_pop_goes_on_waiting_if_others_take_what_was_due(bench):
    bench.push(Message(id="x"))

    async def take_and_push():
        assert ids(await bench.another().pop(1)) == ["x"]
        bench.lab.runtime.spawn(later(), name="later")

    async def later():
        await bench.lab.runtime.sleep(20 * MS)
        await bench.another().push(messages("y"))

    queue = bench.another(Interceptor(bench.direct, "ZADD", take_and_push))
    assert ids(bench(queue.pop(1, wait_ms=500))) == ["y"]


def test_a_retried_ack_spares_the_payload_of_what_waits_again(bench):
    bench.push(Message(id="x"))
    breaking = BreakingConnection(bench.direct)
    queue = bench.another(breaking)
    bench(queue.pop(1))
    breaking.break_after(0, Indeterminate("late"), applied=False)
    with pytest.raises(Indeterminate):
        bench(queue.ack("x"))
    breaking.mend()
    bench.clock.advance(LEASE_MS + 1)
    assert bench(queue.process_unacks()).requeued == 1
    assert bench(queue.ack("x")) is False
    assert bench.states("x") == ["H Q:a"]


def test_a_message_that_is_pushed_anew_has_nothing_of_an_ack_before_it(bench):
    bench.push(Message(id="x"))
    breaking = BreakingConnection(bench.direct)
    queue = bench.another(breaking)
    bench(queue.pop(1))
    breaking.break_after(1, Indeterminate("late"), applied=True)
    with pytest.raises(Indeterminate):
        bench(queue.ack("x"))
    breaking.mend()
    bench(queue.push(messages("x")))
    assert bench(queue.ack("x")) is False
    assert bench.states("x") == ["H Q:a"]


class Lagging:
    """A replica that repeats what it was first asked for, so many times."""

    def __init__(self, inner, *, name, times):
        self._inner, self._name, self._times = inner, name, times
        self._first = None

    async def execute(self, *commands):
        if commands[0][0] != self._name or self._times == 0:
            return await self._inner.execute(*commands)
        self._times -= 1
        if self._first is None:
            self._first = await self._inner.execute(*commands)
        return self._first


def test_what_a_lagging_replica_still_lists_is_not_moved_again(bench):
    """Moved twice it could be delivered in between, and then once more."""
    bench.push(Message(id="x"))
    counted = BreakingConnection(bench.direct)
    lagging = Lagging(bench.direct, name="ZRANGEBYSCORE", times=3)
    bench(bench.queue.pop(1))
    bench.clock.advance(LEASE_MS + 1)
    handler = bench.another(counted, local=lagging, unack_batch=1)
    assert bench(handler.process_unacks()).requeued == 1
    assert [command[0] for command in counted.sent].count("ZADD") == 1


class Pipelined:
    def __init__(self, lab):
        self.lab = lab
        self.clock = SettableClock()
        self.direct = lab.direct("a")
        self.queue = self.on(self.direct)

    def on(self, connection):
        name = self.queue.name if hasattr(self, "queue") else None
        return make_pipelined(connection, name=name, runtime=self.lab.runtime, clock=self.clock, unack_ms=LEASE_MS)

    def __call__(self, operation):
        return self.lab.run(operation)

    def state(self, message_id):
        return self(shard_content(self.direct, self.queue.keys)).state(message_id)


@pytest.fixture
def pipelined(lab):
    return Pipelined(lab)


def test_a_retried_batch_ack_spares_the_payload_of_what_waits_again(pipelined):
    cut = CuttingConnection(pipelined.direct)
    queue = pipelined.on(cut)
    pipelined(queue.push(messages("x")))
    pipelined(queue.pop(1))
    cut.cut(after_pipelines=0, applied=0)
    with pytest.raises(Indeterminate):
        pipelined(queue.ack("x"))
    cut.mend()
    pipelined.clock.advance(LEASE_MS + 1)
    assert pipelined(queue.process_unacks()).requeued == 1
    assert pipelined(queue.ack("x")) is False
    assert pipelined.state("x") == "H Q"


def test_a_message_pushed_by_half_beside_one_that_was_refused_is_in_doubt(pipelined):
    half = Refusing(pipelined.direct, names=("ZADD",), message_id="y")
    queue = pipelined.on(Refusing(half, names=("HSET", "ZADD"), message_id="x"))
    with pytest.raises(BatchPushIndeterminate) as raised:
        pipelined(queue.push(messages("x", "y", "z")))
    assert raised.value.failed_ids == ("x", "y")
    assert [pipelined.state(name) for name in "xyz"] == ["-", "H", "H Q"]


def test_a_mutex_lets_one_through_at_a_time_whoever_comes_when_the_turn_is_passed_on(lab):
    mutex, inside, most = Mutex(lab.runtime), [], []

    async def work(begin_ms):
        await lab.runtime.sleep(begin_ms * MS)
        async with mutex:
            inside.append(begin_ms)
            most.append(len(inside))
            await lab.runtime.sleep(10 * MS)
            inside.remove(begin_ms)

    async def program():
        tasks = [lab.runtime.spawn(work(begin_ms), name="work") for begin_ms in (0, 1, 12, 13)]
        for task in tasks:
            await task.join()

    lab.run(program())
    assert most == [1, 1, 1, 1]
