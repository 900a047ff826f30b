"""The queue that is one sorted set: due times, one taker a message, nothing comes back.

Method: its commands on one simulated server, with a clock that stands still.
"""

import json

import pytest
from support.engine.dyno import EPOCH_MS, CuttingConnection, Interceptor, OnServer, fresh_name

from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate
from zonelab.engine.zset import ZsetQueue, id_of


class ZsetBench(OnServer):
    def __init__(self, lab):
        super().__init__(lab, compat=False)
        self.key = fresh_name()
        self.queue = self.another()

    def another(self, connection=None, local=None):
        quorum = connection or self.direct
        return ZsetQueue(
            self.key, runtime=self.lab.runtime, clock=self.clock, quorum=quorum, local=local or quorum, poll_ms=1
        )

    def push(self, *ids, **fields):
        return self.run(self.queue.push([Message(id=each, payload="p", **fields) for each in ids]))

    def pop(self, count, **options):
        return [each.message.id for each in self.run(self.queue.pop(count, **options))]


@pytest.fixture
def bench(lab):
    return ZsetBench(lab)


def test_a_message_comes_when_it_is_due_and_once(bench):
    (receipt,) = bench.push("x", timeout_ms=500)
    assert (receipt.id, receipt.due_ms) == ("x", EPOCH_MS + 500)
    bench.clock.advance(499)
    assert bench.pop(1) == []
    bench.clock.advance(1)
    assert (bench.pop(1), bench.pop(1)) == (["x"], [])


def test_it_sends_one_pipeline_to_push_and_two_to_pop(bench):
    member = json.dumps({"id": "x", "payload": "p"})
    assert bench.sent(lambda queue: queue.push([Message(id="x", payload="p", timeout_ms=-1)])) == [
        ("Q", f"ZADD {bench.key} {EPOCH_MS - 1} {member}")
    ]
    due = ("N", f"ZRANGEBYSCORE {bench.key} 0 {EPOCH_MS} LIMIT 0 5")
    sent = bench.sent(
        lambda queue: queue.pop(5, wait_ms=0), word=lambda w: w.decode() if isinstance(w, bytes) else f"{w}"
    )
    assert sent == [due, ("Q", f"ZREM {bench.key} {member}")]
    assert id_of(member) == "x"


def test_of_two_that_read_the_same_message_one_has_it(bench):
    bench.push("x")
    other = []

    async def overtake():
        other.extend(await bench.queue.pop(1))

    slow = bench.another(Interceptor(bench.direct, "ZREM", overtake))
    assert bench.run(slow.pop(1)) == []
    assert [each.message.id for each in other] == ["x"]


def test_a_pop_waits_for_what_comes(bench):
    bench.later(5, lambda: bench.queue.push([Message(id="x")]))
    assert bench.pop(1, wait_ms=20) == ["x"]


def test_what_a_broken_pop_removed_is_lost(bench):
    bench.push("x")
    connection = CuttingConnection(bench.direct)
    connection.cut(after_pipelines=1, applied=1)
    with pytest.raises(Indeterminate):
        bench.run(bench.another(connection).pop(1))
    assert bench.pop(1) == []


def test_there_is_no_lease_to_end(bench):
    bench.push("x")
    (delivery,) = bench.run(bench.queue.pop(1))
    assert delivery.lease_end_ms == delivery.leased_ms
    assert bench.run(bench.queue.ack(delivery)) is False
