"""What the pipelined queue answers, and what it leaves behind. What the original does otherwise is in test_differences.

Method: one simulated server whose clock is set by the test, and a connection that is cut or answers with errors.
"""

import pytest
from support.engine.dyno import EPOCH_MS
from support.engine.dyno_bench import ids
from support.engine.dyno_v2 import LEASE_MS, Refusing

from zonelab.engine.dyno import DynoQueue, PayloadError
from zonelab.engine.dyno.v1.blocking import BlockingDynoQueue, BlockingQueue
from zonelab.engine.dyno.v2 import UnsupportedOperation
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, ServerError

MS = 1_000_000


def test_a_pop_that_waits_sees_what_is_pushed_meanwhile(bench):
    bench.later(300, lambda: bench.another().push([Message(id="x")]))
    begin_ns = bench.lab.runtime.now_ns()
    assert bench.pop(1, wait_ms=60_000) == ["x"]
    assert bench.lab.runtime.now_ns() - begin_ns < 1000 * MS


def test_pops_of_one_object_side_by_side_share_out_what_is_due(default):
    default.push(*(f"m{number}" for number in range(10)))

    async def two_pops():
        runtime = default.lab.runtime
        tasks = [runtime.spawn(default.queue.pop(5), name="pop") for _ in range(2)]
        return [ids(await task.join()) for task in tasks]

    one, other = default.run(two_pops())
    assert len(one) == len(other) == 5
    assert sorted(one + other) == sorted(f"m{number}" for number in range(10))
    assert default.queue.counters.misses == 0


def test_set_timeout_to_the_time_it_has_is_no_failure(bench):
    bench.push("x", timeout_ms=500, priority=9)
    assert bench.run(bench.queue.set_timeout("x", timeout_ms=500)) is True
    assert bench.content().waiting == {"x": EPOCH_MS + 500.09}


def test_set_timeout_of_what_is_leased_or_unknown_says_false(bench):
    bench.push("x")
    bench.pop()
    assert bench.run(bench.queue.set_timeout("x", timeout_ms=5)) is False
    assert bench.run(bench.queue.set_timeout("nobody", timeout_ms=5)) is False
    assert bench.state("x") == "H U"


def test_the_handler_has_no_cap_and_drops_leases_whose_payload_is_gone(bench):
    bench.push(*(f"m{number}" for number in range(70)))
    small = bench.another(unack_batch=2)
    assert len(bench.run(small.pop(70))) == 70
    bench.run(bench.direct.execute(("HDEL", bench.queue.keys.payload_of("m7"), "m7")))
    bench.clock.advance(LEASE_MS)
    found = bench.run(small.process_unacks())
    assert (found.requeued, found.stale, len(bench.content().waiting)) == (69, 1, 69)
    assert bench.state("m7") == "-"


def test_a_handler_that_died_can_be_started_again(original):
    async def twice():
        original.connection.cut(after_pipelines=0, applied=None)
        await original.queue.start()
        with pytest.raises(RuntimeError, match="already running"):
            await original.queue.start()
        await original.lab.runtime.sleep(150 * MS)
        original.connection.mend()
        await original.queue.close()
        await original.queue.start()
        await original.lab.runtime.sleep(150 * MS)
        await original.queue.close()

    original.run(twice())
    assert (original.queue.unack_handler.runs, original.queue.unack_handler.failures) == (2, 1)


def test_a_pop_whose_only_payload_is_no_message_raises(default):
    default.push("x")
    default.run(default.direct.execute(("HSET", default.queue.keys.payload_of("x"), "x", "[]")))
    with pytest.raises(PayloadError):
        default.pop()


def test_a_step_of_which_the_server_refuses_a_part_is_indeterminate_and_one_refused_whole_an_error(bench):
    bench.push("x", "y")
    bench.pop()
    refusing = bench.another(Refusing(bench.direct, names=("ZREM",), message_id="x"))
    with pytest.raises(Indeterminate):
        bench.run(refusing.ack_all(["x", "y"]))
    with pytest.raises(ServerError):
        bench.run(refusing.ack("x"))


def test_ensure_looks_at_both_places_and_does_not_exist_in_the_original(default, original):
    x = Message(id="x")
    assert original.outcome(original.queue.ensure(x)) == "UnsupportedOperation"
    assert [default.run(default.queue.ensure(x)), default.run(default.queue.ensure(x))] == [True, False]
    assert default.pop() == ["x"]
    assert default.run(default.queue.ensure(x)) is False


FURTHER = sorted({*dir(BlockingDynoQueue)} - {*dir(BlockingQueue)})


@pytest.mark.parametrize("name", FURTHER)
def test_what_only_v1_supports_is_refused_by_name(bench, name):
    assert callable(getattr(DynoQueue, name))
    with pytest.raises(UnsupportedOperation, match=name):
        bench.run(getattr(bench.queue, name)("anything"))


def test_count_below_one_pops_and_peeks_nothing(bench):
    bench.push("x")
    assert bench.pop(0) == []
    assert bench.run(bench.queue.peek(0)) == []
    assert bench.state("x") == "H Q"


def test_a_delivered_message_names_its_shard(bench):
    bench.push("x")
    (delivery,) = bench.run(bench.queue.pop(1))
    assert (delivery.shard, delivery.message.shard) == ("a", "a")
    assert bench.run(bench.queue.ack_messages([delivery.message])) == [True]
