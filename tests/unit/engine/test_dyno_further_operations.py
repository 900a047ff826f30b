"""The unsafe, bulk, by-id and by-pattern operations and the atomic ones do what they say; compat has their defects.

Method: one real server and a clock that stands still; states are written as H (payload), Q:x (waits in shard x) and
U:x (leased in shard x).
"""

import inspect

import pytest
from support.dyno import EPOCH_MS, SHARDS, Interceptor, SettableClock, content, make_queue

from engine.dyno import LocalOnly, PayloadError, RoundRobin, UnackResult
from engine.dyno.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from engine.message import Message
from engine.ports import Indeterminate, Unavailable

pytestmark = pytest.mark.real

LEASE_MS = 1000
X = Message(id="x", payload="p", priority=7)


class Bench:
    def __init__(self, lab, **settings):
        self.lab = lab
        self.clock = SettableClock(settings.pop("now_ms", EPOCH_MS))
        self.direct = lab.direct("a")
        self.settings = {"unack_ms": LEASE_MS, "strategy": LocalOnly("a"), **settings}
        self.queue = self.another()

    def another(self, connection=None, **settings):
        name = self.queue.name if hasattr(self, "queue") else None
        values = {**self.settings, "name": name, **settings}
        return make_queue(connection or self.direct, runtime=self.lab.runtime, clock=self.clock, **values)

    def __call__(self, coroutine):
        return self.lab.run(coroutine)

    def push(self, *messages, into="a"):
        self(self.another(strategy=LocalOnly(into)).push(messages))

    def redis(self, *command):
        return self(self.direct.execute(command))

    def lease_of(self, message_id, shard="a"):
        self.redis("ZADD", self.queue.keys.unack(shard), self.clock.now_ms() + LEASE_MS, message_id)

    def drop_payload(self, message_id):
        self.redis("HDEL", self.queue.keys.messages, message_id)

    def content(self):
        return self(content(self.direct, self.queue.keys))

    def states(self, *ids):
        found = self.content()
        return [found.state(message_id) for message_id in ids]


def messages(*ids, **fields):
    return [Message(id=message_id, **fields) for message_id in ids]


def ids(deliveries):
    return [delivery.message.id for delivery in deliveries]


@pytest.fixture
def bench(server):
    return Bench(server)


@pytest.fixture
def original(server):
    return Bench(server, compat=True, poll_interval_ms=1)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def either(request, server):
    return Bench(server, compat=request.param, poll_interval_ms=1)


# Pops by id


def test_pop_with_id_delivers_the_message_that_is_asked_for(either):
    either.push(*messages("u", "v"), X)
    either.clock.advance(1)
    delivery = either(either.queue.pop_with_id("x"))
    assert (delivery.message.payload, delivery.shard) == ("p", "a")
    assert delivery.lease_end_ms == EPOCH_MS + 1 + LEASE_MS
    assert either.states("u", "x") == ["H Q:a", "H U:a"]
    assert either(either.queue.pop_with_id("x")) is None
    assert either.queue.counters.misses == 1


def test_pop_with_id_leaves_a_message_alone_that_is_not_due(bench):
    bench.push(*messages("x", timeout_ms=500))
    assert bench(bench.queue.pop_with_id("x")) is None
    assert bench.states("x") == ["H Q:a"]
    bench.clock.advance(500)
    assert bench(bench.queue.pop_with_id("x")).message.id == "x"


def test_pop_with_id_of_the_original_delivers_a_message_before_it_is_due(original):
    original.push(*messages("x", timeout_ms=500))
    assert original(original.queue.pop_with_id("x")).message.id == "x"


def test_pop_with_id_leases_nothing_that_has_no_payload_or_a_lease(either):
    either.push(*messages("u", "v"))
    either.drop_payload("u")
    either.lease_of("v")
    assert [either(either.queue.pop_with_id(name)) for name in "uv"] == [None, None]
    assert either.states("u", "v") == ["Q:a", "H Q:a U:a"]


def test_pop_with_id_serves_the_own_shard_and_the_unsafe_one_every_shard(either):
    either.push(*messages("x"), into="c")
    assert either(either.queue.pop_with_id("x")) is None
    delivery = either(either.queue.unsafe_pop_with_id_all_shards("x"))
    assert (delivery.message.id, delivery.shard) == ("x", "c")
    assert either.states("x") == ["H U:c"]


# Pops from every shard


def test_the_unsafe_pop_takes_from_every_shard_the_own_first(either):
    either.push(*messages("c1", timeout_ms=-9), into="c")
    either.push(*messages("b1", timeout_ms=-5), into="b")
    either.push(*messages("a1"))
    deliveries = either(either.queue.unsafe_pop_all_shards(5))
    assert [(delivery.message.id, delivery.shard) for delivery in deliveries] == [("a1", "a"), ("b1", "b"), ("c1", "c")]
    assert either.states("a1", "b1", "c1") == ["H U:a", "H U:b", "H U:c"]


def test_the_unsafe_pop_of_the_original_looks_again_after_an_empty_read(original):
    """Unlike its safe one."""

    async def consumer_first():
        pop = original.lab.runtime.spawn(original.queue.unsafe_pop_all_shards(1, wait_ms=30_000), name="pop")
        await original.lab.runtime.sleep(20_000_000)
        await original.another(strategy=LocalOnly("b")).push([X])
        original.clock.advance(1)
        return await pop.join()

    assert ids(original(consumer_first())) == ["x"]


def test_the_two_kinds_of_pop_of_one_object_do_not_take_each_others_candidates(bench):
    bench.push(*messages(*map(str, range(40))))

    async def four_at_once():
        queue = bench.queue
        pops = [queue.pop(10), queue.unsafe_pop_all_shards(10), queue.bulk_pop(10), queue.unsafe_bulk_pop(10)]
        tasks = [bench.lab.runtime.spawn(pop, name="pop") for pop in pops]
        return [ids(await task.join()) for task in tasks]

    batches = bench(four_at_once())
    assert [len(batch) for batch in batches] == [10] * 4
    assert len({message_id for batch in batches for message_id in batch}) == 40
    assert bench.queue.counters.misses == 0


# Bulk pops


@pytest.mark.parametrize("operation", ["bulk_pop", "unsafe_bulk_pop"])
def test_a_bulk_pop_leases_many_at_once(either, operation):
    either.push(X, *messages("u", "v", "w", payload="q"))
    either.clock.advance(1)
    deliveries = either(getattr(either.queue, operation)(3))
    assert ids(deliveries) == ["u", "v", "w"]
    assert [delivery.message.payload for delivery in deliveries] == ["q"] * 3
    lease_end = EPOCH_MS + 1 + LEASE_MS
    assert {(d.lease_start_ms, d.leased_ms, d.lease_end_ms) for d in deliveries} == {
        (EPOCH_MS + 1, EPOCH_MS + 1, lease_end)
    }
    assert either.content().unacked == {"a": dict.fromkeys("uvw", lease_end)}
    assert either.states("x") == ["H Q:a"]


def test_the_unsafe_bulk_pop_takes_from_every_shard(either):
    for shard in SHARDS:
        either.push(*messages(shard), into=shard)
    deliveries = either(either.queue.unsafe_bulk_pop(9))
    assert sorted((delivery.message.id, delivery.shard) for delivery in deliveries) == [(s, s) for s in SHARDS]
    assert either.states(*SHARDS) == [f"H U:{shard}" for shard in SHARDS]


def test_a_bulk_pop_passes_over_what_another_consumer_took(bench):
    bench.push(*messages("u", "v", "w"))
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: consume(bench.another(), "v")))
    assert ids(bench(slow.bulk_pop(3))) == ["u", "w"]
    assert bench.states("u", "v", "w") == ["H U:a", "", "H U:a"]


async def consume(queue, message_id):
    assert await queue.pop_with_id(message_id) is not None
    assert await queue.ack(message_id)


@pytest.mark.parametrize("operation", ["bulk_pop", "unsafe_bulk_pop"])
def test_a_bulk_pop_of_the_original_returns_nothing_if_one_id_is_gone_and_what_it_leased_stays_leased(
    original, operation
):
    original.push(*messages("u", "v", "w"))
    slow = original.another(Interceptor(original.direct, "EVAL", lambda: consume(original.another(), "v")))
    assert original(getattr(slow, operation)(3)) == []
    assert original.states("u", "v", "w") == ["H U:a", "", "H Q:a"]


def test_a_bulk_pop_does_not_touch_what_is_leased_already(bench):
    bench.push(*messages("u", "v"))
    bench.lease_of("u")
    before = bench.content().unacked["a"]["u"]
    bench.clock.advance(5)
    assert ids(bench(bench.queue.bulk_pop(2))) == ["v"]
    assert bench.states("u") == ["H Q:a U:a"]
    assert bench.content().unacked["a"]["u"] == before
    assert bench.queue.counters.misses == 1


def test_a_bulk_pop_of_the_original_takes_an_existing_lease_for_its_own_and_does_not_renew_it(original):
    original.push(*messages("u"))
    original.lease_of("u")
    before = original.content().unacked["a"]["u"]
    original.clock.advance(5)
    (delivery,) = original(original.queue.bulk_pop(1))
    assert delivery.lease_end_ms == before + 5
    assert original.states("u") == ["H U:a"]
    assert original.content().unacked["a"]["u"] == before


def test_a_bulk_pop_compares_scores_as_numbers(server):
    bench = Bench(server, now_ms=999)
    bench.push(X)
    bench.clock.advance(1)
    assert ids(bench(bench.queue.bulk_pop(1))) == ["x"]


def test_a_bulk_pop_of_the_original_compares_scores_as_text(server):
    """999.07 is greater than 1001 as text: it shows with a clock near zero only."""
    original = Bench(server, now_ms=999, compat=True)
    original.push(X)
    original.clock.advance(1)
    assert original(original.queue.bulk_pop(1)) == []
    assert original.states("x") == ["H Q:a"]


def test_a_bulk_pop_replaces_misses_within_the_call(bench):
    bench.push(*messages(*"uvwxyz"))
    for name in "uvw":
        bench.lease_of(name)
    bench.drop_payload("x")
    assert ids(bench(bench.queue.bulk_pop(2))) == ["y", "z"]
    assert bench.queue.counters.misses == 4


def test_a_bulk_pop_leaves_a_message_alone_that_was_postponed_since_the_range_read(either):
    either.push(*messages("u"))

    async def postpone():
        assert await either.another().set_timeout("u", timeout_ms=500)

    slow = either.another(Interceptor(either.direct, "EVAL", postpone))
    assert either(slow.bulk_pop(1)) == []
    assert either.states("u") == ["H Q:a"]


def test_a_bulk_pop_leases_no_more_than_it_was_asked_for(bench):
    """In its second round there are more candidates than are missing."""
    bench.push(*messages(*"uvwxyz"))
    bench.lease_of("u")
    bench.lease_of("v")
    assert ids(bench(bench.queue.bulk_pop(2))) == ["w", "x"]
    assert bench.states("y", "z") == ["H Q:a", "H Q:a"]


# Looking


def test_the_unsafe_peek_sees_the_first_of_all_shards_in_order(bench):
    bench.push(*messages("b1", timeout_ms=-9), *messages("b2"), into="b")
    bench.push(*messages("a1", timeout_ms=-5), *messages("a2", timeout_ms=-1))
    assert [message.id for message in bench(bench.queue.unsafe_peek_all_shards(3))] == ["b1", "a1", "a2"]
    assert bench.content().unacked == {}


def test_the_unsafe_peek_of_the_original_sees_twice_as_many_as_it_was_asked_for(original):
    original.push(*messages("a1", "a2"))
    original.push(*messages("b1", "b2"), into="b")
    peeked = original(original.queue.unsafe_peek_all_shards(2))
    assert sorted(message.id for message in peeked) == ["a1", "a2", "b1", "b2"]


def test_the_unsafe_peek_leaves_out_what_has_no_payload(bench):
    bench.push(*messages("u", "v"))
    bench.drop_payload("u")
    assert [message.id for message in bench(bench.queue.unsafe_peek_all_shards(5))] == ["v"]


def test_the_unsafe_peek_of_the_original_fails_if_one_has_no_payload(original):
    original.push(*messages("u", "v"))
    original.drop_payload("u")
    with pytest.raises(PayloadError, match="'u'"):
        original(original.queue.unsafe_peek_all_shards(5))


def test_local_get_finds_what_is_stored(either):
    either.push(X)
    assert either(either.queue.local_get("x")).payload == "p"
    assert either(either.queue.local_get("some fake id")) is None


def test_all_messages_are_those_that_are_stored_wherever_they_are(bench):
    bench.push(X, *messages("u"))
    bench(bench.queue.pop_with_id("u"))
    bench.redis("HSET", bench.queue.keys.messages, "orphan", '{"id":"orphan","payload":"o"}')
    found = sorted((m.id, m.payload, m.priority) for m in bench(bench.queue.get_all_messages()))
    assert found == [("orphan", "o", 0), ("u", "", 0), ("x", "p", 7)]


def test_all_messages_of_the_original_have_their_json_as_payload(original):
    original.push(X)
    (message,) = original(original.queue.get_all_messages())
    assert message.payload == '{"id":"x","payload":"p","timeout":0,"priority":7}'
    assert message.priority == 0


# Patterns


def test_a_message_is_found_by_a_pattern_of_its_json(either):
    either.push(*messages(*map(str, range(300)), payload="plain"))
    either.push(Message(id="x", payload="needle 42"), into="b")
    assert either(either.queue.get_msg_with_predicate('"needle %d+"')) == "x"
    assert either(either.queue.contains_predicate("needle")) is True
    assert either(either.queue.get_msg_with_predicate("haystack")) is None
    assert either(either.queue.contains_predicate("haystack")) is False


def test_a_search_of_the_own_shard_finds_only_what_waits_there(either):
    either.push(Message(id="x", payload="needle"), into="b")
    assert either(either.queue.contains_predicate("needle", own_shard_only=True)) is False
    either.push(Message(id="y", payload="needle"))
    assert either(either.queue.get_msg_with_predicate("needle", own_shard_only=True)) == "y"


def test_a_pop_by_pattern_takes_the_first_due_match_of_all_shards(either):
    either.push(Message(id="late", payload="needle"), *messages("early", timeout_ms=-20))
    either.push(Message(id="x", payload="needle", timeout_ms=-10), into="c")
    either.push(Message(id="future", payload="needle", timeout_ms=500), into="b")
    found = [either(either.queue.pop_msg_with_predicate("needle")) for _ in range(3)]
    assert [(d.message.id, d.shard, d.lease_end_ms) for d in found[:2]] == [
        ("x", "c", EPOCH_MS + LEASE_MS),
        ("late", "a", EPOCH_MS + LEASE_MS),
    ]
    assert found[2] is None
    assert either.states("x", "late", "early", "future") == ["H U:c", "H U:a", "H Q:a", "H Q:b"]


def test_a_pop_by_pattern_of_the_own_shard_stays_there(either):
    either.push(Message(id="x", payload="needle"), into="c")
    assert either(either.queue.pop_msg_with_predicate("needle", own_shard_only=True)) is None
    assert either.states("x") == ["H Q:c"]


def test_a_pop_by_pattern_looks_beyond_its_first_page_and_passes_over_what_has_no_payload(either):
    either.push(*messages(*map(str, range(250)), timeout_ms=-5))
    either.push(Message(id="x", payload="needle"))
    either.drop_payload("7")
    assert either(either.queue.pop_msg_with_predicate("needle")).message.id == "x"


def test_a_pop_by_pattern_delivers_the_message(bench):
    bench.push(Message(id="x", payload="needle", priority=0, timeout_ms=-1))
    assert bench(bench.queue.pop_msg_with_predicate("needle")).message.payload == "needle"


def test_a_pop_by_pattern_of_the_original_delivers_the_json_as_payload(original):
    original.push(Message(id="x", payload="needle", timeout_ms=-1))
    delivery = original(original.queue.pop_msg_with_predicate("needle"))
    assert delivery.message.payload == '{"id":"x","payload":"needle","timeout":-1,"priority":0}'


def test_a_pop_by_pattern_passes_over_what_is_leased(bench):
    bench.push(*messages("u", "v"))
    bench.lease_of("u")
    assert bench(bench.queue.pop_msg_with_predicate("id")).message.id == "v"
    assert bench.states("u") == ["H Q:a U:a"]


def test_a_pop_by_pattern_of_the_original_takes_an_existing_lease_for_its_own(original):
    original.push(*messages("u", "v"))
    original.lease_of("u")
    assert original(original.queue.pop_msg_with_predicate("id")).message.id == "u"
    assert original.states("u") == ["H U:a"]


# The atomic operations


@pytest.mark.parametrize("prepare", ["waiting", "leased", "orphaned", "without payload"])
def test_atomic_remove_removes_a_message_whatever_its_state(either, prepare):
    either.push(X)
    either.clock.advance(1)
    if prepare == "leased":
        assert len(either(either.queue.pop(1))) == 1
    elif prepare == "orphaned":
        either.redis("DEL", either.queue.keys.queue_of("a"))
    elif prepare == "without payload":
        either.drop_payload("x")
    assert either(either.queue.atomic_remove("x")) is True
    assert either.states("x") == [""]
    assert either(either.queue.atomic_remove("x")) is False


def test_atomic_remove_of_a_doubled_id_without_payload_says_true(server):
    bench = Bench(server, strategy=RoundRobin())
    bench(bench.queue.push([X, X]))
    bench.drop_payload("x")
    assert bench(bench.queue.atomic_remove("x")) is True
    assert bench.states("x") == [""]


def test_atomic_remove_of_the_original_denies_a_doubled_id_without_payload(server):
    original = Bench(server, strategy=RoundRobin(), compat=True)
    original(original.queue.push([X, X]))
    original.drop_payload("x")
    assert original(original.queue.atomic_remove("x")) is False
    assert original.states("x") == [""]


def test_the_atomic_requeue_brings_back_what_is_expired_and_keeps_its_priority(bench):
    bench.push(X, *messages("u"), Message(id="tricky", payload='"priority":9', priority=3))
    bench.clock.advance(1)
    assert len(bench(bench.queue.pop(3))) == 3
    bench.drop_payload("u")
    bench.clock.advance(LEASE_MS)
    assert bench(bench.queue.atomic_process_unacks()) == UnackResult(requeued=2, stale=1, queue_depth=0)
    end = EPOCH_MS + 1 + LEASE_MS
    assert bench.content().waiting == {"a": {"tricky": end + 0.03, "x": end + 0.07}}
    assert bench.content().unacked == {}
    counters = bench.queue.counters
    assert (counters.requeued, counters.stale) == (2, 1)


def test_the_atomic_requeue_of_the_original_loses_the_priority(original):
    original.push(X, *messages("u"))
    original.clock.advance(1)
    assert len(original(original.queue.pop(2))) == 2
    original.drop_payload("u")
    original.clock.advance(LEASE_MS)
    assert original(original.queue.atomic_process_unacks()) == UnackResult(requeued=1, stale=1, queue_depth=0)
    assert original.content().waiting == {"a": {"x": EPOCH_MS + 1 + LEASE_MS}}


def test_the_atomic_requeue_goes_on_until_nothing_is_expired_and_the_original_after_a_batch_does_not(server):
    for compat, rounds in ((False, [25, 0]), (True, [10, 10, 5, 0])):
        bench = Bench(server, compat=compat, unack_batch=10)
        bench.push(*messages(*map(str, range(25))))
        assert len(bench(bench.queue.pop(25))) == 25
        bench.clock.advance(LEASE_MS)
        assert [bench(bench.queue.atomic_process_unacks()).requeued for _ in rounds] == rounds


def leased_and_expired(bench):
    bench.push(*messages("x"))
    assert len(bench(bench.queue.pop(1))) == 1
    bench.clock.advance(LEASE_MS)


async def extend(bench):
    assert await bench.another().set_unack_timeout("x", timeout_ms=5000)


def test_the_atomic_requeue_leaves_a_lease_alone_that_was_extended_since_it_was_read(bench):
    leased_and_expired(bench)
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: extend(bench)))
    assert bench(slow.atomic_process_unacks()).requeued == 0
    assert bench.states("x") == ["H U:a"]


def test_the_atomic_requeue_of_the_original_ends_a_lease_that_was_extended_since_it_was_read(original):
    leased_and_expired(original)
    slow = original.another(Interceptor(original.direct, "EVAL", lambda: extend(original)))
    assert original(slow.atomic_process_unacks()).requeued == 1
    assert original.states("x") == ["H Q:a"]


async def requeue_and_pop(bench):
    assert (await bench.another().process_unacks()).requeued == 1
    assert len(await bench.another().pop(1)) == 1


def test_two_atomic_handlers_of_a_shard_do_not_end_the_lease_of_the_next_consumer(bench):
    leased_and_expired(bench)
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: requeue_and_pop(bench)))
    bench(slow.atomic_process_unacks())
    assert bench.states("x") == ["H U:a"]


def test_two_atomic_handlers_of_the_original_do(original):
    leased_and_expired(original)
    slow = original.another(Interceptor(original.direct, "EVAL", lambda: requeue_and_pop(original)))
    original(slow.atomic_process_unacks())
    assert original.states("x") == ["H Q:a"]


@pytest.mark.parametrize("single_ring", [False, True])
def test_the_handler_uses_the_script_if_there_is_a_single_ring(server, single_ring):
    seen = []

    class Noting:
        async def execute(self, *commands):
            seen.extend(command[0] for command in commands)
            return await server.direct("a").execute(*commands)

    bench = Bench(server, unack_interval_ms=5, single_ring=single_ring)
    leased_and_expired(bench)
    queue = bench.another(Noting())

    async def wait_for_redelivery():
        async with queue:
            return await queue.pop(1, wait_ms=30_000)

    assert ids(bench(wait_for_redelivery())) == ["x"]
    assert ("EVAL" in seen) is single_ring


# Stale ids


def test_stale_messages_are_due_and_have_no_payload(either):
    either.push(*messages("u", "v"), *messages("w", timeout_ms=500))
    either.push(*messages("x"), into="c")
    for name in "uwx":
        either.drop_payload(name)
    assert [message.id for message in either(either.queue.find_stale_messages())] == ["u", "x"]
    assert either.states("u", "x") == ["Q:a", "Q:c"]


def test_only_the_first_ten_due_ids_of_a_shard_are_looked_at(either):
    either.push(*messages(*map(str, range(10)), timeout_ms=-1), *messages("x"))
    either.drop_payload("x")
    assert either(either.queue.find_stale_messages()) == []


def test_what_is_leased_is_not_stale(either):
    either.push(*messages("u"))
    either.drop_payload("u")
    either.lease_of("u")
    assert either(either.queue.find_stale_messages()) == []


def test_a_message_that_is_consumed_meanwhile_is_not_reported_as_stale(bench):
    bench.push(*messages("u"))
    slow = bench.another(Interceptor(bench.direct, "EVAL", lambda: consume(bench.another(), "u")))
    assert bench(slow.find_stale_messages()) == []


def test_a_message_that_is_consumed_meanwhile_is_stale_for_the_original(original):
    original.push(*messages("u"))
    slow = original.another(Interceptor(original.direct, "EVAL", lambda: consume(original.another(), "u")))
    assert [message.id for message in original(slow.find_stale_messages())] == ["u"]


# Errors


class Unsure:
    """Nobody knows what became of a script."""

    async def execute(self, *commands):
        raise Indeterminate("no quorum")


@pytest.mark.parametrize("operation", ["get_msg_with_predicate", "contains_predicate"])
def test_a_script_that_only_reads_was_certainly_not_applied(server, operation):
    queue = Bench(server).another(Unsure())
    with pytest.raises(Unavailable, match="no quorum"):
        server.run(getattr(queue, operation)("p"))


@pytest.mark.parametrize("operation", ["atomic_remove", "pop_msg_with_predicate"])
def test_of_a_script_that_writes_nobody_knows(server, operation):
    queue = Bench(server).another(Unsure())
    with pytest.raises(Indeterminate, match="no quorum"):
        server.run(getattr(queue, operation)("p"))


# Bugs that the tests above find; others are planted in tests/property/test_dyno_model.py

PLANTED = {
    "a bulk pop does not ask for the due time": (
        ("bulk_pop", "tonumber(score) > eligible", "false"),
        test_a_bulk_pop_leaves_a_message_alone_that_was_postponed_since_the_range_read,
    ),
    "a bulk pop takes one too many": (
        ("bulk_pop", "#leased >= 3 * count", "#leased > 3 * count"),
        test_a_bulk_pop_leases_no_more_than_it_was_asked_for,
    ),
    "a bulk pop compares text": (
        ("bulk_pop", "tonumber(score) > eligible", "score > ARGV[2]"),
        test_a_bulk_pop_compares_scores_as_numbers,
    ),
    "an atomic requeue does not look again": (
        ("process_unacks", "lease_end <= now", "true"),
        test_the_atomic_requeue_leaves_a_lease_alone_that_was_extended_since_it_was_read,
    ),
    "a priority in the payload is taken for the message's": (
        ("process_unacks", "'\"priority\":(%d+)'", "'priority%p+(%d+)'"),
        test_the_atomic_requeue_brings_back_what_is_expired_and_keeps_its_priority,
    ),
    "what was consumed meanwhile is stale": (
        ("find_stale", "redis.call('ZSCORE', KEYS[2], id) and", ""),
        test_a_message_that_is_consumed_meanwhile_is_not_reported_as_stale,
    ),
}

PLANTED_IN_THE_ORIGINAL = {
    "a bulk pop compares numbers": (
        ("bulk_pop", "score <= ARGV[2]", "tonumber(score) <= tonumber(ARGV[2])"),
        test_a_bulk_pop_of_the_original_compares_scores_as_text,
    ),
    "an atomic remove tells the truth": (
        ("atomic_remove", "return leased", "return 1"),
        test_atomic_remove_of_the_original_denies_a_doubled_id_without_payload,
    ),
    "what is leased is stale": (
        ("find_stale", " and not redis.call('ZSCORE', KEYS[3], id)", ""),
        test_what_is_leased_is_not_stale,
    ),
    "a search finds nothing": (
        ("find_by_pattern", "return id", "return nil"),
        test_a_message_is_found_by_a_pattern_of_its_json,
    ),
}


@pytest.mark.parametrize(
    ("scripts", "bug"),
    [(SCRIPTS, bug) for bug in PLANTED] + [(ORIGINAL_SCRIPTS, bug) for bug in PLANTED_IN_THE_ORIGINAL],
    ids=lambda value: value if isinstance(value, str) else ("default" if value is SCRIPTS else "compat"),
)
def test_a_bug_planted_in_a_script_fails_a_test(server, monkeypatch, scripts, bug):
    compat = scripts is ORIGINAL_SCRIPTS
    (name, text, instead), test = (PLANTED_IN_THE_ORIGINAL if compat else PLANTED)[bug]
    assert scripts[name].count(text) == 1
    monkeypatch.setitem(scripts, name, scripts[name].replace(text, instead))
    takes_a_bench = inspect.getfullargspec(test).args != ["server"]
    with pytest.raises(AssertionError):
        test(Bench(server, compat=compat) if takes_a_bench else server)
