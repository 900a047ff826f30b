"""A client that dies after any command of an operation leaves the message in a known state, and it mends as documented.

Method: a connection that breaks at the k-th command, for every k and both ways (the command was not applied; it was,
but its reply is lost), on a simulated server, then the server's content as a state: H payload, Q:x waiting in shard
x, U:x leased in shard x. The queue serves shard b and the message is pushed there, so shard a is searched before it.
docs/dyno-windows.md has what three zones do when a program ends so, in simulation and on real servers.
"""

import pytest
from support.engine.dyno import BreakingConnection
from support.engine.dyno_bench import LEASE_MS, Bench

from engine.dyno import LocalOnly, PushFailure
from engine.message import Message
from engine.ports import Indeterminate, PortError, ServerError, Unavailable

X = Message(id="x", payload="first", priority=7)
WAITING, LEASED, ORPHAN, BLOCKED, GONE = "H Q:b", "H U:b", "H", "H Q:b U:b", ""
ERRORS = {
    "not applied": Unavailable("cut"),
    "applied": Indeterminate("reply lost"),
    "lost": Indeterminate("reply lost, and the command too"),
}


class BreakingBench(Bench):
    """A queue that serves shard b, and a way to break its next operation."""

    def __init__(self, lab, **settings):
        self.connection = BreakingConnection(lab.direct("a"))
        super().__init__(lab, shard="b", strategy=LocalOnly("b"), **settings)

    def another(self, connection=None, **settings):
        return super().another(connection or self.connection, **settings)

    def state(self):
        return self.content().state("x")

    def break_at(self, k, how, operation):
        """Run ``operation`` so that its command number ``k``, from 1, fails; returns the error."""
        self.connection.break_after(k - 1, ERRORS[how], applied=how == "applied")
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


@pytest.mark.parametrize(
    ("k", "how", "state", "error"),
    [
        (1, "not applied", GONE, Unavailable),
        (1, "applied", ORPHAN, Indeterminate),
        (2, "not applied", ORPHAN, Unavailable),
        (2, "applied", WAITING, Indeterminate),
    ],
)
def test_a_broken_push_leaves_nothing_an_orphan_or_the_message_and_a_retry_mends_it(bench, k, how, state, error):
    raised = bench.break_at(k, how, bench.queue.push([X]))
    assert isinstance(raised, error)
    assert (raised.receipts, raised.failed_id) == ((), "x")
    assert bench.state() == state
    bench(bench.queue.push([X]))
    assert bench.state() == WAITING


def test_a_broken_push_of_many_hands_over_the_receipts_of_those_before(bench):
    messages = [Message(id="v"), Message(id="w"), X, Message(id="y")]
    raised = bench.break_at(6, "not applied", bench.queue.push(messages))
    assert isinstance(raised, PushFailure)
    assert isinstance(raised, Unavailable)
    assert ([receipt.id for receipt in raised.receipts], raised.failed_id) == (["v", "w"], "x")
    assert bench.states(*"vwxy") == [WAITING, WAITING, ORPHAN, GONE]


POP_WINDOWS = [
    (1, "not applied", WAITING, Unavailable),  # range read
    (2, "not applied", WAITING, Unavailable),  # ZADD NX
    (2, "applied", BLOCKED, Indeterminate),
    (3, "not applied", BLOCKED, Indeterminate),  # ZREM: the lease is written
    (3, "applied", LEASED, Indeterminate),
    (4, "not applied", LEASED, Indeterminate),  # HGET
]


@pytest.mark.parametrize(("k", "how", "state", "error"), POP_WINDOWS)
def test_a_broken_pop_never_unlists_the_message_and_it_comes_back_when_the_lease_ends(either, k, how, state, error):
    pushed(either)
    raised = either.break_at(k, how, either.queue.pop(1))
    assert isinstance(raised, error)
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


@pytest.mark.parametrize(("k", "how"), [(9, "not applied"), (8, "applied"), (5, "not applied"), (10, "not applied")])
def test_a_pop_that_breaks_after_leases_hands_them_over(bench, k, how):
    bench.push(*"uvwx", into="b")
    bench.connection.break_after(k - 1, Unavailable("cut"), applied=how == "applied")
    deliveries = bench(bench.queue.pop(4))
    assert [delivery.message.id for delivery in deliveries] == list("uvw"[: (k - 2) // 3])
    assert bench.queue.counters.curtailed_pops == 1


def test_in_the_original_the_leases_before_the_break_are_lost_to_the_caller(original):
    bench = original
    bench.push(*"uvwx", into="b")
    bench.break_at(9, "not applied", bench.queue.pop(4))
    assert bench.states(*"uvwx") == [LEASED, LEASED, BLOCKED, WAITING]


ACK_WINDOWS = [
    (1, "not applied", LEASED, Unavailable),  # ZREM in shard a, where it is not
    (2, "not applied", LEASED, Unavailable),  # ZREM in shard b
    (2, "applied", ORPHAN, Indeterminate),
    (3, "not applied", ORPHAN, Indeterminate),  # HDEL: the lease is gone
    (3, "applied", GONE, Indeterminate),
]


@pytest.mark.parametrize(("k", "how", "state", "error"), ACK_WINDOWS)
def test_the_retry_of_a_broken_ack_finishes_it_and_in_the_original_leaks_the_payload(either, k, how, state, error):
    leased(either)
    raised = either.break_at(k, how, either.queue.ack("x"))
    assert isinstance(raised, error)
    assert either.state() == state
    finishes = state == LEASED or not either.compat
    assert either(either.queue.ack("x")) is finishes
    assert either.state() == (GONE if finishes else state)
    assert either(either.queue.ack("x")) is False


def test_the_retry_of_an_ack_that_was_not_applied_leaves_a_requeued_message_alone(bench):
    leased(bench)
    bench.break_at(2, "not applied", bench.queue.ack("x"))
    bench.break_at(2, "lost", bench.queue.ack("x"))
    bench.clock.advance(LEASE_MS)
    bench(bench.queue.process_unacks())
    assert bench(bench.queue.ack("x")) is False
    assert bench.state() == WAITING


def test_the_retry_of_an_ack_leaves_a_message_alone_that_was_pushed_again_elsewhere(bench):
    leased(bench)
    bench.break_at(3, "not applied", bench.queue.ack("x"))
    bench(bench.another().push([X]))
    assert bench(bench.queue.ack("x")) is True
    assert bench.state() == WAITING


def test_the_retry_of_an_ack_leaves_a_message_alone_that_was_pushed_again_here(bench):
    leased(bench)
    bench.break_at(3, "not applied", bench.queue.ack("x"))
    bench(bench.queue.push([X]))
    assert bench(bench.queue.ack("x")) is False
    assert bench.state() == WAITING


def test_a_second_ack_by_another_consumer_is_not_counted_as_a_finished_first_one(bench):
    leased(bench)
    bench.break_at(2, "lost", bench.queue.ack("x"))
    assert bench(bench.another().ack("x")) is True
    assert bench(bench.queue.ack("x")) is False


def test_a_broken_ack_of_many_hands_over_the_answers_before(bench):
    bench(bench.queue.push([Message(id="v"), X]))
    bench(bench.queue.pop(2))
    raised = bench.break_at(7, "not applied", bench.queue.ack_all(["v", "nothing", "x"]))
    assert isinstance(raised, Unavailable)
    assert (raised.acked, raised.failed_id) == ((True, False), "x")
    assert bench(bench.queue.ack_all(["v", "nothing", "x"])) == [False, False, True]


REMOVE_WINDOWS = {
    # Shard a is searched first: ZREM U:a, ZREM Q:a, ZREM U:b, ZREM Q:b, ZREM U:c, ZREM Q:c, HDEL.
    "waiting": [
        (1, "not applied", WAITING, Unavailable),
        (2, "not applied", WAITING, Unavailable),
        (3, "not applied", WAITING, Unavailable),
        (4, "not applied", WAITING, Unavailable),
        (4, "applied", ORPHAN, Indeterminate),
        (5, "not applied", ORPHAN, Indeterminate),
        (6, "not applied", ORPHAN, Indeterminate),
        (7, "not applied", ORPHAN, Indeterminate),
        (7, "applied", GONE, Indeterminate),
    ],
    "leased": [
        (3, "not applied", LEASED, Unavailable),
        (3, "applied", ORPHAN, Indeterminate),
        (4, "not applied", ORPHAN, Indeterminate),
        (7, "not applied", ORPHAN, Indeterminate),
    ],
}


@pytest.mark.parametrize(
    ("begin", "k", "how", "state", "error"),
    [(begin, *window) for begin, windows in REMOVE_WINDOWS.items() for window in windows],
)
def test_a_broken_remove_is_finished_by_its_retry(bench, begin, k, how, state, error):
    {"waiting": pushed, "leased": leased}[begin](bench)
    raised = bench.break_at(k, how, bench.queue.remove("x"))
    assert isinstance(raised, error)
    assert bench.state() == state
    assert bench(bench.queue.remove("x")) is (state != GONE)
    assert bench.state() == GONE


@pytest.mark.parametrize(
    ("k", "how", "state"),
    [(4, "not applied", WAITING), (4, "applied", ORPHAN), (5, "not applied", ORPHAN), (5, "applied", GONE)],
)
def test_a_broken_remove_of_the_original_leaks_the_payload_for_good(original, k, how, state):
    bench = original
    pushed(bench)
    bench.break_at(k, how, bench.queue.remove("x"))
    assert bench.state() == state
    assert bench(bench.queue.remove("x")) is (state == WAITING)
    assert bench.state() == (GONE if state == WAITING else state)


UNACK_WINDOWS = [
    # ZCARD of three shards, the range read, HGET, ZADD, ZREM.
    *[(k, "not applied", LEASED) for k in (1, 2, 3, 4, 5, 6)],
    (6, "applied", BLOCKED),
    (7, "not applied", BLOCKED),
    (7, "applied", WAITING),
]


@pytest.mark.parametrize(("k", "how", "state"), UNACK_WINDOWS)
def test_a_broken_requeue_never_unlists_the_message_and_the_next_run_mends_it(either, k, how, state):
    leased(either)
    either.clock.advance(LEASE_MS)
    either.break_at(k, how, either.queue.process_unacks())
    assert either.state() == state
    either(either.queue.process_unacks())
    assert either.state() == WAITING


@pytest.mark.parametrize(
    ("k", "how", "error"),
    [
        (1, "not applied", Unavailable),  # HGET
        (3, "not applied", Unavailable),  # ZSCORE in b, after the one in a
        (4, "not applied", Unavailable),  # ZADD
        (4, "applied", Indeterminate),
        (5, "not applied", Indeterminate),  # HSET: the due time is written
        (5, "applied", Indeterminate),
    ],
)
def test_a_broken_set_timeout_keeps_the_message_waiting_and_a_retry_completes_it(bench, k, how, error):
    pushed(bench)
    raised = bench.break_at(k, how, bench.queue.set_timeout("x", timeout_ms=500))
    assert isinstance(raised, error)
    assert bench.state() == WAITING
    assert bench(bench.queue.set_timeout("x", timeout_ms=500)) is True
    assert bench.pop(1) == []
    bench.clock.advance(500)
    (delivery,) = bench(bench.queue.pop(1))
    assert delivery.message.timeout_ms == 500


def test_a_clear_that_breaks_half_way_is_indeterminate_and_a_second_one_completes_it(bench):
    pushed(bench)
    raised = bench.break_at(7, "not applied", bench.queue.clear())
    assert isinstance(raised, Indeterminate)
    assert bench.state() == ORPHAN
    bench(bench.queue.clear())
    assert bench.state() == GONE


class Unreachable:
    attempts = 0

    async def execute(self, *commands):
        self.attempts += 1
        raise Unavailable("no connection")


@pytest.mark.parametrize(
    "operation",
    [
        lambda queue: queue.push([X]),
        lambda queue: queue.pop(1),
        lambda queue: queue.ack("x"),
        lambda queue: queue.set_unack_timeout("x", timeout_ms=5),
        lambda queue: queue.atomic_remove("x"),
    ],
)
def test_nothing_is_tried_again(either, operation):
    """A repeated ZADD NX or ZREM would answer 0 although the first one did it."""
    connection = Unreachable()
    with pytest.raises(Unavailable):
        either(operation(either.another(connection)))
    assert connection.attempts == 1


class RefusingConnection(BreakingConnection):
    """The server answers the broken command with an error reply."""

    async def execute(self, *commands):
        try:
            return await super().execute(*commands)
        except ServerError as reply:
            return [reply]


@pytest.mark.parametrize(
    ("allowed", "error"), [(0, ServerError), (1, ServerError), (2, Indeterminate), (3, Indeterminate)]
)
def test_an_error_reply_is_raised_and_after_an_effect_it_is_indeterminate(bench, allowed, error):
    pushed(bench)
    connection = RefusingConnection(bench.direct)
    connection.break_after(allowed, ServerError("LOADING"), applied=False)
    with pytest.raises(error, match="LOADING"):
        bench(bench.another(connection).pop(1))


def test_an_error_reply_to_a_push_is_a_server_error_with_receipts(bench):
    connection = RefusingConnection(bench.direct)
    connection.break_after(3, ServerError("OOM"), applied=False)
    with pytest.raises(ServerError, match="OOM") as raised:
        bench(bench.another(connection).push([Message(id="w"), X]))
    assert isinstance(raised.value, PushFailure)
    assert [receipt.id for receipt in raised.value.receipts] == ["w"]
