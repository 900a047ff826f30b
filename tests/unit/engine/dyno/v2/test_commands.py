"""Each operation of the pipelined queue sends the original's commands, in pipelines, over the right connection.

Method: one table. Connections note every pipeline, ``Q`` for the quorum and ``N`` for the local one, on a simulated
server and a clock that stands still; keys without what all have in common, scripts as their names. With ``compat`` the
pipelines are exactly those of the original; lines that hold in one mode only begin with its name.
"""

import pytest
from support.engine.dyno import EPOCH_MS
from support.engine.dyno_v2 import PipelinedBench

from zonelab.engine.dyno.v2.steps import REQUEUE
from zonelab.engine.message import Message

X = Message(id="id1", payload="p", priority=5)  # bucket 17
Y = Message(id="1", payload="q")  # bucket 19
LEASE_MS = 60_000
NOW, END = EPOCH_MS, EPOCH_MS + LEASE_MS
HSET_X = 'HSET MSG.17 id1 {"id":"id1","payload":"p","timeout":0,"priority":5}'
RANGE = f"ZRANGEBYSCORE QUEUE 0 {NOW + 1} LIMIT 0"
BUCKETS = range(32)


def pushed(bench):
    bench.run(bench.queue.push([Y, X]))


def leased(bench):
    pushed(bench)
    assert bench.pop(2) == ["1", "id1"]


def ended(bench):
    """Leases, of which one has no payload."""
    leased(bench)
    bench.push("0")  # bucket 31
    bench.pop(1)
    bench.run(bench.direct.execute(("HDEL", bench.queue.keys.payload_of("0"), "0")))
    bench.clock.advance(LEASE_MS)


def of_the_originals_handler():
    """Bucket by bucket, until each is empty."""
    moved = {
        17: [("HGET MSG.17 id1",), (f"ZADD QUEUE {END} id1", "ZREM UNACK.17 id1")],
        19: [("HGET MSG.19 1",), (f"ZADD QUEUE {END} 1", "ZREM UNACK.19 1")],
        31: [("HGET MSG.31 0",), ("ZREM UNACK.31 0",)],
    }
    for bucket in BUCKETS:
        for after in (moved.get(bucket, []), []) if bucket in moved else ([],):
            yield "compat: N", "ZCARD QUEUE"
            yield "compat: Q", f"ZRANGEBYSCORE UNACK.{bucket} 0 {END} WITHSCORES LIMIT 0 1000"
            yield from (("compat: Q", *commands) for commands in after)


# fmt: off
TABLE = [
    ("push is one pipeline with each payload before its id", None, lambda queue: queue.push([X, Y]),
     [("Q", HSET_X, f"ZADD QUEUE {NOW + 0.05} id1",
       'HSET MSG.19 1 {"id":"1","payload":"q","timeout":0,"priority":0}', f"ZADD QUEUE {float(NOW)} 1")]),
    ("a push of nothing sends nothing", None, lambda queue: queue.push([]), []),
    ("pop is a range read and three pipelines", pushed, lambda queue: queue.pop(2),
     [("compat: Q", f"{RANGE} 2"), ("default: N", f"{RANGE} 2"),
      ("Q", f"ZADD UNACK.19 NX {END} 1", f"ZADD UNACK.17 NX {END} id1"),
      ("Q", "ZREM QUEUE 1", "ZREM QUEUE id1"), ("Q", "HGET MSG.19 1", "HGET MSG.17 id1")]),
    ("peek reads payloads together or in the original one by one", pushed, lambda queue: queue.peek(5),
     [("default: N", f"{RANGE} 5"), ("default: N", "HGET MSG.19 1", "HGET MSG.17 id1"),
      ("compat: Q", f"{RANGE} 5"), ("compat: Q", "HGET MSG.19 1"), ("compat: Q", "HGET MSG.17 id1")]),
    ("a batch ack is two pipelines and deletes only what had a lease",
     leased, lambda queue: queue.ack_all(["id1", "x"]),
     [("Q", "ZREM UNACK.17 id1", "ZREM UNACK.27 x"), ("Q", "HDEL MSG.17 id1")]),
    ("a batch ack of nothing", None, lambda queue: queue.ack_all([]), []),
    ("ack of one is two round trips", leased, lambda queue: queue.ack("id1"),
     [("Q", "ZREM UNACK.17 id1"), ("Q", "HDEL MSG.17 id1")]),
    ("ack of what has no lease is one", pushed, lambda queue: queue.ack("id1"), [("Q", "ZREM UNACK.17 id1")]),
    ("get is a quorum read", None, lambda queue: queue.get("id1"), [("Q", "HGET MSG.17 id1")]),
    ("set_unack_timeout reads and then overwrites the lease",
     leased, lambda queue: queue.set_unack_timeout("id1", timeout_ms=5),
     [("Q", "ZSCORE UNACK.17 id1"), ("Q", f"ZADD UNACK.17 {NOW + 5} id1")]),
    ("set_unack_timeout of what has no lease", None, lambda queue: queue.set_unack_timeout("1", timeout_ms=5),
     [("Q", "ZSCORE UNACK.19 1")]),
    ("set_timeout keeps the priority and by default lists only what waits",
     pushed, lambda queue: queue.set_timeout("id1", timeout_ms=7),
     [("Q", "HGET MSG.17 id1"), ("Q", "ZSCORE QUEUE id1"),
      ("compat: Q", f"ZADD QUEUE {NOW + 7.05} id1"), ("default: Q", f"ZADD QUEUE XX CH {NOW + 7.05} id1"),
      ("Q", HSET_X.replace('"timeout":0', '"timeout":7'))]),
    ("remove clears lease, list and payload", None, lambda queue: queue.remove("id1"),
     [("Q", "ZREM UNACK.17 id1"), ("Q", "ZREM QUEUE id1"), ("Q", "HDEL MSG.17 id1")]),
    ("size reads the local replica", None, lambda queue: queue.size(), [("N", "ZCARD QUEUE")]),
    ("shard_sizes reads 33 keys", None, lambda queue: queue.shard_sizes(),
     [("default: N", "ZCARD QUEUE", *(f"ZCARD UNACK.{bucket}" for bucket in BUCKETS)),
      ("compat: N", "ZCARD QUEUE"), *(("compat: N", f"ZCARD UNACK.{bucket}") for bucket in BUCKETS)]),
    ("clear deletes 65 keys", None, lambda queue: queue.clear(),
     [("default: Q", "DEL QUEUE", *(f"DEL {kind}.{bucket}" for bucket in BUCKETS for kind in ("UNACK", "MSG"))),
      ("compat: Q", "DEL QUEUE"),
      *(("compat: Q", f"DEL {kind}.{bucket}") for bucket in BUCKETS for kind in ("UNACK", "MSG"))]),
    ("the handler reads all buckets in one pipeline", ended, lambda queue: queue.process_unacks(),
     [("default: N", "ZCARD QUEUE"),
      ("default: N", *(f"ZRANGEBYSCORE UNACK.{bucket} 0 {END} WITHSCORES LIMIT 0 1000" for bucket in BUCKETS)),
      ("default: Q", "HGET MSG.17 id1", "HGET MSG.19 1", "HGET MSG.31 0"), ("default: Q", "ZREM UNACK.31 0"),
      ("default: Q", f"EVAL requeue 2 QUEUE UNACK.17 {END} id1 {END + 0.05}",
       f"EVAL requeue 2 QUEUE UNACK.19 {END} 1 {float(END)}"),
      *of_the_originals_handler()]),
]
ENSURED = ("Q", "ZSCORE QUEUE id1", "ZSCORE UNACK.17 id1")
DEFAULT_TABLE = [
    ("ensure asks for both places at once", None, lambda queue: queue.ensure(X),
     [ENSURED, ("Q", HSET_X, f"ZADD QUEUE {NOW + 0.05} id1")]),
    ("ensure of what is there", pushed, lambda queue: queue.ensure(X), [ENSURED]),
]
# fmt: on

CASES = [(mode, *row) for mode in ("default", "compat") for row in TABLE] + [("default", *row) for row in DEFAULT_TABLE]


@pytest.mark.parametrize(
    ("mode", "before", "operation", "expected"),
    [(mode, *row) for mode, _, *row in CASES],
    ids=[f"{mode}: {name}" for mode, name, *_ in CASES],
)
def test_an_operation_sends_exactly_these_commands(lab, mode, before, operation, expected):
    bench = PipelinedBench(lab, compat=mode == "compat", unack_ms=LEASE_MS)
    if before is not None:
        before(bench)

    def word(part):
        text = "requeue" if part == REQUEUE else part.decode() if isinstance(part, bytes) else str(part)
        return text.replace("test.", "").replace(f".{bench.queue.keys.tag}", "")

    lines = [(label.removeprefix(f"{mode}: "), *commands) for label, *commands in expected]
    assert bench.sent(operation, word=word) == [line for line in lines if line[0] in "QN"]
