"""What the operations beside push, pop and ack answer, and what they leave behind, fixed and original.

Method: a simulated server and a clock that stands still; the server's content is compared.
"""

import pytest
from support.engine.dyno import EPOCH_MS, SettableClock, make_queue
from support.engine.dyno_bench import Bench

import engine.dyno
from engine.dyno import PayloadError, RoundRobin, ShardSize
from engine.message import Message

X = Message(id="x", payload="p", priority=50)


def test_the_package_exports_what_is_there():
    assert all(hasattr(engine.dyno, name) for name in engine.dyno.__all__)
    assert engine.dyno.__all__ == sorted(engine.dyno.__all__)


def test_a_receipt_names_shard_and_due_time(either):
    receipts = either(either.queue.push([X, Message(id="y", timeout_ms=1500)]))
    assert [(receipt.id, receipt.shard, receipt.due_ms) for receipt in receipts] == [
        ("x", "a", EPOCH_MS),
        ("y", "a", EPOCH_MS + 1500),
    ]


class Nowhere:
    def next_shard(self, shards, message):
        return "z"


def test_a_strategy_that_chooses_no_shard_of_the_queue_is_refused_and_nothing_is_listed(lab):
    bench = Bench(lab, strategy=Nowhere())
    with pytest.raises(ValueError, match="strategy must choose one of a, b, c, got 'z'"):
        bench(bench.queue.push([X]))
    assert bench.redis("EXISTS", bench.queue.keys.queue_of("z")) == 0
    assert bench(bench.queue.size()) == 0


def test_the_original_lists_a_message_in_a_shard_that_nobody_serves(lab):
    bench = Bench(lab, strategy=Nowhere(), compat=True)
    (receipt,) = bench(bench.queue.push([X]))
    assert receipt.shard == "z"
    assert bench.redis("ZCARD", bench.queue.keys.queue_of("z")) == 1
    assert bench(bench.queue.size()) == 0


def test_pushes_go_round_the_shards_unless_a_strategy_is_given(lab):
    queue = make_queue(lab.direct("a"), runtime=lab.runtime, clock=SettableClock())
    receipts = lab.run(queue.push([Message(id=str(number)) for number in range(4)]))
    assert [receipt.shard for receipt in receipts] == ["b", "c", "a", "b"]


def test_a_message_that_cannot_be_written_stops_the_push_before_the_first_command(bench):
    with pytest.raises(ValueError, match="surrogates"):
        bench(bench.queue.push([X, Message(id="y", payload="\udfff")]))
    assert bench.content().payloads == {}


def test_a_second_push_of_an_id_moves_it(either):
    either(either.queue.push([X]))
    either(either.queue.push([Message(id="x", payload="q", timeout_ms=900)]))
    assert either.content().waiting == {"a": {"x": EPOCH_MS + 900}}
    assert either(either.queue.get("x")).payload == "q"


def test_a_second_push_in_another_shard_doubles_the_message(lab):
    bench = Bench(lab, strategy=RoundRobin())
    bench(bench.queue.push([X, X]))
    assert bench.states("x") == ["H Q:b Q:c"]


def test_peek_shows_due_messages_in_order_and_leaves_them(either):
    either(either.queue.push([Message(id="p9", priority=9), Message(id="p3", priority=3)]))
    either(either.queue.push([Message(id="late", timeout_ms=5000)]))
    assert either.peek(10) == ["p3", "p9"]
    assert either.peek(1) == ["p3"]
    assert either(either.queue.size()) == 3


def test_peek_leaves_out_an_id_without_payload(bench):
    bench(bench.queue.push([X, Message(id="y")]))
    bench.drop_payload("x")
    assert bench.peek(10) == ["y"]


def test_one_id_without_payload_spoils_the_peek_of_the_original(original):
    original(original.queue.push([X, Message(id="y")]))
    original.drop_payload("x")
    with pytest.raises(PayloadError, match="no payload is stored for 'x'"):
        original(original.queue.peek(10))


def test_get_finds_waiting_and_leased_messages_and_nothing_else(either):
    either.lease(X)
    assert either(either.queue.get("x")).payload == "p"
    assert either(either.queue.get("some fake id")) is None


def test_a_lease_can_be_moved_and_nothing_else_can(either):
    assert either(either.queue.set_unack_timeout("x", timeout_ms=5)) is False
    either.push(X)
    assert either(either.queue.set_unack_timeout("x", timeout_ms=5)) is False
    either(either.queue.pop(1))
    assert either(either.queue.set_unack_timeout("x", timeout_ms=5)) is True
    assert either.content().unacked == {"a": {"x": EPOCH_MS + 5}}


def test_set_timeout_moves_a_waiting_message_and_keeps_its_priority(bench):
    bench.push(X)
    assert bench(bench.queue.set_timeout("x", timeout_ms=20)) is True
    assert bench.content().waiting == {"a": {"x": EPOCH_MS + 20.5}}
    stored = bench(bench.queue.get("x"))
    assert (stored.timeout_ms, stored.priority, stored.payload) == (20, 50, "p")


def test_set_timeout_of_the_original_forgets_the_priority_in_the_score(original):
    original.push(X)
    assert original(original.queue.set_timeout("x", timeout_ms=20)) is True
    assert original.content().waiting == {"a": {"x": EPOCH_MS + 20}}


def test_set_timeout_does_not_touch_a_leased_message(either):
    either.lease(X)
    before = either.content()
    assert either(either.queue.set_timeout("x", timeout_ms=20)) is False
    assert either.content() == before


def test_remove_deletes_a_waiting_and_a_leased_message_and_its_payload(bench):
    for prepare in (bench.push, bench.lease):
        prepare(X)
        assert bench(bench.queue.remove("x")) is True
        assert bench.states("x") == [""]
        assert bench(bench.queue.remove("x")) is False


def test_remove_takes_a_doubled_message_out_of_every_shard(lab):
    bench = Bench(lab, strategy=RoundRobin())
    bench(bench.queue.push([X, X, X]))
    assert bench(bench.queue.remove("x")) is True
    assert bench.states("x") == [""]


def test_remove_deletes_an_orphaned_payload(bench):
    bench.store_payload("x", "{}")
    assert bench(bench.queue.remove("x")) is True
    assert bench.states("x") == [""]


def test_remove_of_the_original_denies_and_leaks_a_leased_message(original):
    original.lease(X)
    assert original(original.queue.remove("x")) is False
    assert original.states("x") == ["H"]


def test_remove_of_the_original_ends_at_the_first_shard(lab):
    bench = Bench(lab, strategy=RoundRobin(), compat=True)
    bench(bench.queue.push([X, X]))
    assert bench(bench.queue.remove("x")) is True
    assert bench.states("x") == ["Q:c"]


def test_ensure_pushes_what_is_neither_waiting_nor_leased(either):
    assert either(either.queue.ensure(X)) is True
    assert either(either.queue.ensure(X)) is False
    either(either.queue.pop(1))
    assert either(either.queue.ensure(X)) is False
    either(either.queue.ack("x"))
    assert either(either.queue.ensure(X)) is True


def test_sizes_count_waiting_delayed_and_leased_messages_of_every_shard(lab):
    bench = Bench(lab, strategy=RoundRobin())
    bench(bench.queue.push([Message(id=str(number), timeout_ms=number) for number in range(7)]))
    bench(bench.queue.pop(1))
    bench.clock.advance(2)
    assert len(bench(bench.queue.pop(1))) == 1
    assert bench(bench.queue.size()) == 6
    assert bench(bench.queue.shard_sizes()) == {
        "a": ShardSize(waiting=1, unacked=1),
        "b": ShardSize(waiting=3, unacked=0),
        "c": ShardSize(waiting=2, unacked=0),
    }


def test_clear_leaves_no_key(lab):
    bench = Bench(lab, strategy=RoundRobin())
    bench(bench.queue.push([Message(id=str(number)) for number in range(9)]))
    bench(bench.queue.pop(1))
    bench(bench.queue.clear())
    keys = bench.queue.keys
    names = [keys.messages, *[key for shard in "abc" for key in (keys.queue_of(shard), keys.unack(shard))]]
    assert bench.redis("EXISTS", *names) == 0


def test_ack_finds_the_lease_in_whatever_shard_it_is(bench):
    bench.lease(X)
    assert bench(bench.another(shard="c").ack("x")) is True
    assert bench.states("x") == [""]


def test_ack_of_a_waiting_message_is_refused_and_changes_nothing(either):
    either.push(X)
    before = either.content()
    assert either(either.queue.ack("x")) is False
    assert either.content() == before
