"""Each operation of the pipelined queue sends the original's commands, in pipelines, over the right connection.

Method: connections that note every pipeline, ``Q`` for the quorum and ``N`` for the local one, on a simulated server
and a clock that stands still. With ``compat`` the pipelines are exactly those of the original.
"""

import pytest
from support.engine.dyno import EPOCH_MS, SettableClock
from support.engine.dyno_v2 import CuttingConnection, make_pipelined

from engine.dyno.v2.steps import REQUEUE
from engine.message import Message

X = Message(id="id1", payload="p", priority=5)  # bucket 17
Y = Message(id="1", payload="q")  # bucket 19
LEASE_END = EPOCH_MS + 60_000


class Recorded:
    def __init__(self, lab, *, compat):
        self.lab = lab
        self.compat = compat
        self.clock = SettableClock()
        self.log = []
        self.queue = make_pipelined(
            CuttingConnection(lab.direct("a"), label="Q", log=self.log),
            local=CuttingConnection(lab.direct("a"), label="N", log=self.log),
            runtime=lab.runtime,
            clock=self.clock,
            compat=compat,
        )
        self.keys = self.queue.keys

    def run(self, operation):
        return self.lab.run(operation)

    def sent(self, operation):
        """What the operation sends, one entry a round trip, keys without what all have in common."""
        self.log.clear()
        self.run(operation)
        return [
            (label, *(" ".join(self._word(word) for word in command) for command in commands))
            for label, commands in self.log
        ]

    def _word(self, word):
        text = "requeue" if word == REQUEUE else word.decode() if isinstance(word, bytes) else str(word)
        return text.replace("test.", "").replace(f".{self.keys.tag}", "")


@pytest.fixture
def make_bench():
    return Recorded


def json_of(message, **changes):
    fields = {"timeout": message.timeout_ms, "priority": message.priority, **changes}
    return (
        f'{{"id":"{message.id}","payload":"{message.payload}",'
        f'"timeout":{fields["timeout"]},"priority":{fields["priority"]}}}'
    )


def pushed(bench):
    bench.run(bench.queue.push([X]))


def leased(bench):
    pushed(bench)
    bench.run(bench.queue.pop(1))


# fmt: off
TABLE = [
    ("push is one pipeline with each payload before its id", None, lambda queue: queue.push([X, Y]),
     [("Q", f"HSET MSG.17 id1 {json_of(X)}", f"ZADD QUEUE {EPOCH_MS + 0.05} id1",
       f"HSET MSG.19 1 {json_of(Y)}", f"ZADD QUEUE {float(EPOCH_MS)} 1")]),
    ("a push of nothing sends nothing", None, lambda queue: queue.push([]), []),
    ("a batch ack is two pipelines and deletes only what had a lease",
     leased, lambda queue: queue.ack_all(["id1", "1"]),
     [("Q", "ZREM UNACK.17 id1", "ZREM UNACK.19 1"), ("Q", "HDEL MSG.17 id1")]),
    ("a batch ack of nothing", None, lambda queue: queue.ack_all([]), []),
    ("ack of one is two round trips", leased, lambda queue: queue.ack("id1"),
     [("Q", "ZREM UNACK.17 id1"), ("Q", "HDEL MSG.17 id1")]),
    ("ack of what has no lease is one", pushed, lambda queue: queue.ack("id1"), [("Q", "ZREM UNACK.17 id1")]),
    ("get is a quorum read", None, lambda queue: queue.get("id1"), [("Q", "HGET MSG.17 id1")]),
    ("set_unack_timeout reads and then overwrites the lease",
     leased, lambda queue: queue.set_unack_timeout("id1", timeout_ms=5),
     [("Q", "ZSCORE UNACK.17 id1"), ("Q", f"ZADD UNACK.17 {EPOCH_MS + 5} id1")]),
    ("set_unack_timeout of what has no lease", None, lambda queue: queue.set_unack_timeout("1", timeout_ms=5),
     [("Q", "ZSCORE UNACK.19 1")]),
    ("remove clears lease, list and payload", None, lambda queue: queue.remove("id1"),
     [("Q", "ZREM UNACK.17 id1"), ("Q", "ZREM QUEUE id1"), ("Q", "HDEL MSG.17 id1")]),
    ("size reads the local replica", None, lambda queue: queue.size(), [("N", "ZCARD QUEUE")]),
]
# fmt: on


@pytest.mark.parametrize(("before", "operation", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_in_both_modes_an_operation_sends_these_commands(bench, before, operation, expected):
    if before is not None:
        before(bench)
    assert bench.sent(operation(bench.queue)) == expected


def test_pop_is_a_range_read_and_three_pipelines(bench):
    bench.run(bench.queue.push([Y, X]))
    assert bench.sent(bench.queue.pop(2)) == [
        ("Q" if bench.compat else "N", f"ZRANGEBYSCORE QUEUE 0 {EPOCH_MS + 1} LIMIT 0 2"),
        ("Q", f"ZADD UNACK.19 NX {LEASE_END} 1", f"ZADD UNACK.17 NX {LEASE_END} id1"),
        ("Q", "ZREM QUEUE 1", "ZREM QUEUE id1"),
        ("Q", "HGET MSG.19 1", "HGET MSG.17 id1"),
    ]


def test_peek_reads_payloads_together_or_in_the_original_one_by_one(default, original):
    for each in (default, original):
        each.run(each.queue.push([Y, X]))
    read = f"ZRANGEBYSCORE QUEUE 0 {EPOCH_MS + 1} LIMIT 0 5"
    assert default.sent(default.queue.peek(5)) == [("N", read), ("N", "HGET MSG.19 1", "HGET MSG.17 id1")]
    assert original.sent(original.queue.peek(5)) == [("Q", read), ("Q", "HGET MSG.19 1"), ("Q", "HGET MSG.17 id1")]


def test_set_timeout_keeps_the_priority_and_by_default_lists_only_what_waits(bench):
    flags = "" if bench.compat else "XX CH "
    pushed(bench)
    assert bench.sent(bench.queue.set_timeout("id1", timeout_ms=7)) == [
        ("Q", "HGET MSG.17 id1"),
        ("Q", "ZSCORE QUEUE id1"),
        ("Q", f"ZADD QUEUE {flags}{EPOCH_MS + 7.05} id1"),
        ("Q", f"HSET MSG.17 id1 {json_of(X, timeout=7)}"),
    ]


def test_shard_sizes_reads_33_keys_in_one_pipeline_or_in_the_original_one_by_one(default, original):
    commands = ["ZCARD QUEUE", *(f"ZCARD UNACK.{bucket}" for bucket in range(32))]
    assert default.sent(default.queue.shard_sizes()) == [("N", *commands)]
    assert original.sent(original.queue.shard_sizes()) == [("N", command) for command in commands]


def test_clear_deletes_65_keys_in_one_pipeline_or_in_the_original_one_by_one(default, original):
    buckets = [f"DEL {kind}.{bucket}" for bucket in range(32) for kind in ("UNACK", "MSG")]
    assert default.sent(default.queue.clear()) == [("Q", "DEL QUEUE", *buckets)]
    assert original.sent(original.queue.clear()) == [("Q", command) for command in ("DEL QUEUE", *buckets)]


def test_ensure_asks_for_both_places_at_once(default):
    sent = default.sent(default.queue.ensure(X))
    assert sent[0] == ("Q", "ZSCORE QUEUE id1", "ZSCORE UNACK.17 id1")
    assert len(sent) == 2
    assert default.sent(default.queue.ensure(X)) == [("Q", "ZSCORE QUEUE id1", "ZSCORE UNACK.17 id1")]


def test_the_handler_reads_all_buckets_in_one_pipeline(default):
    default.run(default.queue.push([X, Y]))
    default.run(default.queue.pop(2))
    default.run(default.queue.push([Message(id="0")]))  # bucket 31: a lease whose payload will be gone
    default.run(default.queue.pop(1))
    default.run(default.lab.direct("a").execute(("HDEL", default.keys.payload_of("0"), "0")))
    default.clock.advance(60_000)
    now = LEASE_END
    assert default.sent(default.queue.process_unacks()) == [
        ("N", "ZCARD QUEUE"),
        ("N", *(f"ZRANGEBYSCORE UNACK.{bucket} 0 {now} WITHSCORES LIMIT 0 1000" for bucket in range(32))),
        ("Q", "HGET MSG.17 id1", "HGET MSG.19 1", "HGET MSG.31 0"),
        ("Q", "ZREM UNACK.31 0"),
        (
            "Q",
            f"EVAL requeue 2 QUEUE UNACK.17 {now} id1 {now + 0.05}",
            f"EVAL requeue 2 QUEUE UNACK.19 {now} 1 {float(now)}",
        ),
    ]


def test_the_originals_handler_goes_bucket_by_bucket_until_each_is_empty(original):
    leased(original)
    original.clock.advance(60_000)
    sent = original.sent(original.queue.process_unacks())

    def look(bucket):
        return [("N", "ZCARD QUEUE"), ("Q", f"ZRANGEBYSCORE UNACK.{bucket} 0 {LEASE_END} WITHSCORES LIMIT 0 1000")]

    moved = [("Q", "HGET MSG.17 id1"), ("Q", f"ZADD QUEUE {LEASE_END} id1", "ZREM UNACK.17 id1")]
    expected = [line for bucket in range(32) for line in (*look(bucket), *(moved + look(17) if bucket == 17 else []))]
    assert sent == expected
