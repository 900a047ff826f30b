"""What the operations beside push, pop and ack answer, and what they leave behind, in both modes.

Method: a simulated server and a clock that stands still. All of it in long sequences: tests/property/test_dyno_model.
"""

import pytest
from support.engine.dyno import EPOCH_MS, SettableClock, make_queue
from support.engine.dyno_bench import X

import zonelab.engine.dyno
from zonelab.engine.message import Message


def test_the_package_exports_what_is_there():
    assert all(hasattr(zonelab.engine.dyno, name) for name in zonelab.engine.dyno.__all__)
    assert zonelab.engine.dyno.__all__ == sorted(zonelab.engine.dyno.__all__)


def test_pushes_go_round_the_shards_unless_a_strategy_is_given(lab):
    queue = make_queue(lab.direct("a"), runtime=lab.runtime, clock=SettableClock())
    receipts = lab.run(queue.push([Message(id=str(number), timeout_ms=5) for number in range(4)]))
    assert [receipt.shard for receipt in receipts] == ["b", "c", "a", "b"]
    assert {receipt.due_ms for receipt in receipts} == {EPOCH_MS + 5}


def test_a_message_that_cannot_be_written_stops_the_push_before_the_first_command(bench):
    with pytest.raises(ValueError, match="surrogates"):
        bench(bench.queue.push([X, Message(id="y", payload="\udfff")]))
    assert bench.content().payloads == {}


def test_a_lease_can_be_moved_and_nothing_else_can(either):
    assert either(either.queue.set_unack_timeout("x", timeout_ms=5)) is False
    either.push("x")
    assert either(either.queue.set_unack_timeout("x", timeout_ms=5)) is False
    either.pop(1)
    assert either(either.queue.set_unack_timeout("x", timeout_ms=5)) is True
    assert either.content().unacked == {"a": {"x": EPOCH_MS + 5}}


def test_ensure_pushes_what_is_neither_waiting_nor_leased(either):
    x = Message(id="x")
    assert either(either.queue.ensure(x)) is True
    assert either(either.queue.ensure(x)) is False
    either.pop(1)
    assert either(either.queue.ensure(x)) is False
    either(either.queue.ack("x"))
    assert either(either.queue.ensure(x)) is True


def test_remove_deletes_an_orphaned_payload(bench):
    bench.store_payload("x", "{}")
    assert bench(bench.queue.remove("x")) is True
    assert bench.states("x") == [""]
    assert bench(bench.queue.remove("x")) is False


def test_the_sizes_of_a_queue_are_those_of_every_shard(either):
    either.push("u", "v")
    either.push("w", into="b")
    either.pop(1)
    sizes = either(either.queue.shard_sizes())
    assert {shard: (size.waiting, size.unacked) for shard, size in sizes.items()} == {
        "a": (1, 1),
        "b": (1, 0),
        "c": (0, 0),
    }
    assert either(either.queue.size()) == 2
