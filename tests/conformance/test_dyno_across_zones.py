"""A program in one zone sees what programs in the others did, and at rest all zones hold the same.

Method: programs in three zones on one queue, on one server and on three zones, real and simulated, at every level; then
each zone's own server is read past the coordinators, until the last write has reached all of them. A pop in another
zone waits for that, too: at DC_ONE a push may not be there yet, and the original does not look twice.
"""

import pytest

from engine.dyno import IdHash, LocalOnly
from engine.message import Message

LEASE_MS = 1000
WAIT_MS = 30_000


@pytest.fixture
def queues(target):
    return {zone: target.queue(zone, strategy=IdHash(), unack_ms=LEASE_MS) for zone in target.zones}


def test_what_one_zone_pushes_every_zone_consumes_and_nothing_remains(target, queues):
    messages = [Message(id=str(number), payload=f"p{number}", priority=number % 100) for number in range(60)]
    receipts = target.run(queues["a"].push(messages))
    target.at_rest(queues["a"])
    delivered = {}
    for zone, queue in queues.items():
        mine = [receipt.id for receipt in receipts if receipt.shard == zone]
        deliveries = target.run(queue.pop(len(mine), wait_ms=WAIT_MS))
        assert [delivery.message.id for delivery in deliveries] == mine
        delivered |= {delivery.message.id: delivery.message.payload for delivery in deliveries}
        assert all(target.run(queue.ack_all(mine)))
    assert delivered == {message.id: message.payload for message in messages}
    rest = target.at_rest(queues["a"])
    assert (rest.payloads, rest.waiting, rest.unacked) == ({}, {}, {})


def test_a_message_leased_in_one_zone_can_be_acknowledged_in_another(target, queues):
    target.run(target.queue("a", strategy=LocalOnly("b")).push([Message(id="x")]))
    target.at_rest(queues["a"])
    (delivery,) = target.run(queues["b"].pop(1, wait_ms=WAIT_MS))
    target.at_rest(queues["a"])
    assert target.run(queues["c"].ack(delivery.message.id)) is True
    assert target.at_rest(queues["a"]).state("x") == ""
    assert target.run(queues["b"].ack(delivery.message.id)) is False


def test_the_handler_of_the_shards_own_zone_brings_an_expired_lease_back(target, queues):
    target.run(target.queue("a", strategy=LocalOnly("b")).push([Message(id="x", priority=7)]))
    target.at_rest(queues["a"])
    assert len(target.run(queues["b"].pop(1, wait_ms=WAIT_MS))) == 1
    target.clock.advance(LEASE_MS)
    requeued = [target.run(queue.process_unacks()).requeued for queue in queues.values()]
    assert requeued == [0, 1, 0]
    assert target.at_rest(queues["a"]).state("x") == "H Q:b"
    assert len(target.run(queues["b"].pop(1, wait_ms=WAIT_MS))) == 1


def test_remove_reaches_every_shard_from_any_zone(target, queues):
    messages = [Message(id=str(number)) for number in range(9)]
    target.run(queues["a"].push(messages))
    target.at_rest(queues["a"])
    assert all(target.run(queues["c"].remove(message.id)) for message in messages)
    assert target.at_rest(queues["a"]).payloads == {}


def test_ensure_in_one_zone_sees_a_push_of_another(target, queues):
    target.run(queues["a"].push([Message(id="x")]))
    target.at_rest(queues["a"])
    assert target.run(queues["b"].ensure(Message(id="x"))) is False
    assert target.run(queues["b"].ensure(Message(id="y"))) is True
