"""The multi-shard queue spreads pushes, serves its own shard, finds messages in all, and outlives a dead shard.

Method: simulated servers, one for all shards or one for each, connections that are cut, and the content of every
shard as states: H payload, Q waiting, U leased. Both modes, with what the original does where it differs.
"""

from dataclasses import replace

import pytest
from support.engine.dyno import EPOCH_MS, SHARDS, Interceptor
from support.engine.dyno_v2 import LEASE_MS, CuttingConnection, MultiBench, make_pipelined
from support.engine.periodic import BrokenTask

from engine.dyno import IdHash
from engine.dyno.v2 import BatchAckFailure, BatchPushFailure, UnsupportedOperation
from engine.dyno.v2.multi import MultiQueue
from engine.message import Message
from engine.ports import Indeterminate, Unavailable
from engine.sync import BlockingQueue


@pytest.fixture
def make_bench():
    return MultiBench


def numbered(count):
    return [f"m{number}" for number in range(count)]


def test_the_own_shard_must_be_one_of_the_queues(bench):
    with pytest.raises(ValueError, match="shard must be one of a, b, c, got 'd'"):
        bench.instance(shard="d")


def test_shards_that_disagree_on_compat_are_refused(bench):
    queues = {
        shard: make_pipelined(bench.direct, runtime=bench.lab.runtime, clock=bench.clock, shard=shard, compat=compat)
        for shard, compat in (("a", True), ("b", False))
    }
    with pytest.raises(ValueError, match=r"the queues must agree on compat, got \{'a': True, 'b': False\}"):
        MultiQueue("jobs", shard="a", queues=queues)


def test_the_original_gives_each_shard_an_equal_part_and_what_is_left_to_the_last_beginning_with_the_second(original):
    original.push(*numbered(8))
    assert original.waiting() == {"b": ["m0", "m1"], "c": ["m2", "m3"], "a": ["m4", "m5", "m6", "m7"]}


def test_the_original_pushes_single_messages_all_to_the_first_shard(original):
    """Fewer messages than shards: the first picks get nothing, and after as many picks as shards it starts again."""
    for message_id in numbered(6):
        original.push(message_id)
    assert original.waiting() == {"a": numbered(6), "b": [], "c": []}
    assert [len(connection.log) for connection in original.connections.values()] == [6, 0, 0]


def test_by_default_messages_go_to_the_shards_in_turn_however_they_are_pushed(default):
    default.push(*numbered(4))
    for message_id in ("x", "y"):
        default.push(message_id)
    assert default.waiting() == {"a": ["m2", "y"], "b": ["m0", "m3"], "c": ["m1", "x"]}


def test_receipts_come_in_the_order_of_the_messages_and_name_the_shards(bench):
    receipts = bench.push(*numbered(7))
    assert sorted(receipt.id for receipt in receipts) == numbered(7)
    if not bench.compat:
        assert [receipt.id for receipt in receipts] == numbered(7)
    for receipt in receipts:
        assert list(bench.states(receipt.id)) == [receipt.shard]


def test_a_shard_gets_its_part_in_one_pipeline(bench):
    bench.push(*numbered(9))
    assert [[len(commands) for _, commands in each.log] for each in bench.connections.values()] == [[6], [6], [6]]


def test_pop_and_peek_serve_the_own_shard_alone(bench):
    bench.push(*numbered(9))
    own = bench.waiting()["a"]
    assert [message.id for message in bench.run(bench.queue.peek(9))] == own
    assert [delivery.message.id for delivery in bench.run(bench.queue.pop(9))] == own
    assert bench.run(bench.queue.size()) == 6
    assert {shard: (each.waiting, each.unacked) for shard, each in bench.run(bench.queue.shard_sizes()).items()} == {
        "a": (0, 3),
        "b": (3, 0),
        "c": (3, 0),
    }


@pytest.mark.parametrize("shard", SHARDS)
def test_a_message_is_found_in_whichever_shard_it_is(bench, shard):
    bench.put(shard, "x", "y", "z")
    queue = bench.queue
    assert bench.run(queue.get("x")).id == "x"
    assert bench.run(queue.get("nobody")) is None
    assert bench.run(queue.set_unack_timeout("x", timeout_ms=5)) is True
    assert bench.run(queue.set_unack_timeout("nobody", timeout_ms=5)) is False
    assert bench.run(queue.ack("x")) is True
    assert bench.run(queue.ack("x")) is False
    assert bench.run(queue.ack_all(["y", "nobody", "z"])) == [True, False, True]
    bench.run(queue.queues[shard].push([Message(id="w", timeout_ms=1000)]))
    assert bench.run(queue.set_timeout("w", timeout_ms=0)) is True
    assert bench.run(queue.set_timeout("nobody", timeout_ms=0)) is False
    assert bench.run(queue.remove("w")) is True
    assert bench.run(queue.remove("w")) is False
    assert bench.states("w") == {}


def test_the_own_shard_is_searched_first_by_default_and_in_its_turn_in_the_original(default, original):
    for bench, order in ((default, ["b", "a", "c"]), (original, ["a", "b", "c"])):
        log = []
        by_shard = {shard: CuttingConnection(bench.direct, label=shard, log=log) for shard in SHARDS}
        bench.run(bench.instance(shard="b", by_shard=by_shard).ack("nobody"))
        assert [label for label, _ in log] == order


def test_deliveries_are_acknowledged_in_two_pipelines_of_their_shard(bench):
    deliveries = bench.put("b", "x", "y")
    messages = [delivery.message for delivery in deliveries]
    assert bench.run(bench.queue.ack_messages(messages)) == [True, True]
    assert [len(connection.log) for connection in bench.connections.values()] == [0, 2, 0]
    assert bench.run(bench.queue.ack_messages(messages)) == [False, False]


@pytest.mark.parametrize("shard", [None, "elsewhere"])
def test_the_original_cannot_acknowledge_a_message_without_a_shard_of_the_queue(default, original, shard):
    for bench in (default, original):
        bench.put("b", "x")
    message = Message(id="x", shard=shard)
    assert default.run(default.queue.ack_messages([message])) == [True]
    with pytest.raises(ValueError, match=f"shard must be one of a, b, c, got {shard!r}"):
        original.run(original.queue.ack_messages([message]))


def test_an_id_in_two_shards_is_two_messages_with_two_deliveries_and_two_acks(bench):
    deliveries = [delivery for shard in "ab" for delivery in bench.put(shard, "x")]
    assert bench.states("x") == {"a": "H U", "b": "H U"}
    assert bench.run(bench.queue.ack_messages([delivery.message for delivery in deliveries[:1]])) == [True]
    assert bench.states("x") == {"b": "H U"}
    assert bench.run(bench.queue.ack("x")) is True
    assert bench.run(bench.queue.ack("x")) is False


def test_remove_takes_an_id_out_of_every_shard_and_in_the_original_out_of_the_first(default, original):
    for bench, left in ((default, {}), (original, {"b": "H Q"})):
        for shard in "ab":
            bench.run(bench.queue.queues[shard].push([Message(id="x")]))
        assert bench.run(bench.queue.remove("x")) is True
        assert bench.states("x") == left


def test_ensure_looks_into_every_shard_and_does_not_exist_in_the_original(default, original):
    default.put("c", "x")
    assert default.run(default.queue.ensure(Message(id="x"))) is False
    assert default.run(default.queue.ensure(Message(id="y"))) is True
    with pytest.raises(UnsupportedOperation):
        original.run(original.queue.ensure(Message(id="x")))


def test_clear_empties_every_shard(bench):
    bench.push(*numbered(9))
    bench.run(bench.queue.clear())
    assert bench.waiting() == {"a": [], "b": [], "c": []}


def test_a_clear_that_stops_half_way_is_indeterminate(bench):
    bench.push(*numbered(9))
    bench.kill("b")
    with pytest.raises(Indeterminate):
        bench.run(bench.queue.clear())


def test_a_dead_shard_is_passed_over_while_messages_go_to_the_shards_in_turn(default):
    default.kill("b")
    receipts = default.push(*numbered(9))
    assert [receipt.id for receipt in receipts] == numbered(9)
    assert {shard: len(ids) for shard, ids in default.waiting().items()} == {"a": 3, "b": 0, "c": 6}


def test_nothing_is_passed_over_if_it_may_have_been_pushed(default):
    default.kill("b", applied=6)
    with pytest.raises(BatchPushFailure) as raised:
        default.push(*numbered(9))
    assert isinstance(raised.value, Indeterminate)
    assert raised.value.failed_ids == ("m0", "m3", "m6")
    assert [len(ids) for ids in default.waiting().values()] == [0, 3, 0]


def test_nothing_is_passed_over_for_a_strategy_that_goes_by_the_id(default):
    default.kill("b")
    queue = default.instance(by_shard=default.connections, strategy=IdHash())
    with pytest.raises(BatchPushFailure) as raised:
        default.push("1", queue=queue)  # Java's hash of "1" is 49, which is shard b of three
    assert isinstance(raised.value, Unavailable)


class Nowhere:
    def next_shard(self, shards, message):
        return "z" if message.id == "m2" else "a"


def test_a_strategy_that_chooses_no_shard_of_the_queue_is_refused_before_anything_is_pushed(default):
    queue = default.instance(by_shard=default.connections, strategy=Nowhere())
    with pytest.raises(ValueError, match="strategy must choose one of a, b, c, got 'z'"):
        default.push(*numbered(3), queue=queue)
    assert default.waiting() == {"a": [], "b": [], "c": []}


def test_the_original_does_not_ask_the_strategy(original):
    queue = original.instance(by_shard=original.connections, strategy=Nowhere())
    original.push(*numbered(3), queue=queue)
    assert [len(ids) for ids in original.waiting().values()] == [1, 1, 1]


def test_all_shards_dead_is_unavailable_and_without_effect(default):
    for shard in SHARDS:
        default.kill(shard)
    with pytest.raises(BatchPushFailure) as raised:
        default.push(*numbered(3))
    assert isinstance(raised.value, Unavailable)
    assert raised.value.receipts == ()
    for connection in default.connections.values():
        connection.mend()
    assert default.waiting() == {"a": [], "b": [], "c": []}


def test_in_the_original_a_dead_shard_fails_every_push_and_shards_before_it_keep_their_part(original):
    original.kill("c")
    with pytest.raises(BatchPushFailure) as raised:
        original.push(*numbered(9))
    assert [receipt.id for receipt in raised.value.receipts] == ["m0", "m1", "m2"]
    assert raised.value.failed_ids == ("m3", "m4", "m5")
    original.connections["c"].mend()
    assert original.waiting() == {"a": [], "b": ["m0", "m1", "m2"], "c": []}


def test_in_the_original_the_retry_of_a_failed_push_goes_to_other_shards_and_duplicates(original):
    original.kill("c")
    with pytest.raises(BatchPushFailure):
        original.push(*numbered(9))
    original.connections["c"].mend()
    original.push(*numbered(9))
    assert original.states("m0") == {"a": "H Q", "b": "H Q"}


def test_the_retry_of_a_failed_push_meets_the_same_shards_if_they_go_by_the_id(default):
    queue = default.instance(by_shard=default.connections, strategy=IdHash())
    default.kill("c", applied=1)
    with pytest.raises(BatchPushFailure):
        default.push(*numbered(9), queue=queue)
    default.connections["c"].mend()
    default.push(*numbered(9), queue=queue)
    assert [len(default.states(message_id)) for message_id in numbered(9)] == [1] * 9


def test_a_batch_ack_that_fails_in_one_shard_tells_what_was_acknowledged_before(bench):
    bench.put("a", "x")
    bench.put("b", "y")
    bench.kill("b", applied=1)
    with pytest.raises(BatchAckFailure) as raised:
        bench.run(bench.queue.ack_all(["x", "y"]))
    assert (raised.value.acked_ids, raised.value.failed_ids) == (("x",), ("y",))
    bench.connections["b"].mend()
    retried = bench.run(bench.queue.ack_all(["y"]))
    assert retried == [not bench.compat]
    assert bench.states("y") == ({"b": "H"} if bench.compat else {})


def test_a_batch_ack_tells_what_its_messages_shards_acknowledged_before_a_search_failed(default):
    """The original does not search."""
    (delivery,) = default.put("a", "x")
    default.put("b", "y")
    default.kill("b", applied=1)
    with pytest.raises(BatchAckFailure) as raised:
        default.run(default.queue.ack_messages([replace(delivery.message, shard="a"), Message(id="y")]))
    assert (raised.value.acked_ids, raised.value.failed_ids) == (("x",), ("y",))


def test_a_message_that_is_acknowledged_twice_in_one_batch_is_acknowledged(bench):
    (delivery,) = bench.put("a", "x")
    x = replace(delivery.message, shard="a")
    assert bench.run(bench.queue.ack_messages([x, x])) == [True, True]


def test_a_defect_of_one_handler_does_not_keep_the_others_running(original):
    async def program():
        queue = original.queue
        await queue.start()
        await queue.queues["a"].close()
        queue.queues["a"].unack_handler._task = BrokenTask()
        await original.lab.runtime.sleep(150_000_000)
        with pytest.raises(ZeroDivisionError, match="a defect"):
            await queue.close()
        runs = [each.unack_handler.runs for each in queue.queues.values()]
        await original.lab.runtime.sleep(350_000_000)
        assert [each.unack_handler.runs for each in queue.queues.values()] == runs

    original.run(program())


def test_every_instance_of_the_original_looks_after_all_shards_and_by_default_after_its_own(default, original):
    for bench, requeued in ((default, 1), (original, 3)):
        for shard in SHARDS:
            bench.put(shard, f"x{shard}")
        bench.clock.advance(LEASE_MS)
        assert bench.run(bench.queue.process_unacks()).requeued == requeued


@pytest.mark.parametrize(("mode", "state"), [("default", "H U"), ("original", "H Q")])
def test_handlers_of_two_zones_race_in_the_original_and_end_the_lease_of_a_working_consumer(request, mode, state):
    """Both read the ended lease; one requeues it, a consumer pops the message, and the other requeues it again."""
    bench = request.getfixturevalue(mode)
    bench.put("a", "x")
    bench.clock.advance(LEASE_MS)
    elsewhere = bench.instance(shard="b")
    popped = []

    async def the_other_handler_and_a_consumer():
        await bench.queue.process_unacks()
        popped.extend(await bench.queue.pop(1))

    slow = Interceptor(bench.direct, "HGET", the_other_handler_and_a_consumer)
    late = bench.instance(shard="b", by_shard=dict.fromkeys(SHARDS, slow))
    bench.run(late.process_unacks())
    if not bench.compat:  # it never looked, so nobody came in between
        bench.run(the_other_handler_and_a_consumer())
    assert [delivery.message.id for delivery in popped] == ["x"]
    assert bench.states("x") == {"a": state}
    assert bench.run(elsewhere.ack("x")) is (not bench.compat)


def test_a_queue_runs_its_handlers_while_it_is_open(bench):
    async def while_open():
        async with bench.queue as queue:
            await bench.lab.runtime.sleep(350_000_000)
            running = [each.unack_handler.runs for each in queue.queues.values()]
        await bench.lab.runtime.sleep(350_000_000)
        return running, [each.unack_handler.runs for each in bench.queue.queues.values()]

    running, after = bench.run(while_open())
    assert running == after == ([3, 3, 3] if bench.compat else [3, 0, 0])


def test_an_empty_push_pops_and_acks_nothing(bench):
    assert bench.push() == []
    assert bench.run(bench.queue.ack_all([])) == []
    assert bench.run(bench.queue.ack_messages([])) == []
    assert [len(connection.log) for connection in bench.connections.values()] == [0, 0, 0]


@pytest.mark.parametrize("kind", ["multi", "pipelined"])
def test_an_ordinary_program_can_use_the_queue_by_blocking_calls(bench, kind):
    queue = bench.queue if kind == "multi" else bench.queue.queues["a"]
    with BlockingQueue(queue, bench.run) as blocking:
        (receipt,) = blocking.push([Message(id="x", shard="a")])
        served = bench.instance(shard=receipt.shard)
        assert [delivery.message.id for delivery in bench.run(served.pop(1))] == ["x"]
        assert blocking.set_unack_timeout("x", timeout_ms=9) is True
        assert blocking.ack_all(["x", "y"]) == [True, False]
        assert (blocking.size(), blocking.get("x")) == (0, None)
        assert blocking.process_unacks().requeued == 0


def test_unack_time_and_name_are_those_of_the_own_shard(bench):
    assert bench.queue.unack_ms == LEASE_MS
    assert bench.queue.name == bench.queue.queues["a"].name
    assert bench.clock.now_ms() == EPOCH_MS
