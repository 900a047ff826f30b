"""Each operation of the pipelined queue sends the original's commands, in pipelines, over the right connection.

Method: one table. Connections note every pipeline, ``Q`` for the quorum and ``N`` for the local one, on a simulated
server and a clock that stands still; keys without what all have in common, scripts as their names. With ``compat`` the
pipelines are exactly those of the original; lines that hold in one mode only begin with its name.
"""

import pytest
from support.engine.dyno import EPOCH_MS, Interceptor
from support.engine.dyno_v2 import PipelinedBench

from zonelab.engine.dyno.mechanisms import FOREVER_MS, DynoMechanism
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

    lines = [(label.removeprefix(f"{mode}: "), *commands) for label, *commands in expected]
    assert sent(bench, operation) == [line for line in lines if line[0] in "QN"]


def sent(bench, operation):
    def word(part):
        text = "requeue" if part == REQUEUE else part.decode() if isinstance(part, bytes) else str(part)
        return text.replace("test.", "").replace(f".{bench.queue.keys.tag}", "")

    return bench.sent(operation, word=word)


def of_all_buckets(until):
    return [("N", "ZCARD QUEUE"), ("N", *(one.replace("END", str(until)) for one in ENDED))]


# fmt: off
ENDED = [f"ZRANGEBYSCORE UNACK.{bucket} 0 END WITHSCORES LIMIT 0 1000" for bucket in BUCKETS]
GOT = ("Q", "HGET MSG.17 id1")
FOREVER_RANGE = RANGE.replace(str(NOW + 1), str(FOREVER_MS))
LISTED = f"ZADD QUEUE {NOW + 0.05} id1"
LEASED, REMOVED = ("Q", f"ZADD UNACK.17 NX {END} id1"), ("Q", "ZREM QUEUE id1")
WITHOUT = [
    ("unack-handler", lambda queue: queue.process_unacks(), of_all_buckets(-1)),
    ("lease-end-check", lambda queue: queue.process_unacks(), of_all_buckets(FOREVER_MS)),
    ("lease-nx", lambda queue: queue.pop(1), [("N", f"{RANGE} 1"), ("Q", f"ZADD UNACK.17 {END} id1"), REMOVED, GOT]),
    ("lease-before-remove", lambda queue: queue.pop(1), [("N", f"{RANGE} 1"), REMOVED, LEASED, GOT]),
    ("quorum-payload-read", lambda queue: queue.pop(1), [("N", f"{RANGE} 1"), LEASED, REMOVED, ("N", *GOT[1:])]),
    ("due-check", lambda queue: queue.pop(1), [("N", f"{FOREVER_RANGE} 1"), LEASED, REMOVED, GOT]),
    ("payload-before-id", lambda queue: queue.push([X]), [("Q", LISTED, HSET_X)]),
    ("ack-lease-first", lambda queue: queue.ack("id1"), [("Q", "HDEL MSG.17 id1"), ("Q", "ZREM UNACK.17 id1")]),
]
# fmt: on


@pytest.mark.parametrize(("off", "operation", "expected"), WITHOUT, ids=[row[0] for row in WITHOUT])
def test_without_a_mechanism_other_commands_are_sent(lab, off, operation, expected):
    bench = PipelinedBench(lab, compat=False, unack_ms=LEASE_MS, without=(DynoMechanism(off),))
    bench.run(bench.queue.push([X]))
    assert sent(bench, operation) == expected


@pytest.mark.parametrize(
    ("without", "at", "popped", "state"),
    [
        ((), "ZADD", [], "H U"),
        (("remove-check",), "ZADD", ["id1"], "H U"),
        (("lease-before-remove",), "ZREM", [], "H"),
    ],
)
def test_a_message_that_another_consumer_removed_meanwhile_is_a_miss_but_without_the_check(
    lab, without, at, popped, state
):
    bench = PipelinedBench(lab, compat=False, unack_ms=LEASE_MS, without=without)
    bench.run(bench.queue.push([X]))

    async def removed():
        await bench.direct.execute(("ZREM", bench.queue.keys.waiting, "id1"))

    slow = bench.another(Interceptor(bench.direct, at, removed))
    assert bench.outcome(slow.pop(1)) == popped
    assert bench.content().state("id1") == state
