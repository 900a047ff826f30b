"""The operations that look for messages, by pattern, everywhere or for what is stale, find what they should.

Method: one simulated server and a clock that stands still; states are written as H (payload), Q:x (waits in shard x)
and U:x (leased in shard x).
"""

import pytest
from support.engine.dyno import EPOCH_MS, Interceptor
from support.engine.dyno_bench import LEASE_MS, Bench, X, assert_planted_bug_fails, consume, messages

from engine.dyno import PayloadError
from engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from engine.message import Message
from engine.ports import Indeterminate, Unavailable


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
def test_a_script_that_only_reads_was_certainly_not_applied(lab, operation):
    queue = Bench(lab).another(Unsure())
    with pytest.raises(Unavailable, match="no quorum"):
        lab.run(getattr(queue, operation)("p"))


@pytest.mark.parametrize("operation", ["atomic_remove", "pop_msg_with_predicate"])
def test_of_a_script_that_writes_nobody_knows(lab, operation):
    queue = Bench(lab).another(Unsure())
    with pytest.raises(Indeterminate, match="no quorum"):
        lab.run(getattr(queue, operation)("p"))


PLANTED = {
    "what is leased is stale": (
        SCRIPTS,
        ("find_stale", " and not redis.call('ZSCORE', KEYS[3], id)", "", test_what_is_leased_is_not_stale),
    ),
    "a pop by pattern takes what is leased": (
        SCRIPTS,
        (
            "pop_by_pattern",
            "not redis.call('ZSCORE', KEYS[key + 1], id)",
            "true",
            test_a_pop_by_pattern_passes_over_what_is_leased,
        ),
    ),
    "a pop by pattern of the original respects a lease": (
        ORIGINAL_SCRIPTS,
        (
            "pop_by_pattern",
            "ARGV[3], best_id) then",
            "ARGV[3], best_id) == 1 then",
            test_a_pop_by_pattern_of_the_original_takes_an_existing_lease_for_its_own,
        ),
    ),
    "what was consumed meanwhile is stale": (
        SCRIPTS,
        (
            "find_stale",
            "redis.call('ZSCORE', KEYS[2], id) and",
            "",
            test_a_message_that_is_consumed_meanwhile_is_not_reported_as_stale,
        ),
    ),
    "what is leased is stale for the original": (
        ORIGINAL_SCRIPTS,
        ("find_stale", " and not redis.call('ZSCORE', KEYS[3], id)", "", test_what_is_leased_is_not_stale),
    ),
    "a search finds nothing": (
        ORIGINAL_SCRIPTS,
        ("find_by_pattern", "return id", "return nil", test_a_message_is_found_by_a_pattern_of_its_json),
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bug_planted_in_a_script_fails_a_test(lab, monkeypatch, bug):
    assert_planted_bug_fails(lab, monkeypatch, *PLANTED[bug])
