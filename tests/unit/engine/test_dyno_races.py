"""The races between clients that no order of single commands can close are as docs/dyno-queues.md tells them.

Method: a connection runs the other client's whole operation just before a chosen command, on a real server. Both modes
of the queue behave alike: these are limits of the protocol, and a mode that closes them must fail here.
"""

import pytest
from support.dyno import Interceptor, SettableClock, content, make_queue

from engine.dyno import LocalOnly
from engine.message import Message

pytestmark = pytest.mark.real

LEASE_MS = 1000


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def bench(request, server):
    return Bench(server, compat=request.param)


class Bench:
    def __init__(self, lab, *, compat):
        self.lab = lab
        self.clock = SettableClock()
        self.direct = lab.direct("a")
        self._compat = compat
        self._name = None
        self.queue = self.instance()
        self._name = self.queue.name
        lab.run(self.queue.push([Message(id="x")]))

    def instance(self, connection=None):
        return make_queue(
            connection or self.direct,
            runtime=self.lab.runtime,
            clock=self.clock,
            name=self._name,
            strategy=LocalOnly("a"),
            unack_ms=LEASE_MS,
            compat=self._compat,
        )

    def interrupted(self, command, other):
        """An instance in front of whose first ``command`` the operation ``other`` runs."""
        return self.instance(Interceptor(self.direct, command, other))

    def lease(self):
        (delivery,) = self.lab.run(self.queue.pop(1))
        return delivery

    def state(self):
        return self.lab.run(content(self.direct, self.queue.keys)).state("x")


def test_of_two_handlers_of_a_shard_the_slower_ends_the_lease_of_the_next_consumer(bench):
    bench.lease()
    bench.clock.advance(LEASE_MS)

    async def the_other_handler_and_a_consumer():
        other = bench.instance()
        await other.process_unacks()
        assert len(await other.pop(1)) == 1

    slow = bench.interrupted("HGET", the_other_handler_and_a_consumer)
    bench.lab.run(slow.process_unacks())
    assert bench.state() == "H Q:a"
    assert len(bench.lab.run(bench.queue.pop(1))) == 1


def test_a_lease_that_is_extended_while_the_handler_runs_ends_all_the_same(bench):
    bench.lease()
    bench.clock.advance(LEASE_MS)

    async def the_consumer_extends_its_lease():
        assert await bench.instance().set_unack_timeout("x", timeout_ms=60_000)

    bench.lab.run(bench.interrupted("HGET", the_consumer_extends_its_lease).process_unacks())
    assert bench.state() == "H Q:a"


def test_a_lease_that_is_extended_while_it_is_acknowledged_comes_back_without_payload(bench):
    bench.lease()

    async def it_is_acknowledged():
        assert await bench.instance().ack("x")

    extending = bench.interrupted("ZADD", it_is_acknowledged)
    assert bench.lab.run(extending.set_unack_timeout("x", timeout_ms=10)) is True
    assert bench.state() == "U:a"
    bench.clock.advance(10)
    assert bench.lab.run(bench.queue.process_unacks()).stale == 1
    assert bench.state() == ""


def test_set_timeout_can_bring_back_the_payload_of_a_message_consumed_meanwhile(bench):
    async def it_is_consumed():
        other = bench.instance()
        assert len(await other.pop(1)) == 1
        assert await other.ack("x")

    moving = bench.interrupted("HSET", it_is_consumed)
    bench.lab.run(moving.set_timeout("x", timeout_ms=0))
    assert bench.state() == "H"


def test_an_ack_after_the_lease_ends_is_refused_or_ends_the_lease_of_the_next_consumer(bench):
    bench.lease()
    bench.clock.advance(LEASE_MS)
    bench.lab.run(bench.queue.process_unacks())
    assert bench.lab.run(bench.queue.ack("x")) is False
    bench.lease()
    assert bench.lab.run(bench.instance().ack("x")) is True
    assert bench.state() == ""


def test_ensure_can_push_a_message_again_that_is_requeued_while_it_looks(bench):
    bench.lease()
    bench.clock.advance(LEASE_MS)
    reads = []

    class BetweenQueueAndUnack:
        async def execute(self, *commands):
            reads.extend(commands)
            if len(reads) == 2:
                await bench.queue.process_unacks()
            return await bench.direct.execute(*commands)

    assert bench.lab.run(bench.instance(BetweenQueueAndUnack()).ensure(Message(id="x", timeout_ms=9000))) is True
    assert bench.lab.run(bench.queue.pop(1)) == []
