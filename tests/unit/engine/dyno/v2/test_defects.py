"""Each defect of the original's pipelined queue is there with ``compat`` and gone without.

Method: the same story told to both modes, on one simulated server whose clock is set by the test. A program that comes
in between is let in by a connection just before a chosen command.
"""

import pytest
from support.engine.dyno import EPOCH_MS, Interceptor
from support.engine.dyno_bench import ids
from support.engine.dyno_v2 import LEASE_MS, Refusing, make_pipelined

from engine.dyno import DynoQueue, PayloadError
from engine.dyno.v2 import BatchPushIndeterminate, BatchPushRejected, UnsupportedOperation
from engine.message import Message
from engine.ports import Indeterminate, ServerError, Unavailable

MS = 1_000_000


def test_a_pop_that_waits_sees_what_is_pushed_meanwhile(bench):
    bench.later(300, lambda: bench.instance().push([Message(id="x")]))
    begin_ns = bench.lab.runtime.now_ns()
    assert bench.pop(1, wait_ms=60_000) == ["x"]
    assert bench.lab.runtime.now_ns() - begin_ns < 1000 * MS


def waited_for_second(bench):
    """A pop of two finds one at once and the other after a while, in which the clock goes on."""

    async def push_second():
        bench.clock.advance(300)
        await bench.instance().push([Message(id="late")])

    bench.push("soon")
    bench.later(300, push_second)
    soon, late = bench.run(bench.queue.pop(2, wait_ms=60_000))
    return soon.lease_end_ms - EPOCH_MS, late.lease_end_ms - EPOCH_MS


def test_in_the_original_leases_taken_early_run_out_while_the_pop_waits_for_more(default, original):
    assert waited_for_second(original) == (LEASE_MS, LEASE_MS + 300)
    assert waited_for_second(default) == (LEASE_MS + 300, LEASE_MS + 300)


def test_in_the_original_an_error_while_waiting_drops_what_was_leased_before(original):
    original.push("x")
    original.connection.cut(after_pipelines=4, applied=None)  # the second look
    with pytest.raises(Unavailable):
        original.pop(2, wait_ms=1000)
    assert original.state("x") == "H U"


def test_by_default_an_error_in_the_course_of_a_pop_returns_what_was_leased_before(default):
    default.push("x", "y")
    default.run(default.direct.execute(("ZADD", default.queue.keys.lease_of("x"), EPOCH_MS + 1, "x")))  # blocked
    default.push("z")
    default.connection.cut(after_pipelines=5, applied=None)  # the leases of what replaces the miss
    assert default.pop(2) == ["y"]
    assert default.queue.counters.curtailed_pops == 1
    assert default.state("z") == "H Q"


def test_in_the_original_a_blocked_id_at_the_head_starves_those_behind_it(default, original):
    for bench in (default, original):
        bench.push("blocked", priority=0)
        bench.push("next", priority=1)
        key = bench.queue.keys.lease_of("blocked")
        bench.run(bench.direct.execute(("ZADD", key, EPOCH_MS + 60_000, "blocked")))
    assert original.pop(1, wait_ms=500) == []
    assert default.pop(1) == ["next"]


def test_in_the_original_a_pop_that_does_not_wait_looks_again_after_10_ms(default, original):
    for bench, found in ((default, []), (original, ["x"])):
        bench.later(5, lambda bench=bench: bench.instance().push([Message(id="x")]))
        assert bench.pop(1) == found
        bench.run(bench.lab.runtime.sleep(20 * MS))


def test_pops_of_one_object_run_one_after_the_other_in_the_original_and_side_by_side_by_default(default, original):
    async def two_pops(bench):
        runtime = bench.lab.runtime
        begin_ns = runtime.now_ns()
        tasks = [runtime.spawn(bench.queue.pop(1, wait_ms=200), name="pop") for _ in range(2)]
        for task in tasks:
            await task.join()
        return (runtime.now_ns() - begin_ns) // MS

    assert default.run(two_pops(default)) in range(200, 250)
    assert original.run(two_pops(original)) in range(400, 500)


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


@pytest.mark.parametrize(("mode", "state"), [("default", "H U"), ("original", "H Q U")])
def test_set_timeout_of_a_message_that_is_popped_meanwhile(request, mode, state):
    """The original lists it again and says true; it is blocked then, and a phantom after its ack."""
    bench = request.getfixturevalue(mode)
    bench.push("x")
    popped = []

    async def pop():
        popped.extend(await bench.instance().pop(1))

    queue = bench.instance(Interceptor(bench.direct, "ZADD", pop))
    assert bench.run(queue.set_timeout("x", timeout_ms=0)) is bench.compat
    assert ids(popped) == ["x"]
    assert bench.state("x") == state


@pytest.mark.parametrize(("mode", "state"), [("default", "-"), ("original", "H Q")])
def test_set_timeout_of_a_message_that_is_popped_and_acknowledged_meanwhile(request, mode, state):
    """The original brings it back whole: it is delivered again after its ack."""
    bench = request.getfixturevalue(mode)
    bench.push("x")

    async def consume():
        other = bench.instance()
        await other.pop(1)
        assert await other.ack("x")

    queue = bench.instance(Interceptor(bench.direct, "ZADD", consume))
    bench.run(queue.set_timeout("x", timeout_ms=0))
    assert bench.state("x") == state
    assert bench.pop() == (["x"] if bench.compat else [])


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


def test_in_the_original_remove_of_a_leased_message_says_false_though_it_removed_it(default, original):
    for bench in (default, original):
        bench.push("x")
        bench.pop()
        assert bench.run(bench.queue.remove("x")) is (not bench.compat)
        assert bench.state("x") == "-"
        assert bench.run(bench.queue.remove("x")) is False


def test_in_the_original_a_requeued_message_has_lost_its_priority(default, original):
    for bench, fraction in ((default, 0.07), (original, 0)):
        bench.push("x", priority=7)
        bench.pop()
        bench.clock.advance(LEASE_MS)
        assert bench.run(bench.queue.process_unacks()).requeued == 1
        assert bench.content().waiting == {"x": EPOCH_MS + LEASE_MS + fraction}


@pytest.mark.parametrize(("mode", "state"), [("default", "H U"), ("original", "H Q")])
def test_two_handlers_of_one_shard_race_in_the_original_and_end_the_lease_of_a_working_consumer(request, mode, state):
    """Both read the ended lease; one requeues it, a consumer pops the message, and the other requeues it again."""
    bench = request.getfixturevalue(mode)
    bench.push("x")
    bench.pop()
    bench.clock.advance(LEASE_MS)
    popped = []

    async def the_other_handler_and_a_consumer():
        await bench.queue.process_unacks()
        popped.extend(await bench.queue.pop(1))

    slow = bench.instance(Interceptor(bench.direct, "HGET", the_other_handler_and_a_consumer))
    bench.run(slow.process_unacks())
    assert ids(popped) == ["x"]
    assert bench.state("x") == state
    assert bench.run(bench.queue.ack("x")) is (not bench.compat)


@pytest.mark.parametrize(("mode", "state"), [("default", "H U"), ("original", "H Q")])
def test_a_lease_that_is_extended_while_the_handler_runs_ends_all_the_same_in_the_original(request, mode, state):
    bench = request.getfixturevalue(mode)
    bench.push("x")
    bench.pop()
    bench.clock.advance(LEASE_MS)

    async def extend():
        assert await bench.queue.set_unack_timeout("x", timeout_ms=LEASE_MS)

    bench.run(bench.instance(Interceptor(bench.direct, "HGET", extend)).process_unacks())
    assert bench.state("x") == state


@pytest.mark.parametrize(("mode", "state"), [("default", "-"), ("original", "Q")])
def test_a_message_that_is_acknowledged_while_the_handler_runs_is_listed_again_in_the_original(request, mode, state):
    bench = request.getfixturevalue(mode)
    bench.push("x")
    bench.pop()
    bench.clock.advance(LEASE_MS)

    async def acknowledge():
        assert await bench.queue.ack("x")

    names = "EVAL" if mode == "default" else "ZADD"
    bench.run(bench.instance(Interceptor(bench.direct, names, acknowledge)).process_unacks())
    assert bench.state("x") == state


def test_a_lease_whose_payload_is_gone_is_dropped(bench):
    bench.push("x", "y")
    bench.pop()
    bench.run(bench.direct.execute(("HDEL", bench.queue.keys.payload_of("x"), "x")))
    bench.clock.advance(LEASE_MS)
    result = bench.run(bench.queue.process_unacks())
    assert (result.requeued, result.stale) == (1, 1)
    assert (bench.state("x"), bench.state("y")) == ("-", "H Q")


def test_the_handler_has_no_cap(bench):
    bench.push(*(f"m{number}" for number in range(70)))
    small = make_pipelined(
        bench.direct,
        name=bench.queue.name,
        runtime=bench.lab.runtime,
        clock=bench.clock,
        unack_ms=LEASE_MS,
        unack_batch=2,
        compat=bench.compat,
    )
    assert len(bench.run(small.pop(70))) == 70
    bench.clock.advance(LEASE_MS)
    assert bench.run(small.process_unacks()).requeued == 70
    assert len(bench.content().waiting) == 70


@pytest.mark.parametrize(("mode", "runs_on"), [("default", True), ("original", False)])
def test_the_originals_handler_dies_of_its_first_error_and_leased_messages_stay_where_they_are(request, mode, runs_on):
    bench = request.getfixturevalue(mode)
    handler = bench.queue.unack_handler

    async def outage_between_runs():
        bench.connection.cut(after_pipelines=0, applied=None)
        await bench.queue.start()
        await bench.lab.runtime.sleep(150 * MS)
        bench.connection.mend()
        await bench.instance().push([Message(id="x")])
        assert ids(await bench.instance().pop(1)) == ["x"]
        bench.clock.advance(LEASE_MS)
        await bench.lab.runtime.sleep(1000 * MS)
        await bench.queue.close()

    bench.run(outage_between_runs())
    assert handler.failures == 1
    assert isinstance(handler.last_error, Unavailable)
    assert bench.state("x") == ("H Q" if runs_on else "H U")
    assert (handler.runs > 5) is runs_on


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


def test_in_the_original_one_id_without_payload_spoils_the_whole_peek(default, original):
    for bench in (default, original):
        bench.push("x", "y")
        bench.run(bench.direct.execute(("HDEL", bench.queue.keys.payload_of("x"), "x")))
    assert [message.id for message in default.run(default.queue.peek(5))] == ["y"]
    with pytest.raises(PayloadError, match="no payload is stored for 'x'"):
        original.run(original.queue.peek(5))


def test_in_the_original_one_payload_that_is_no_message_spoils_the_whole_pop(default, original):
    for bench in (default, original):
        bench.push("x", "y")
        bench.run(bench.direct.execute(("HSET", bench.queue.keys.payload_of("x"), "x", "[]")))
    assert default.pop() == ["y"]
    with pytest.raises(PayloadError):
        original.pop()
    for bench in (default, original):
        assert (bench.state("x"), bench.state("y")) == ("H U", "H U")


def test_a_pop_whose_only_payload_is_no_message_raises(default):
    default.push("x")
    default.run(default.direct.execute(("HSET", default.queue.keys.payload_of("x"), "x", "[]")))
    with pytest.raises(PayloadError):
        default.pop()


@pytest.mark.parametrize(
    ("refused", "error", "left"),
    [
        (("HSET", "ZADD"), BatchPushRejected, "-"),
        (("ZADD",), BatchPushIndeterminate, "H"),
        (("HSET",), BatchPushIndeterminate, "Q"),
    ],
)
def test_the_original_takes_a_message_for_pushed_that_the_server_refused(default, original, refused, error, left):
    messages = [Message(id=each) for each in "xyz"]
    for bench in (default, original):
        bench.refusing = bench.instance(Refusing(bench.direct, names=refused, message_id="y"))
    with pytest.raises(error) as raised:
        default.run(default.refusing.push(messages))
    assert [receipt.id for receipt in raised.value.receipts] == ["x", "z"]
    assert raised.value.failed_ids == ("y",)
    assert [receipt.id for receipt in original.run(original.refusing.push(messages))] == ["x", "y", "z"]
    for bench in (default, original):
        assert [bench.state(each) for each in "xyz"] == ["H Q", left, "H Q"]


@pytest.mark.parametrize("mode", ["default", "original"])
def test_a_step_of_which_the_server_refuses_a_part_is_indeterminate_and_one_refused_whole_an_error(request, mode):
    bench = request.getfixturevalue(mode)
    bench.push("x", "y")
    bench.pop()
    refusing = bench.instance(Refusing(bench.direct, names=("ZREM",), message_id="x"))
    with pytest.raises(Indeterminate):
        bench.run(refusing.ack_all(["x", "y"]))
    with pytest.raises(ServerError):
        bench.run(refusing.ack("x"))


def test_ensure_exists_by_default_and_not_in_the_original(default, original):
    assert default.run(default.queue.ensure(Message(id="x"))) is True
    assert default.run(default.queue.ensure(Message(id="x"))) is False
    default.pop()
    assert default.run(default.queue.ensure(Message(id="x"))) is False
    default.run(default.queue.ack("x"))
    assert default.run(default.queue.ensure(Message(id="x"))) is True
    with pytest.raises(UnsupportedOperation, match="ensure does not exist"):
        original.run(original.queue.ensure(Message(id="x")))


UNSUPPORTED = [
    "atomic_process_unacks",
    "atomic_remove",
    "bulk_pop",
    "contains_predicate",
    "find_stale_messages",
    "get_all_messages",
    "get_msg_with_predicate",
    "local_get",
    "pop_msg_with_predicate",
    "pop_with_id",
    "unsafe_bulk_pop",
    "unsafe_peek_all_shards",
    "unsafe_pop_all_shards",
    "unsafe_pop_with_id_all_shards",
]


@pytest.mark.parametrize("name", UNSUPPORTED)
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
