"""A client that dies after any command of an operation leaves the message in a known state, and it mends as documented.

Method: a connection that breaks at the k-th command, for every k and both ways (the command was not applied; it was,
but its reply is lost), on a real server, then the server's content as a state: H payload, Q:x waiting in shard x, U:x
leased in shard x. The message is pushed to shard b, so shard a is searched before it.
"""

import pytest
from support.engine.dyno import BreakingConnection, SettableClock, content, make_queue

from engine.dyno import LocalOnly, PushFailure
from engine.message import Message
from engine.ports import Indeterminate, PortError, ServerError, Unavailable

pytestmark = pytest.mark.real

LEASE_MS = 1000
X = Message(id="x", payload="first", priority=7)
WAITING, LEASED, ORPHAN, BLOCKED, GONE = "H Q:b", "H U:b", "H", "H Q:b U:b", ""


class Bench:
    """A queue that serves shard b, and a way to break its next operation."""

    def __init__(self, lab, *, compat=False):
        self.lab = lab
        self.clock = SettableClock()
        self.connection = BreakingConnection(lab.direct("a"))
        self.queue = self.instance(compat=compat)

    def instance(self, **settings):
        name = self.queue.name if hasattr(self, "queue") else None
        return make_queue(
            self.connection,
            name=name,
            runtime=self.lab.runtime,
            clock=self.clock,
            shard="b",
            unack_ms=LEASE_MS,
            strategy=LocalOnly("b"),
            **settings,
        )

    def state(self):
        return self.lab.run(content(self.lab.direct("a"), self.queue.keys)).state("x")

    def break_at(self, k, how, operation):
        """Run ``operation`` so that its command number ``k``, from 1, fails; returns the error."""
        errors = {"not applied": Unavailable("cut"), "applied": Indeterminate("reply lost")}
        self.connection.break_after(k - 1, errors[how], applied=how == "applied")
        with pytest.raises(PortError) as raised:
            self.lab.run(operation)
        self.connection.mend()
        return raised.value


@pytest.fixture
def bench(server):
    return Bench(server)


@pytest.fixture
def compat_bench(server):
    return Bench(server, compat=True)


def pushed(bench):
    bench.lab.run(bench.queue.push([X]))
    assert bench.state() == WAITING


def leased(bench):
    pushed(bench)
    (delivery,) = bench.lab.run(bench.queue.pop(1))
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
    bench.lab.run(bench.queue.push([X]))
    assert bench.state() == WAITING


def test_a_broken_push_of_many_hands_over_the_receipts_of_those_before(bench):
    messages = [Message(id="v"), Message(id="w"), X, Message(id="y")]
    raised = bench.break_at(6, "not applied", bench.queue.push(messages))
    assert isinstance(raised, PushFailure)
    assert isinstance(raised, Unavailable)
    assert ([receipt.id for receipt in raised.receipts], raised.failed_id) == (["v", "w"], "x")
    found = bench.lab.run(content(bench.lab.direct("a"), bench.queue.keys))
    assert [found.state(message.id) for message in messages] == [WAITING, WAITING, ORPHAN, GONE]


POP_WINDOWS = [
    (1, "not applied", WAITING, Unavailable),  # range read
    (2, "not applied", WAITING, Unavailable),  # ZADD NX
    (2, "applied", BLOCKED, Indeterminate),
    (3, "not applied", BLOCKED, Indeterminate),  # ZREM: the lease is written
    (3, "applied", LEASED, Indeterminate),
    (4, "not applied", LEASED, Indeterminate),  # HGET
]


@pytest.mark.parametrize(("k", "how", "state", "error"), POP_WINDOWS)
def test_a_broken_pop_never_unlists_the_message_and_it_comes_back_when_the_lease_ends(bench, k, how, state, error):
    pushed(bench)
    raised = bench.break_at(k, how, bench.queue.pop(1))
    assert isinstance(raised, error)
    assert bench.state() == state
    bench.clock.advance(LEASE_MS)
    bench.lab.run(bench.queue.process_unacks())
    assert bench.state() == WAITING
    (delivery,) = bench.lab.run(bench.queue.pop(1))
    assert (delivery.message.payload, delivery.message.priority) == ("first", 7)
    assert bench.state() == LEASED


@pytest.mark.parametrize(("k", "how", "state", "error"), POP_WINDOWS)
def test_the_original_breaks_in_the_same_windows(compat_bench, k, how, state, error):
    pushed(compat_bench)
    raised = compat_bench.break_at(k, how, compat_bench.queue.pop(1))
    assert isinstance(raised, error)
    assert compat_bench.state() == state


def test_a_blocked_message_is_not_delivered_until_its_lease_ends(bench):
    pushed(bench)
    bench.break_at(3, "not applied", bench.queue.pop(1))
    assert bench.lab.run(bench.queue.pop(1)) == []
    assert bench.queue.counters.misses == 1
    assert bench.state() == BLOCKED


@pytest.mark.parametrize(("k", "how"), [(9, "not applied"), (8, "applied"), (5, "not applied"), (10, "not applied")])
def test_a_pop_that_breaks_after_leases_hands_them_over(bench, k, how):
    messages = [Message(id=name) for name in "uvwx"]
    bench.lab.run(bench.queue.push(messages))
    bench.connection.break_after(k - 1, Unavailable("cut"), applied=how == "applied")
    deliveries = bench.lab.run(bench.queue.pop(4))
    assert [delivery.message.id for delivery in deliveries] == list("uvw"[: (k - 2) // 3])
    assert bench.queue.counters.curtailed_pops == 1


def test_in_the_original_the_leases_before_the_break_are_lost_to_the_caller(compat_bench):
    bench = compat_bench
    bench.lab.run(bench.queue.push([Message(id=name) for name in "uvwx"]))
    bench.break_at(9, "not applied", bench.queue.pop(4))
    found = bench.lab.run(content(bench.lab.direct("a"), bench.queue.keys))
    assert [found.state(name) for name in "uvwx"] == [LEASED, LEASED, BLOCKED, WAITING]


ACK_WINDOWS = [
    (1, "not applied", LEASED, Unavailable),  # ZREM in shard a, where it is not
    (2, "not applied", LEASED, Unavailable),  # ZREM in shard b
    (2, "applied", ORPHAN, Indeterminate),
    (3, "not applied", ORPHAN, Indeterminate),  # HDEL: the lease is gone
    (3, "applied", GONE, Indeterminate),
]


@pytest.mark.parametrize(("k", "how", "state", "error"), ACK_WINDOWS)
def test_a_broken_ack_is_finished_by_its_retry(bench, k, how, state, error):
    leased(bench)
    raised = bench.break_at(k, how, bench.queue.ack("x"))
    assert isinstance(raised, error)
    assert bench.state() == state
    assert bench.lab.run(bench.queue.ack("x")) is True
    assert bench.state() == GONE
    assert bench.lab.run(bench.queue.ack("x")) is False


@pytest.mark.parametrize(("k", "how", "state", "error"), ACK_WINDOWS)
def test_the_retry_of_the_original_finds_no_lease_and_leaks_the_payload(compat_bench, k, how, state, error):
    bench = compat_bench
    leased(bench)
    raised = bench.break_at(k, how, bench.queue.ack("x"))
    assert isinstance(raised, error)
    assert bench.state() == state
    assert bench.lab.run(bench.queue.ack("x")) is (state == LEASED)
    assert bench.state() == (GONE if state == LEASED else state)


def test_the_retry_of_an_ack_that_was_not_applied_leaves_a_requeued_message_alone(bench):
    leased(bench)
    bench.break_at(2, "not applied", bench.queue.ack("x"))
    error = Indeterminate("reply lost, and the command too")
    bench.connection.break_after(1, error, applied=False)
    with pytest.raises(Indeterminate):
        bench.lab.run(bench.queue.ack("x"))
    bench.connection.mend()
    bench.clock.advance(LEASE_MS)
    bench.lab.run(bench.queue.process_unacks())
    assert bench.lab.run(bench.queue.ack("x")) is False
    assert bench.state() == WAITING


def test_the_retry_of_an_ack_leaves_a_message_alone_that_was_pushed_again_elsewhere(bench):
    leased(bench)
    bench.break_at(3, "not applied", bench.queue.ack("x"))
    bench.lab.run(bench.instance().push([X]))
    assert bench.lab.run(bench.queue.ack("x")) is True
    assert bench.state() == WAITING


def test_the_retry_of_an_ack_leaves_a_message_alone_that_was_pushed_again_here(bench):
    leased(bench)
    bench.break_at(3, "not applied", bench.queue.ack("x"))
    bench.lab.run(bench.queue.push([X]))
    assert bench.lab.run(bench.queue.ack("x")) is False
    assert bench.state() == WAITING


def test_a_second_ack_by_another_consumer_is_not_counted_as_a_finished_first_one(bench):
    leased(bench)
    bench.connection.break_after(1, Indeterminate("the command was lost"), applied=False)
    with pytest.raises(Indeterminate):
        bench.lab.run(bench.queue.ack("x"))
    bench.connection.mend()
    assert bench.lab.run(bench.instance().ack("x")) is True
    assert bench.lab.run(bench.queue.ack("x")) is False


def test_a_broken_ack_of_many_hands_over_the_answers_before(bench):
    bench.lab.run(bench.queue.push([Message(id="v"), X]))
    bench.lab.run(bench.queue.pop(2))
    raised = bench.break_at(7, "not applied", bench.queue.ack_all(["v", "nothing", "x"]))
    assert isinstance(raised, Unavailable)
    assert (raised.acked, raised.failed_id) == ((True, False), "x")
    assert bench.lab.run(bench.queue.ack_all(["v", "nothing", "x"])) == [False, False, True]


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
    assert bench.lab.run(bench.queue.remove("x")) is (state != GONE)
    assert bench.state() == GONE


@pytest.mark.parametrize(
    ("k", "how", "state"),
    [(4, "not applied", WAITING), (4, "applied", ORPHAN), (5, "not applied", ORPHAN), (5, "applied", GONE)],
)
def test_a_broken_remove_of_the_original_leaks_the_payload_for_good(compat_bench, k, how, state):
    bench = compat_bench
    pushed(bench)
    bench.break_at(k, how, bench.queue.remove("x"))
    assert bench.state() == state
    assert bench.lab.run(bench.queue.remove("x")) is (state == WAITING)
    assert bench.state() == (GONE if state == WAITING else state)


UNACK_WINDOWS = [
    # ZCARD of three shards, the range read, HGET, ZADD, ZREM.
    *[(k, "not applied", LEASED) for k in (1, 2, 3, 4, 5, 6)],
    (6, "applied", BLOCKED),
    (7, "not applied", BLOCKED),
    (7, "applied", WAITING),
]


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(("k", "how", "state"), UNACK_WINDOWS)
def test_a_broken_requeue_never_unlists_the_message_and_the_next_run_mends_it(server, compat, k, how, state):
    bench = Bench(server, compat=compat)
    leased(bench)
    bench.clock.advance(LEASE_MS)
    bench.break_at(k, how, bench.queue.process_unacks())
    assert bench.state() == state
    bench.lab.run(bench.queue.process_unacks())
    assert bench.state() == WAITING


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
    assert bench.lab.run(bench.queue.set_timeout("x", timeout_ms=500)) is True
    assert bench.lab.run(bench.queue.pop(1)) == []
    bench.clock.advance(500)
    (delivery,) = bench.lab.run(bench.queue.pop(1))
    assert delivery.message.timeout_ms == 500


def test_a_clear_that_breaks_half_way_is_indeterminate_and_a_second_one_completes_it(bench):
    pushed(bench)
    raised = bench.break_at(7, "not applied", bench.queue.clear())
    assert isinstance(raised, Indeterminate)
    assert bench.state() == ORPHAN
    bench.lab.run(bench.queue.clear())
    assert bench.state() == GONE


class Unreachable:
    attempts = 0

    async def execute(self, *commands):
        self.attempts += 1
        raise Unavailable("no connection")


@pytest.mark.parametrize("compat", [False, True])
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
def test_nothing_is_tried_again(server, compat, operation):
    """A repeated ZADD NX or ZREM would answer 0 although the first one did it."""
    connection = Unreachable()
    queue = make_queue(connection, runtime=server.runtime, clock=SettableClock(), compat=compat)
    with pytest.raises(Unavailable):
        server.run(operation(queue))
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
def test_an_error_reply_is_raised_and_after_an_effect_it_is_indeterminate(server, allowed, error):
    connection = RefusingConnection(server.direct("a"))
    queue = make_queue(
        connection, runtime=server.runtime, clock=SettableClock(), strategy=LocalOnly("a"), shards=("a",)
    )
    server.run(queue.push([X]))
    connection.break_after(allowed, ServerError("LOADING"), applied=False)
    with pytest.raises(error, match="LOADING"):
        server.run(queue.pop(1))


def test_an_error_reply_to_a_push_is_a_server_error_with_receipts(server):
    connection = RefusingConnection(server.direct("a"))
    queue = make_queue(connection, runtime=server.runtime, clock=SettableClock())
    connection.break_after(3, ServerError("OOM"), applied=False)
    with pytest.raises(ServerError, match="OOM") as raised:
        server.run(queue.push([Message(id="w"), X]))
    assert isinstance(raised.value, PushFailure)
    assert [receipt.id for receipt in raised.value.receipts] == ["w"]
