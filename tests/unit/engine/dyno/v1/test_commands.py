"""Every operation sends the commands of the original, in its order, on its connection, one a round trip.

Method: one table. The commands are recorded on their way to a simulated server. Q is the quorum connection, N the local
one; keys are written H (payloads), Q:x and U:x (waiting and leased in shard x), scripts as their names, and times as
``now`` (when the message x was pushed and leased) and ``end`` (when its lease ends). The queue has the shards b and a,
in that order, and serves a, where everything is pushed. Lines that hold in one mode only begin with its name. A second
table has what is sent with a mechanism switched off.
"""

import pytest
from support.engine.dyno import EPOCH_MS, Interceptor
from support.engine.dyno_bench import DynoBench

from zonelab.engine.dyno.mechanisms import FOREVER_MS, DynoMechanism
from zonelab.engine.dyno.v1.scripts import ORIGINAL_SCRIPTS, SCRIPTS
from zonelab.engine.message import Message

LEASE_MS = 60_000
X = Message(id="x", payload="p", priority=3)
Y = Message(id="y", timeout_ms=500, shard="s")
X_PUSHED = ['Q HSET H x {"id":"x","payload":"p","timeout":0,"priority":3}', "Q ZADD Q:a now+0.03 x"]
DEPTH = ["N ZCARD Q:b", "N ZCARD Q:a"]
EXPIRED = [*DEPTH, "N ZRANGEBYSCORE U:a 0 end WITHSCORES LIMIT 0 1000"]
TAKEN = ["Q ZADD U:a NX end x", "Q ZREM Q:a x", "Q HGET H x"]
CHOSEN = ["Q HGET H x", "Q ZADD U:a NX end x", "Q ZREM Q:a x"]
EVERYWHERE = "5 H Q:b U:b Q:a U:a"


def place(lab, *, compat, without=()):
    return DynoBench(lab, compat=compat, shards=("b", "a"), unack_ms=LEASE_MS, without=without)


def sent(bench, operation):
    keys = bench.queue.keys
    names = {text: name for name, text in (ORIGINAL_SCRIPTS if bench.compat else SCRIPTS).items()}
    names |= {keys.messages: "H"}
    for shard in "ab":
        names |= {keys.queue_of(shard): f"Q:{shard}", keys.unack(shard): f"U:{shard}"}

    def word(part):
        text = part.decode() if isinstance(part, bytes) else str(part)
        if text.startswith(str(EPOCH_MS)[:4]):
            after_ms = round(float(text) - EPOCH_MS, 2)
            name, after_ms = ("end", after_ms - LEASE_MS) if after_ms >= LEASE_MS else ("now", after_ms)
            return f"{name}{after_ms:+g}" if after_ms else name
        return names.get(text, text)

    return [f"{label} {command}" for label, command in bench.sent(operation, word=word)]


def empty(bench):
    """Nothing has been pushed."""


def pushed(bench):
    bench.push(X)


def leased(bench):
    bench.lease(X)


def expired(bench):
    leased(bench)
    bench.clock.advance(LEASE_MS)


def expired_without_payload(bench):
    expired(bench)
    bench.drop_payload("x")


# fmt: off
TABLE = [
    ("push writes the payload and then the id, message by message", empty, lambda queue: queue.push([Y, X]),
     ['Q HSET H y {"id":"y","timeout":500,"priority":0,"shard":"s"}', "Q ZADD Q:a now+500 y", *X_PUSHED]),
    ("push of nothing", empty, lambda queue: queue.push([]), []),
    ("pop leases before it takes and takes before it reads", pushed, lambda queue: queue.pop(1),
     ["N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 1", *TAKEN]),
    ("pop of an empty queue", empty, lambda queue: queue.pop(5), ["N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 5"]),
    ("peek reads locally one by one", pushed, lambda queue: queue.peek(4),
     ["N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 4", "N HGET H x"]),
    ("ack searches the shards and deletes the payload last", leased, lambda queue: queue.ack("x"),
     ["Q ZREM U:b x", "Q ZREM U:a x", "Q HDEL H x"]),
    ("ack of what has no lease", pushed, lambda queue: queue.ack("x"), ["Q ZREM U:b x", "Q ZREM U:a x"]),
    ("get is a quorum read", empty, lambda queue: queue.get("x"), ["Q HGET H x"]),
    ("set_unack_timeout looks before it writes", leased, lambda queue: queue.set_unack_timeout("x", timeout_ms=70),
     ["Q ZSCORE U:b x", "Q ZSCORE U:a x", "Q ZADD U:a now+70 x"]),
    ("set_timeout reads the payload locally and writes score and payload",
     pushed, lambda queue: queue.set_timeout("x", timeout_ms=70),
     ["N HGET H x", "Q ZSCORE Q:b x", "Q ZSCORE Q:a x", "default: Q ZADD Q:a XX now+70.03 x",
      "compat: Q ZADD Q:a XX now+70 x", 'Q HSET H x {"id":"x","payload":"p","timeout":70,"priority":3}']),
    ("set_timeout of an unknown id", empty, lambda queue: queue.set_timeout("x", timeout_ms=70), ["N HGET H x"]),
    ("remove of a waiting message", pushed, lambda queue: queue.remove("x"),
     ["Q ZREM U:b x", "Q ZREM Q:b x", "Q ZREM U:a x", "Q ZREM Q:a x", "Q HDEL H x"]),
    ("remove of a leased message", leased, lambda queue: queue.remove("x"),
     ["Q ZREM U:b x", "Q ZREM Q:b x", "Q ZREM U:a x", "Q ZREM Q:a x", "default: Q HDEL H x"]),
    ("ensure reads every shard and then pushes", empty, lambda queue: queue.ensure(X),
     ["Q ZSCORE Q:b x", "Q ZSCORE U:b x", "Q ZSCORE Q:a x", "Q ZSCORE U:a x", *X_PUSHED]),
    ("ensure of a waiting message", pushed, lambda queue: queue.ensure(X),
     ["Q ZSCORE Q:b x", "Q ZSCORE U:b x", "Q ZSCORE Q:a x"]),
    ("size is read locally", empty, lambda queue: queue.size(), DEPTH),
    ("shard_sizes are read locally", empty, lambda queue: queue.shard_sizes(),
     ["N ZCARD Q:b", "N ZCARD U:b", "N ZCARD Q:a", "N ZCARD U:a"]),
    ("clear deletes the sets and the payloads last", empty, lambda queue: queue.clear(),
     ["Q DEL Q:b", "Q DEL U:b", "Q DEL Q:a", "Q DEL U:a", "Q DEL H"]),
    ("process_unacks lists the message again before it ends the lease", expired, lambda queue: queue.process_unacks(),
     [*EXPIRED, "Q HGET H x", "default: Q ZADD Q:a end+0.03 x", "compat: Q ZADD Q:a end x", "Q ZREM U:a x"]),
    ("process_unacks of a lease without payload", expired_without_payload, lambda queue: queue.process_unacks(),
     [*EXPIRED, "Q HGET H x", "Q ZREM U:a x"]),
    ("atomic_process_unacks is a range read and one script", expired, lambda queue: queue.atomic_process_unacks(),
     [*EXPIRED, "default: Q EVAL process_unacks 3 H Q:a U:a end x",
      "compat: Q EVAL process_unacks 3 H Q:a U:a end x end"]),
    ("atomic_process_unacks of nothing", empty, lambda queue: queue.atomic_process_unacks(),
     [*DEPTH, "N ZRANGEBYSCORE U:a 0 now WITHSCORES LIMIT 0 1000"]),
    ("pop_with_id asks whether it is due, the original whether it is there, and reads before it leases",
     pushed, lambda queue: queue.pop_with_id("x"),
     ["default: N ZSCORE Q:a x", "compat: N ZRANK Q:a x", *CHOSEN]),
    ("pop_with_id of what does not wait", leased, lambda queue: queue.pop_with_id("x"),
     ["default: N ZSCORE Q:a x", "compat: N ZRANK Q:a x"]),
    ("the unsafe pop by id asks shard by shard in the order of the settings",
     pushed, lambda queue: queue.unsafe_pop_with_id_all_shards("x"),
     ["default: N ZSCORE Q:b x", "default: N ZSCORE Q:a x", "compat: N ZRANK Q:b x", "compat: N ZRANK Q:a x", *CHOSEN]),
    ("the unsafe pop reads the own shard first, the others for what is missing; by default looks again at the end",
     pushed, lambda queue: queue.unsafe_pop_all_shards(2),
     ["N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 2", "N ZRANGEBYSCORE Q:b 0 now+1 LIMIT 0 1", *TAKEN,
      "default: N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 2", "default: N ZRANGEBYSCORE Q:b 0 now+1 LIMIT 0 1"]),
    ("the bulk pop is a range read and one script", pushed, lambda queue: queue.bulk_pop(1),
     ["N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 1", "default: Q EVAL bulk_pop 3 H Q:a U:a 1 now+1 end 1 x",
      "compat: Q EVAL bulk_pop 3 H Q:a U:a 1 now+1 end x"]),
    ("the bulk pop of nothing is a script in the original only", empty, lambda queue: queue.bulk_pop(4),
     ["N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 4", "compat: Q EVAL bulk_pop 3 H Q:a U:a 4 now+1 end"]),
    ("the unsafe bulk pop hands the script the shards of the candidates, the original every shard",
     pushed, lambda queue: queue.unsafe_bulk_pop(1),
     ["N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 1", "default: Q EVAL bulk_pop 3 H Q:a U:a 1 now+1 end 1 x",
      f"compat: Q EVAL bulk_pop {EVERYWHERE} 1 now+1 end x"]),
    ("the unsafe peek reads the head of every shard with scores, the original from the own one on and one too many",
     pushed, lambda queue: queue.unsafe_peek_all_shards(1),
     ["default: N ZRANGEBYSCORE Q:b 0 now+1 WITHSCORES LIMIT 0 1",
      "default: N ZRANGEBYSCORE Q:a 0 now+1 WITHSCORES LIMIT 0 1", "compat: N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 1",
      "compat: N ZRANGEBYSCORE Q:b 0 now+1 LIMIT 0 1", "N HGET H x"]),
    ("local_get looks at the local replica", empty, lambda queue: queue.local_get("x"), ["N HGET H x"]),
    ("get_all_messages as well", empty, lambda queue: queue.get_all_messages(), ["N HGETALL H"]),
    ("a search by pattern is a script on the local connection", empty, lambda queue: queue.get_msg_with_predicate("p+"),
     ["N EVAL find_by_pattern 1 H p+"]),
    ("a search by pattern in the own shard",
     empty, lambda queue: queue.get_msg_with_predicate("p+", own_shard_only=True),
     ["N EVAL find_by_pattern 2 H Q:a p+"]),
    ("contains_predicate is the same search", empty, lambda queue: queue.contains_predicate("p+"),
     ["N EVAL find_by_pattern 1 H p+"]),
    ("contains_predicate in the own shard", empty, lambda queue: queue.contains_predicate("p+", own_shard_only=True),
     ["N EVAL find_by_pattern 2 H Q:a p+"]),
    ("a pop by pattern is a script on the quorum connection", empty, lambda queue: queue.pop_msg_with_predicate("p+"),
     [f"Q EVAL pop_by_pattern {EVERYWHERE} p+ now+1 end"]),
    ("a pop by pattern from the own shard",
     empty, lambda queue: queue.pop_msg_with_predicate("p+", own_shard_only=True),
     ["Q EVAL pop_by_pattern 3 H Q:a U:a p+ now+1 end"]),
    ("the atomic remove is one script over every shard", empty, lambda queue: queue.atomic_remove("x"),
     [f"Q EVAL atomic_remove {EVERYWHERE} x"]),
    ("stale messages are looked for among the first ten due of every shard",
     lambda bench: (pushed(bench), bench.clock.advance(1)), lambda queue: queue.find_stale_messages(),
     ["N ZRANGEBYSCORE Q:b 0 now+1 LIMIT 0 10", "N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 10",
      "Q EVAL find_stale 3 H Q:a U:a x"]),
]
# fmt: on


@pytest.mark.parametrize("mode", ["default", "compat"])
@pytest.mark.parametrize(("before", "operation", "commands"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_an_operation_sends_exactly_these_commands(lab, before, operation, commands, mode):
    bench = place(lab, compat=mode == "compat")
    before(bench)
    other = {"default": "compat: ", "compat": "default: "}[mode]
    expected = [line.removeprefix(f"{mode}: ") for line in commands if not line.startswith(other)]
    assert sent(bench, operation) == expected


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("count", [0, -1])
@pytest.mark.parametrize(
    "operation", ["pop", "peek", "bulk_pop", "unsafe_bulk_pop", "unsafe_pop_all_shards", "unsafe_peek_all_shards"]
)
def test_of_none_nothing_is_sent(lab, operation, count, compat):
    assert sent(place(lab, compat=compat), lambda queue: getattr(queue, operation)(count)) == []


def leased_and_listed(bench):
    pushed(bench)
    bench.lease_of("x")


# fmt: off
READ = "N ZRANGEBYSCORE Q:a 0 now+1 LIMIT 0 1"
ENDS = f"N ZRANGEBYSCORE U:a 0 {FOREVER_MS} WITHSCORES LIMIT 0 1000"
REQUEUED = ["Q HGET H x", "Q ZADD Q:a end+0.03 x", "Q ZREM U:a x"]
WITHOUT = [
    ("unack-handler", expired, lambda queue: queue.process_unacks(),
     [*DEPTH, "N ZRANGEBYSCORE U:a 0 -1 WITHSCORES LIMIT 0 1000"]),
    ("lease-nx", leased_and_listed, lambda queue: queue.pop(1), [READ, "Q ZADD U:a end x", *TAKEN[1:]]),
    ("lease-nx", leased_and_listed, lambda queue: queue.pop_with_id("x"),
     ["N ZSCORE Q:a x", "Q HGET H x", "Q ZADD U:a end x", "Q ZREM Q:a x"]),
    ("lease-before-remove", pushed, lambda queue: queue.pop(1), [READ, TAKEN[1], TAKEN[0], TAKEN[2]]),
    ("requeue-before-unlease", expired, lambda queue: queue.process_unacks(),
     [*EXPIRED, "Q HGET H x", "Q ZREM U:a x", "Q ZADD Q:a end+0.03 x"]),
    ("ack-lease-first", leased, lambda queue: queue.ack("x"), ["Q HDEL H x", "Q ZREM U:b x", "Q ZREM U:a x"]),
    ("payload-before-id", empty, lambda queue: queue.push([X]), X_PUSHED[::-1]),
    ("quorum-payload-read", pushed, lambda queue: queue.pop(1), [READ, *TAKEN[:2], "N HGET H x"]),
    ("quorum-payload-read", expired, lambda queue: queue.process_unacks(), [*EXPIRED, "N HGET H x", *REQUEUED[1:]]),
    ("due-check", pushed, lambda queue: queue.pop(1), [f"N ZRANGEBYSCORE Q:a 0 {FOREVER_MS} LIMIT 0 1", *TAKEN]),
    ("lease-end-check", leased, lambda queue: queue.process_unacks(), [*DEPTH, ENDS, *REQUEUED]),
]
# fmt: on


@pytest.mark.parametrize(("off", "before", "operation", "commands"), WITHOUT)
def test_without_a_mechanism_other_commands_are_sent(lab, off, before, operation, commands):
    bench = place(lab, compat=False, without=(DynoMechanism(off),))
    before(bench)
    assert sent(bench, operation) == commands


@pytest.mark.parametrize(
    ("without", "at", "popped", "state"),
    [
        ((), "ZADD", [], "H U:a"),
        (("remove-check",), "ZADD", ["x"], "H U:a"),
        (("lease-before-remove",), "ZREM", [], "H"),
        (("lease-before-remove", "remove-check"), "ZREM", ["x"], "H U:a"),
    ],
)
def test_a_message_that_another_consumer_removed_meanwhile_is_a_miss_but_without_the_check(
    lab, without, at, popped, state
):
    bench = place(lab, compat=False, without=without)
    pushed(bench)

    async def removed():
        await bench.direct.execute(("ZREM", bench.queue.keys.queue_of("a"), "x"))

    slow = bench.another(Interceptor(bench.direct, at, removed))
    assert bench.outcome(slow.pop(1)) == popped
    assert bench.states("x") == [state]
