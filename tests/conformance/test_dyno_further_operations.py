"""What V1 offers beyond push, pop and ack works on a plain server and on three zones, real and simulated.

Method: programs in three zones on one queue, at every level and in both modes; each zone's own server is read past the
coordinators at rest. Scripts run on every zone by themselves, so what they leave must be the same everywhere.
"""

import pytest
from support.engine.dyno_bench import ids

from engine.dyno import LocalOnly
from engine.message import Message

LEASE_MS = 1000


@pytest.fixture
def queues(target):
    return {zone: target.queue(zone, strategy=LocalOnly(zone), unack_ms=LEASE_MS) for zone in target.zones}


@pytest.fixture
def push(target, queues):
    def push(zone, *ids, **fields):
        target.run(queues[zone].push([Message(id=message_id, **fields) for message_id in ids]))
        target.at_rest(queues[zone])

    return push


def states(target, queue, *names):
    found = target.at_rest(queue)
    return [found.state(name) for name in names]


def test_a_bulk_pop_moves_the_same_everywhere(target, queues, push):
    push("b", *"uvwx")
    assert ids(target.run(queues["b"].bulk_pop(3))) == ["u", "v", "w"]
    assert states(target, queues["b"], *"uvwx") == ["H U:b", "H U:b", "H U:b", "H Q:b"]
    assert all(target.run(queues["b"].ack_all(["u", "v", "w"])))
    assert states(target, queues["b"], *"uvw") == ["", "", ""]


def test_the_unsafe_pops_reach_every_shard(target, queues, push):
    for zone in target.zones:
        push(zone, f"1{zone}", f"2{zone}")
    first = target.run(queues["b"].unsafe_pop_all_shards(3))
    assert ids(first) == ["1b", "2b", "1a"]
    target.at_rest(queues["b"])
    rest = target.run(queues["b"].unsafe_bulk_pop(9))
    assert sorted((delivery.message.id, delivery.shard) for delivery in rest) == [("1c", "c"), ("2a", "a"), ("2c", "c")]
    assert states(target, queues["b"], "1a", "1b", "1c") == ["H U:a", "H U:b", "H U:c"]


def test_a_message_is_popped_by_its_id_in_its_own_shard_or_in_any(target, queues, push):
    push("c", "x", "y")
    assert target.run(queues["a"].pop_with_id("x")) is None
    assert target.run(queues["c"].pop_with_id("x")).message.id == "x"
    assert target.run(queues["a"].unsafe_pop_with_id_all_shards("y")).shard == "c"
    assert states(target, queues["a"], "x", "y") == ["H U:c", "H U:c"]


def test_a_message_is_found_and_popped_by_a_pattern(target, queues, push):
    push("a", *map(str, range(40)), payload="plain", timeout_ms=-9)
    push("b", "x", payload="needle", timeout_ms=-5)
    assert target.run(queues["c"].get_msg_with_predicate("needle")) == "x"
    assert target.run(queues["c"].contains_predicate("needle", own_shard_only=True)) is False
    assert target.run(queues["b"].contains_predicate("needle", own_shard_only=True)) is True
    delivery = target.run(queues["c"].pop_msg_with_predicate("needle"))
    assert (delivery.message.id, delivery.shard) == ("x", "b")
    assert states(target, queues["c"], "x") == ["H U:b"]
    assert target.run(queues["c"].pop_msg_with_predicate("needle")) is None


def test_atomic_remove_leaves_nothing_in_any_zone(target, queues, push):
    push("a", "waiting", "leased")
    assert target.run(queues["a"].pop_with_id("leased")).message.id == "leased"
    target.at_rest(queues["a"])
    assert [target.run(queues["c"].atomic_remove(name)) for name in ("waiting", "leased")] == [True, True]
    assert states(target, queues["a"], "waiting", "leased") == ["", ""]
    assert target.run(queues["b"].atomic_remove("waiting")) is False


def test_the_atomic_requeue_brings_an_expired_lease_back_in_every_zone(target, queues, push):
    push("b", "x", priority=7, timeout_ms=-1)
    assert ids(target.run(queues["b"].pop(1))) == ["x"]
    target.at_rest(queues["b"])
    target.clock.advance(LEASE_MS)
    requeued = [target.run(queue.atomic_process_unacks()).requeued for queue in queues.values()]
    assert requeued == [0, 1, 0]
    found = target.at_rest(queues["b"])
    assert found.state("x") == "H Q:b"
    assert found.waiting["b"]["x"] == pytest.approx(target.clock.now_ms() + (0 if target.compat else 0.07), abs=3e-4)
    assert ids(target.run(queues["b"].pop(1))) == ["x"]


def test_what_looks_sees_every_shard(target, queues, push):
    push("a", "u", timeout_ms=-2)
    push("b", "v", timeout_ms=-1)
    assert sorted(message.id for message in target.run(queues["c"].unsafe_peek_all_shards(2))) == ["u", "v"]
    assert sorted(message.id for message in target.run(queues["c"].get_all_messages())) == ["u", "v"]
    assert target.run(queues["c"].local_get("v")).id == "v"
    assert target.run(queues["c"].find_stale_messages()) == []


def test_an_id_that_waits_without_payload_is_stale_in_every_zone(target, queues, push):
    push("b", "x", timeout_ms=-1)
    target.run(target.quorum("a").execute(("HDEL", queues["a"].keys.messages, "x")))
    target.at_rest(queues["b"])
    assert [[message.id for message in target.run(queue.find_stale_messages())] for queue in queues.values()] == [
        ["x"],
        ["x"],
        ["x"],
    ]
