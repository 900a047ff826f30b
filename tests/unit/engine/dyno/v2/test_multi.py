"""The multi-shard queue spreads pushes, serves its own shard, finds messages in all, and outlives a dead shard.

Method: simulated servers, one for all shards or one for each, connections that are cut, and the content of every
shard as states: H payload, Q waiting, U leased. Both modes, with what the original does where it differs.
"""

from dataclasses import replace

import pytest
from support.engine.dyno import SHARDS
from support.engine.dyno_v2 import LEASE_MS, MultiBench, make_pipelined
from support.engine.periodic import BrokenTask

from zonelab.engine.dyno import IdHash
from zonelab.engine.dyno.v2 import BatchAckFailure, BatchPushFailure
from zonelab.engine.dyno.v2.multi import MultiQueue
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, Unavailable


@pytest.fixture
def make_bench():
    return MultiBench


def numbered(count):
    return [f"m{number}" for number in range(count)]


def test_the_own_shard_must_be_one_of_the_queues(bench):
    with pytest.raises(ValueError, match="shard must be one of a, b, c, got 'd'"):
        bench.another(shard="d")


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
    assert (bench.run(bench.queue.size()), bench.queue.unack_ms) == (6, LEASE_MS)
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


def test_deliveries_are_acknowledged_in_two_pipelines_of_their_shard(bench):
    deliveries = bench.put("b", "x", "y")
    messages = [delivery.message for delivery in deliveries]
    assert bench.run(bench.queue.ack_messages(messages)) == [True, True]
    assert [len(connection.log) for connection in bench.connections.values()] == [0, 2, 0]
    assert bench.run(bench.queue.ack_messages(messages)) == [False, False]


def test_an_id_in_two_shards_is_two_messages_with_two_deliveries_and_two_acks(bench):
    deliveries = [delivery for shard in "ab" for delivery in bench.put(shard, "x")]
    assert bench.states("x") == {"a": "H U", "b": "H U"}
    assert bench.run(bench.queue.ack_messages([delivery.message for delivery in deliveries[:1]])) == [True]
    assert bench.states("x") == {"b": "H U"}
    assert bench.run(bench.queue.ack("x")) is True
    assert bench.run(bench.queue.ack("x")) is False


def test_a_clear_that_stops_half_way_is_indeterminate(bench):
    bench.push(*numbered(9))
    bench.kill("b")
    with pytest.raises(Indeterminate):
        bench.run(bench.queue.clear())


def test_nothing_is_passed_over_if_it_may_have_been_pushed(default):
    default.kill("b", applied=6)
    with pytest.raises(BatchPushFailure) as raised:
        default.push(*numbered(9))
    assert isinstance(raised.value, Indeterminate)
    assert raised.value.failed_ids == ("m0", "m3", "m6")
    assert [len(ids) for ids in default.waiting().values()] == [0, 3, 0]


def test_nothing_is_passed_over_for_a_strategy_that_goes_by_the_id(default):
    default.kill("b")
    queue = default.another(by_shard=default.connections, strategy=IdHash())
    with pytest.raises(BatchPushFailure) as raised:
        default.push("1", queue=queue)  # Java's hash of "1" is 49, which is shard b of three
    assert isinstance(raised.value, Unavailable)


class Nowhere:
    def next_shard(self, shards, message):
        return "z" if message.id == "m2" else "a"


def test_a_strategy_that_chooses_no_shard_of_the_queue_is_refused_before_anything_is_pushed(default):
    queue = default.another(by_shard=default.connections, strategy=Nowhere())
    with pytest.raises(ValueError, match="strategy must choose one of a, b, c, got 'z'"):
        default.push(*numbered(3), queue=queue)
    assert default.waiting() == {"a": [], "b": [], "c": []}


def test_the_original_does_not_ask_the_strategy(original):
    queue = original.another(by_shard=original.connections, strategy=Nowhere())
    original.push(*numbered(3), queue=queue)
    assert [len(ids) for ids in original.waiting().values()] == [1, 1, 1]


def test_all_shards_dead_is_unavailable_and_without_effect(default):
    for shard in SHARDS:
        default.kill(shard)
    with pytest.raises(BatchPushFailure) as raised:
        default.push(*numbered(3))
    assert isinstance(raised.value, Unavailable)
    assert raised.value.receipts == ()
    assert [connection.failed for connection in default.connections.values()] == [1, 1, 1]
    for connection in default.connections.values():
        connection.mend()
    assert default.waiting() == {"a": [], "b": [], "c": []}


def test_the_retry_of_a_failed_push_meets_the_same_shards_if_they_go_by_the_id(default):
    queue = default.another(by_shard=default.connections, strategy=IdHash())
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
