"""A client that dies after any command of an operation leaves the message in a known state, and it mends as documented.

Method: a connection that breaks at the k-th command, for every k and both ways (the command was not applied; it was,
but its reply is lost), on a simulated server, then the server's content as a state: H payload, Q:x waiting in shard
x, U:x leased in shard x. The queue serves shard b and the message is pushed there, so shard a is searched before it.
docs/dyno-windows.md has what three zones do when a program ends so, in simulation and on real servers.
"""

import pytest
from support.engine.dyno import CuttingConnection
from support.engine.dyno_bench import LEASE_MS, DynoBench

from engine.dyno import LocalOnly, PushFailure
from engine.message import Message
from engine.ports import Indeterminate, PortError, ServerError, Unavailable

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


@pytest.fixture
def original(lab):
    return BreakingBench(lab, compat=True)


@pytest.fixture(params=[False, True], ids=["default", "compat"])
def either(request, lab):
    return BreakingBench(lab, compat=request.param)


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


def in_each(found):
    return pytest.mark.parametrize(("k", "how", "error", "state"), found)


@in_each(windows(2, partly=Unavailable, before=GONE, at1=ORPHAN, at2=WAITING))
def test_a_broken_push_leaves_nothing_an_orphan_or_the_message_and_a_retry_mends_it(either, k, how, error, state):
    raised = either.break_at(k, how, either.queue.push([X]))
    assert isinstance(raised, error)
    assert (raised.receipts, raised.failed_id) == ((), "x")
    assert either.state() == state
    either(either.queue.push([X]))
    assert either.state() == WAITING


# The range read, ZADD NX, ZREM, HGET.
@in_each(windows(4, before=WAITING, at2=BLOCKED, at3=LEASED))
def test_a_broken_pop_never_unlists_the_message_and_it_comes_back_when_the_lease_ends(either, k, how, error, state):
    pushed(either)
    assert isinstance(either.break_at(k, how, either.queue.pop(1)), error)
    assert either.state() == state
    if state == BLOCKED:
        assert either.pop(1) == []
        assert either.queue.counters.misses == 1
    either.clock.advance(LEASE_MS)
    either(either.queue.process_unacks())
    assert either.state() == WAITING
    (delivery,) = either(either.queue.pop(1))
    assert (delivery.message.payload, delivery.message.priority) == ("first", 7)
    assert either.state() == LEASED


# ZREM in shard a, where it is not, and in shard b, HDEL.
@in_each(windows(3, before=LEASED, at2=ORPHAN, at3=GONE))
def test_the_retry_of_a_broken_ack_finishes_it_and_in_the_original_leaks_the_payload(either, k, how, error, state):
    leased(either)
    assert isinstance(either.break_at(k, how, either.queue.ack("x")), error)
    assert either.state() == state
    finishes = state == LEASED or not either.compat
    assert either(either.queue.ack("x")) is finishes
    assert either.state() == (GONE if finishes else state)
    assert either(either.queue.ack("x")) is False


# ZREM U:a, ZREM Q:a, ZREM U:b, ZREM Q:b, ZREM U:c, ZREM Q:c, HDEL.
REMOVE_WINDOWS = {
    pushed: windows(7, before=WAITING, at4=ORPHAN, at7=GONE),
    leased: windows(7, before=LEASED, at3=ORPHAN, at7=GONE),
}


@pytest.mark.parametrize(
    ("begin", "k", "how", "error", "state"),
    [(begin, *each) for begin, found in REMOVE_WINDOWS.items() for each in found],
)
def test_a_broken_remove_is_finished_by_its_retry(bench, begin, k, how, error, state):
    begin(bench)
    assert isinstance(bench.break_at(k, how, bench.queue.remove("x")), error)
    assert bench.state() == state
    assert bench(bench.queue.remove("x")) is (state != GONE)
    assert bench.state() == GONE


@in_each(windows(5, before=WAITING, at4=ORPHAN, at5=GONE))
def test_a_broken_remove_of_the_original_leaks_the_payload_for_good(original, k, how, error, state):
    pushed(original)
    assert isinstance(original.break_at(k, how, original.queue.remove("x")), error)
    assert original.state() == state
    assert original(original.queue.remove("x")) is (state == WAITING)
    assert original.state() == (GONE if state == WAITING else state)


# ZCARD of three shards, the range read, HGET, ZADD, ZREM.
@in_each(windows(7, partly=Unavailable, before=LEASED, at6=BLOCKED, at7=WAITING))
def test_a_broken_requeue_never_unlists_the_message_and_the_next_run_mends_it(either, k, how, error, state):
    leased(either)
    either.clock.advance(LEASE_MS)
    assert isinstance(either.break_at(k, how, either.queue.process_unacks()), error)
    assert either.state() == state
    either(either.queue.process_unacks())
    assert either.state() == WAITING


# HGET, ZSCORE in a and in b, ZADD, HSET: the due time is written first.
@in_each(windows(5, before=WAITING, at4=WAITING, at5=WAITING))
def test_a_broken_set_timeout_keeps_the_message_waiting_and_a_retry_completes_it(either, k, how, error, state):
    pushed(either)
    assert isinstance(either.break_at(k, how, either.queue.set_timeout("x", timeout_ms=500)), error)
    assert either.state() == state
    assert either(either.queue.set_timeout("x", timeout_ms=500)) is True
    assert either.pop(1) == []
    either.clock.advance(501)
    (delivery,) = either(either.queue.pop(1))
    assert delivery.message.timeout_ms == 500


# The sets of a, those of b, of which the waiting one comes first, those of c, the payloads.
@in_each(windows(7, before=WAITING, at3=ORPHAN, at7=GONE))
def test_a_broken_clear_is_completed_by_a_second_one(either, k, how, error, state):
    pushed(either)
    assert isinstance(either.break_at(k, how, either.queue.clear()), error)
    assert either.state() == state
    either(either.queue.clear())
    assert either.state() == GONE


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
