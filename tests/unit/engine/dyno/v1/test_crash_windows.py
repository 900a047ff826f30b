"""A client that dies after any command of an operation leaves the message in a known state, and it mends as documented.

Method: a connection that breaks at the k-th command, for every k and both ways (the command was not applied; it was,
but its reply is lost), on a simulated server, then the server's content as a state: H payload, Q:x waiting in shard
x, U:x leased in shard x. The queue serves shard b and the message is pushed there, so shard a is searched before it.
docs/dyno-windows.md has what three zones do when a program ends so, in simulation and on real servers.
"""

import pytest
from support.engine.dyno import CuttingConnection
from support.engine.dyno_bench import LEASE_MS, DynoBench

from zonelab.engine.dyno import LocalOnly, PushFailure
from zonelab.engine.dyno.v1 import ack
from zonelab.engine.message import Message
from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable

X = Message(id="x", payload="first", priority=7)
WAITING, LEASED, ORPHAN, BLOCKED, GONE = "H Q:b", "H U:b", "H", "H Q:b U:b", ""
APPLIED = {"not applied": None, "applied": 1, "lost": 0}
"""Of the command that fails; ``lost``: the client sent it, but it never arrived."""


class BreakingBench(DynoBench):
    """A queue that serves shard b, and a way to break its next operation."""

    def __init__(self, lab, **settings):
        self.connection = CuttingConnection(lab.direct("a"))
        super().__init__(lab, shard="b", strategy=LocalOnly("b"), **settings)

    def another(self, connection=None, **settings):
        return super().another(connection or self.connection, **settings)

    def state(self):
        return self.content().state("x")

    def break_at(self, k, how, operation):
        """Run ``operation`` so that its command number ``k``, from 1, fails; returns the error."""
        self.connection.cut(after_pipelines=k - 1, applied=APPLIED[how])
        with pytest.raises(PortError) as raised:
            self(operation)
        self.connection.mend()
        return raised.value


@pytest.fixture
def bench(lab):
    return BreakingBench(lab)


def pushed(bench):
    bench.push(X, into="b")
    assert bench.state() == WAITING


def leased(bench):
    pushed(bench)
    (delivery,) = bench(bench.queue.pop(1))
    assert (delivery.message.payload, bench.state()) == ("first", LEASED)


def windows(count, *, partly=Indeterminate, **writes):
    """Each window of an operation of ``count`` commands: number of the command, how it fails, error, and what is left.

    ``writes``: what is there ``before`` and after each command that changes something, as in ``at4``. ``partly``: the
    error if only a part of them was carried out.
    """
    states = {0 if name == "before" else int(name.removeprefix("at")): state for name, state in writes.items()}
    first = sorted(states)[1]

    def left(done):
        return states[max(k for k in states if k <= done)]

    cut = [(k, "not applied", Unavailable if k <= first else partly, left(k - 1)) for k in range(1, count + 1)]
    return cut + [(k, "applied", Indeterminate, state) for k, state in states.items() if k]


def expired(bench):
    leased(bench)
    bench.clock.advance(LEASE_MS)


OPERATIONS = {
    "push": lambda queue: queue.push([X]),
    "pop": lambda queue: queue.pop(1),
    "ack": lambda queue: queue.ack("x"),
    "remove": lambda queue: queue.remove("x"),
    "requeue": lambda queue: queue.process_unacks(),
    "set_timeout": lambda queue: queue.set_timeout("x", timeout_ms=500),
    "clear": lambda queue: queue.clear(),
}
BOTH, DEFAULT, ORIGINAL = (False, True), (False,), (True,)
TABLE = [
    (BOTH, None, "push", windows(2, partly=Unavailable, before=GONE, at1=ORPHAN, at2=WAITING), WAITING),
    # The range read, ZADD NX, ZREM, HGET.
    (BOTH, pushed, "pop", windows(4, before=WAITING, at2=BLOCKED, at3=LEASED), WAITING),
    # ZREM in shard a, where it is not, and in shard b, HDEL.
    (BOTH, leased, "ack", windows(3, before=LEASED, at2=ORPHAN, at3=GONE), GONE),
    # ZREM U:a, ZREM Q:a, ZREM U:b, ZREM Q:b, ZREM U:c, ZREM Q:c, HDEL.
    (DEFAULT, pushed, "remove", windows(7, before=WAITING, at4=ORPHAN, at7=GONE), GONE),
    (DEFAULT, leased, "remove", windows(7, before=LEASED, at3=ORPHAN, at7=GONE), GONE),
    (ORIGINAL, pushed, "remove", windows(5, before=WAITING, at4=ORPHAN, at5=GONE), GONE),
    # ZCARD of three shards, the range read, HGET, ZADD, ZREM.
    (BOTH, expired, "requeue", windows(7, partly=Unavailable, before=LEASED, at6=BLOCKED, at7=WAITING), WAITING),
    # HGET, ZSCORE in a and in b, ZADD, HSET: the due time is written first.
    (BOTH, pushed, "set_timeout", windows(5, before=WAITING, at4=WAITING, at5=WAITING), WAITING),
    # The sets of a, those of b, of which the waiting one comes first, those of c, the payloads.
    (BOTH, pushed, "clear", windows(7, before=WAITING, at3=ORPHAN, at7=GONE), GONE),
]
"""Modes (compat or not), what is there before, the operation, its windows, and what is there once it was mended."""


@pytest.mark.parametrize(
    ("compat", "begin", "name", "k", "how", "error", "state", "mended"),
    [(mode, *begin, *window, end) for modes, *begin, found, end in TABLE for mode in modes for window in found],
)
def test_a_broken_operation_mends_except_where_the_original_leaks(
    lab, compat, begin, name, k, how, error, state, mended
):
    """A second call mends it; after a pop it is the end of the lease."""
    bench, operation = BreakingBench(lab, compat=compat), OPERATIONS[name]
    if begin is not None:
        begin(bench)
    assert isinstance(bench.break_at(k, how, operation(bench.queue)), error)
    assert bench.state() == state
    if name == "pop":
        bench.clock.advance(LEASE_MS)
    bench((bench.queue.process_unacks if name == "pop" else lambda: operation(bench.queue))())
    leaks = compat and name in ("ack", "remove") and state == ORPHAN
    assert bench.state() == (ORPHAN if leaks else mended)


def test_a_broken_push_of_many_hands_over_the_receipts_of_those_before(bench):
    raised = bench.break_at(6, "not applied", bench.queue.push([Message(id=each) for each in "vwxy"]))
    assert isinstance(raised, PushFailure)
    assert isinstance(raised, Unavailable)
    assert ([receipt.id for receipt in raised.receipts], raised.failed_id) == (["v", "w"], "x")
    assert bench.states(*"vwxy") == [WAITING, WAITING, ORPHAN, GONE]


@pytest.mark.parametrize(("k", "how"), [(9, "not applied"), (8, "applied"), (5, "not applied"), (10, "not applied")])
def test_a_pop_that_breaks_after_leases_hands_them_over(bench, k, how):
    bench.push(*"uvwx", into="b")
    bench.connection.cut(after_pipelines=k - 1, applied=APPLIED[how])
    assert bench.pop(4) == list("uvw"[: (k - 2) // 3])
    assert bench.queue.counters.curtailed_pops == 1


def test_the_retry_of_an_ack_that_was_not_applied_leaves_a_requeued_message_alone(bench):
    leased(bench)
    bench.break_at(2, "not applied", bench.queue.ack("x"))
    bench.break_at(2, "lost", bench.queue.ack("x"))
    bench.clock.advance(LEASE_MS)
    bench(bench.queue.process_unacks())
    assert bench(bench.queue.ack("x")) is False
    assert bench.state() == WAITING


@pytest.mark.parametrize("here", [False, True], ids=["elsewhere", "here"])
def test_the_retry_of_an_ack_leaves_a_message_alone_that_was_pushed_again(bench, here):
    leased(bench)
    bench.break_at(3, "not applied", bench.queue.ack("x"))
    bench((bench.queue if here else bench.another()).push([X]))
    assert bench(bench.queue.ack("x")) is not here
    assert bench.state() == WAITING


def test_the_latest_interrupted_acks_are_remembered_and_the_oldest_is_forgotten(bench, monkeypatch):
    monkeypatch.setattr(ack, "INTERRUPTED_ACKS_MAX", 3)
    names = ["d", "a", "c", "b"]
    bench.push(*names, into="b")
    assert sorted(bench.pop(4)) == sorted(names)
    for name in names:
        bench.break_at(3, "not applied", bench.queue.ack(name))
    assert [bench(bench.queue.ack(name)) for name in names] == [False, True, True, True]
    assert [bench.content().state(name) for name in names] == [ORPHAN, GONE, GONE, GONE]


def test_a_second_ack_by_another_consumer_is_not_counted_as_a_finished_first_one(bench):
    leased(bench)
    bench.break_at(2, "lost", bench.queue.ack("x"))
    assert bench(bench.another().ack("x")) is True
    assert bench(bench.queue.ack("x")) is False


def test_a_broken_ack_of_many_hands_over_the_answers_before(bench):
    bench(bench.queue.push([Message(id="v"), X]))
    bench.pop(2)
    raised = bench.break_at(7, "not applied", bench.queue.ack_all(["v", "nothing", "x"]))
    assert isinstance(raised, Unavailable)
    assert (raised.acked, raised.failed_id) == ((True, False), "x")
    assert bench(bench.queue.ack_all(["v", "nothing", "x"])) == [False, False, True]


class Refusing:
    """The server answers the command after ``allowed`` others with an error reply."""

    def __init__(self, inner, allowed):
        self._inner, self._left = inner, allowed

    async def execute(self, *commands):
        self._left -= 1
        return [ServerError("LOADING")] if self._left == -1 else await self._inner.execute(*commands)


@pytest.mark.parametrize(
    ("allowed", "error"), [(0, ServerError), (1, ServerError), (2, Indeterminate), (3, Indeterminate)]
)
def test_an_error_reply_is_raised_and_after_an_effect_it_is_indeterminate(bench, allowed, error):
    pushed(bench)
    with pytest.raises(error, match="LOADING"):
        bench(bench.another(Refusing(bench.direct, allowed)).pop(1))


def test_an_error_reply_to_a_push_is_a_server_error_with_receipts(bench):
    with pytest.raises(ServerError, match="LOADING") as raised:
        bench(bench.another(Refusing(bench.direct, 3)).push([Message(id="w"), X]))
    assert isinstance(raised.value, PushFailure)
    assert [receipt.id for receipt in raised.value.receipts] == ["w"]
