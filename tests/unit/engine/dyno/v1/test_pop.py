"""Pop finds what is due and waits as it says. The original's defects are in test_differences.

Method: a simulated server, a clock that stands still for due times and leases, and virtual time for waiting.
"""

import pytest
from support.engine.dyno import Interceptor
from support.engine.dyno_bench import LEASE_MS, ids

from zonelab.engine.dyno import PayloadError
from zonelab.engine.message import Message
from zonelab.engine.ports import Unavailable

MS = 1_000_000
LONG_MS = 30_000


@pytest.mark.parametrize(("priority", "early_ms"), [(0, 1), (1, 0)])
def test_a_message_is_delivered_in_the_last_millisecond_before_its_time_unless_a_priority_holds_it_back(
    either, priority, early_ms
):
    either.push("x", timeout_ms=100, priority=priority)
    either.clock.advance(99 - early_ms)
    assert either.pop(1) == []
    either.clock.advance(1)
    assert either.pop(1) == ["x"]


def test_a_pop_on_an_empty_queue_waits_as_long_as_it_may(either):
    begin_ns = either.lab.runtime.now_ns()
    assert either.pop(1, wait_ms=250) == []
    assert either.lab.runtime.now_ns() - begin_ns >= 250 * MS


def test_a_miss_for_want_of_the_payload_ends_up_as_a_lease_that_the_handler_removes(either):
    either.push("x")
    either.drop_payload("x")
    assert either.pop(1) == []
    assert either.states("x") == ["U:a"]
    either.clock.advance(LEASE_MS)
    assert either(either.queue.process_unacks()).stale == 1
    assert either.states("x") == [""]


def test_a_waiting_pop_goes_on_when_others_take_all_that_was_due(bench):
    async def take_and_ack():
        (delivery,) = await bench.another().pop(1)
        assert await bench.another().ack(delivery.message.id)

    bench.push("x")
    slow = bench.another(Interceptor(bench.direct, "ZADD", take_and_ack))

    async def outrun_and_then_served():
        pop = bench.lab.runtime.spawn(slow.pop(1, wait_ms=LONG_MS), name="pop")
        while slow.counters.misses == 0:
            await bench.lab.runtime.sleep(MS)
        await bench.another().push([Message(id="y")])
        return await pop.join()

    assert ids(bench(outrun_and_then_served())) == ["y"]


def test_a_payload_that_is_no_message_is_an_error_and_its_lease_stays(either):
    either.push("x")
    either.store_payload("x", "nonsense")
    with pytest.raises(PayloadError, match="'x' is not a message"):
        either.pop(1)
    assert either.states("x") == ["H U:a"]


def test_an_unreadable_payload_does_not_cost_the_deliveries_before_it(bench):
    bench.push("u", "v")
    bench.store_payload("v", "nonsense")
    assert bench.pop(2) == ["u"]


def test_an_error_while_waiting_is_raised(either):
    class Gone:
        async def execute(self, *commands):
            raise Unavailable("no server")

    with pytest.raises(Unavailable):
        either(either.another(Gone()).pop(1, wait_ms=LONG_MS))
