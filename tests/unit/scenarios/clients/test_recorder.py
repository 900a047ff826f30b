"""Goal: the history tells of every operation what is known of it, and no more: done, not done, or in doubt.

Method: a queue that ends each operation as the test says, a clock that is wrong, and the rows of the history.
"""

from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from zonelab.analysis.runs.history import OPERATIONS, History, MessageColumns, body_sum
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.dyno import AckFailure
from zonelab.engine.dyno.errors import ack_failure
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable
from zonelab.scenarios.clients.program_crash import ProgramCrashed
from zonelab.scenarios.clients.recorder import OperationActor, RecordedDelivery, Recorder

MS = 1_000_000
AHEAD_MS = 70
ACTOR_IS = ("somebody", "a")
ACTOR = OperationActor(*ACTOR_IS)
DELIVERY = Delivery(message=Message(id="m"), shard="s", lease_start_ms=1_010, leased_ms=1_020, lease_end_ms=1_200)


class EndingQueue:
    """Ends every operation as told: with a value, or by raising."""

    def __init__(self, end: Any) -> None:
        self._end = end
        self.asked: list[tuple[Any, ...]] = []

    async def push(self, messages: Sequence[Message]) -> Sequence[Receipt]:
        return self._ended()

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
        self.asked.append((count, wait_ms))
        return self._ended()

    async def set_unack_timeout(self, message_id: str, /, *, timeout_ms: int) -> bool:
        self.asked.append((message_id, timeout_ms))
        return self._ended()

    async def ack(self, delivery: Delivery, /) -> bool:
        return self._ended()

    async def close(self) -> None:
        pass

    def _ended(self) -> Any:
        if isinstance(self._end, BaseException):
            raise self._end
        return self._end


class Stage:
    """A recorder at ``at_ms`` of a run, in a zone whose clock is ``ahead_ms`` ahead."""

    def __init__(self, *, ahead_ms: int = 0, at_ms: int = 5) -> None:
        self.runtime = SimRuntime(seed=1)
        self.clock = NodeClock(epoch_ns=1_000 * MS, run_ns=self.runtime.now_ns)
        self.clock.jump(ahead_ms * MS)
        self._table = MemoryTable(OPERATIONS)
        self.recorder = Recorder(History(self._table), self.runtime, clock=lambda zone: self.clock)
        self.heard: list[tuple[Any, ...]] = []
        self.recorder.heard = lambda *heard: self.heard.append(heard)
        self.runtime.run(for_ns=at_ms * MS)

    def rows(self) -> list[dict[str, Any]]:
        return self._table.batch().to_pylist()

    def events(self, f: str, *, intended_ns: int | None = None) -> list[tuple[str, str | None, dict[str, Any]]]:
        """Return the end and the message of each row; all rows are of ``ACTOR`` at 5 ms."""
        rows = self.rows()
        assert {(row["process"], row["zone"], row["f"], row["intended_ns"]) for row in rows} == {
            (*ACTOR_IS, f, intended_ns)
        }
        assert {row["time_ns"] for row in rows} == {5 * MS}
        return [
            (row["type"], row["error"], {name: row[name] for name in MessageColumns._fields if row[name] is not None})
            for row in rows
        ]

    def done(self, operation: Coroutine[Any, Any, Any]) -> Any:
        """Return what ``operation`` returns; None if its program dies in it."""
        try:
            return self.runtime.run_until_complete(operation)
        except ProgramCrashed:
            return None

    def last(self) -> dict[str, Any]:
        """The row of the latest event."""
        return self.rows()[-1]

    def ack(self, end: Any) -> tuple[str, str | None]:
        operation = self.recorder.ack(
            EndingQueue(end), ACTOR, RecordedDelivery(DELIVERY, MessageColumns(message_id="m"))
        )
        if isinstance(end, ProgramCrashed):
            with pytest.raises(ProgramCrashed):
                self.runtime.run_until_complete(operation)
        else:
            self.runtime.run_until_complete(operation)
        return self.last()["type"], self.last()["error"]


def wrapped(cause: PortError | ServerError) -> AckFailure:
    failure = ack_failure(cause, acked=(), failed_id="m")
    failure.__cause__ = cause
    return failure


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (True, ("ok", None)),
        (False, ("fail", "no lease")),
        (Unavailable("down"), ("fail", "down")),
        (ServerError("ERR no"), ("fail", "ERR no")),
        (Indeterminate("late"), ("info", "late")),
        (wrapped(Unavailable("down")), ("fail", "down")),
        (wrapped(Indeterminate("late")), ("info", "late")),
        (ProgramCrashed(), ("info", "consumer crashed")),
    ],
    ids=["done", "no lease", "down", "refused", "late", "wrapped down", "wrapped late", "crashed"],
)
def test_an_ack_is_told_as_what_is_known_of_it(end: Any, told: tuple[str, str | None]) -> None:
    assert Stage().ack(end) == told


def test_a_lease_goes_into_the_history_in_true_time() -> None:
    stage = Stage()
    stage.clock.jump(AHEAD_MS * MS)
    popped = stage.runtime.run_until_complete(stage.recorder.pop(EndingQueue([DELIVERY]), ACTOR, count=1, wait_ms=0))
    row = stage.last()
    times = [row[name] for name in ("lease_start_ms", "leased_ms", "lease_end_ms")]
    assert times == [1_010 - AHEAD_MS, 1_020 - AHEAD_MS, 1_200 - AHEAD_MS]
    assert popped is not None
    assert popped.delivered[0].delivery == DELIVERY
    stage.runtime.run_until_complete(stage.recorder.ack(EndingQueue(True), ACTOR, popped.delivered[0]))
    assert stage.last()["lease_end_ms"] == times[2]


def test_an_ordered_listener_acknowledges_the_delivery_that_it_was_handed() -> None:
    stage = Stage()
    popped = stage.recorder.handed(ACTOR, [("m", "k"), ("n", "k")], shard="p-0")
    assert (stage.last()["type"], stage.last()["delivery"], stage.last()["shard"]) == ("ok", popped, "p-0")
    stage.recorder.committed(stage.recorder.committing(ACTOR, "m", popped, shard="p-0"), "ok", error=None)
    rows = stage.rows()
    (begun,) = [row for row in rows if (row["f"], row["type"]) == ("ack", "invoke")]
    assert (begun["message_id"], begun["delivery"], begun["shard"]) == ("m", popped, "p-0")
    assert (rows[-1]["f"], rows[-1]["type"], rows[-1]["op_id"]) == ("ack", "ok", begun["op_id"])


LEASED = Message(id="m", payload="body", timeout_ms=40, priority=3, lease_ms=500, key="k")
OTHER = Message(id="n", payload="", timeout_ms=10, priority=1, key="l")
BODY = body_sum("body")
ASKED = {"message_id": "m", "key": "k", "priority": 3, "lease_ms": 500, "body": BODY}
ASKED_OTHER = {"message_id": "n", "key": "l", "priority": 1}
DOUBTFUL, DOUBTFUL_OTHER = {**ASKED, "due_ms": 1_045}, {**ASKED_OTHER, "due_ms": 1_015}
TAKEN = Delivery(message=LEASED, shard="s", lease_start_ms=1_076, leased_ms=1_077, lease_end_ms=1_176)
GIVEN = {
    **{"message_id": "m", "shard": "s", "priority": 3, "body": BODY, "delivery": 0},
    **{"lease_start_ms": 1_006, "leased_ms": 1_007, "lease_end_ms": 1_106},
}
RECEIPT = Receipt(id="m", shard="s", due_ms=1_115)
PUSHED, PUSHED_OTHER = {**DOUBTFUL, "shard": "s"}, {**DOUBTFUL_OTHER, "shard": "t"}


class Partly(Indeterminate):
    """A push of which a part was confirmed, and the messages at which it stopped."""

    def __init__(self, *receipts: Receipt, failed_ids: Sequence[str] = ()) -> None:
        super().__init__("late")
        self.receipts, self.failed_ids = receipts, failed_ids


def invoke(*touched: dict[str, Any]) -> list[tuple[str, str | None, dict[str, Any]]]:
    return [("invoke", None, each) for each in touched or ({},)]


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        ([RECEIPT, Receipt(id="n", shard="t", due_ms=1_085)], [("ok", None, PUSHED), ("ok", None, PUSHED_OTHER)]),
        ([RECEIPT], [("ok", None, PUSHED)]),
        (Unavailable("down"), [("fail", "down", ASKED), ("fail", "down", ASKED_OTHER)]),
        (Indeterminate("late"), [("info", "late", DOUBTFUL), ("fail", "late", ASKED_OTHER)]),
        (Partly(RECEIPT), [("info", "late", DOUBTFUL_OTHER), ("ok", None, PUSHED)]),
        (Partly(failed_ids=["n"]), [("fail", "late", ASKED), ("info", "late", DOUBTFUL_OTHER)]),
        (ProgramCrashed(), [("info", "producer crashed", DOUBTFUL), ("info", "producer crashed", DOUBTFUL_OTHER)]),
    ],
    ids=["both", "one", "down", "late", "partly", "at the second", "crashed"],
)
def test_a_push_tells_of_each_message_what_was_asked_and_what_became_of_it(end: Any, ended: list[Any]) -> None:
    stage = Stage(ahead_ms=AHEAD_MS)
    left = stage.done(stage.recorder.push(EndingQueue(end), ACTOR, [LEASED, OTHER], intended_ns=3 * MS))
    assert stage.events("push", intended_ns=3 * MS) == [*invoke(ASKED, ASKED_OTHER), *ended]
    if not isinstance(end, ProgramCrashed):
        confirmed = [touched["message_id"] for outcome, _, touched in ended if outcome == "ok"]
        assert [message.id for message in left] == [name for name in ("m", "n") if name not in confirmed]
    outcomes = [outcome for outcome, _, _ in ended]
    assert stage.recorder.counts == {("push", outcome): outcomes.count(outcome) for outcome in set(outcomes)}
    heard = [(outcome, error, touched["message_id"]) for outcome, error, touched in ended if outcome != "fail"]
    assert [(f, outcome, each.message_id) for f, outcome, messages in stage.heard for each in messages] == [
        ("push", outcome, name) for outcome, _, name in heard
    ]


def test_a_push_that_was_not_begun_has_failed() -> None:
    stage = Stage()
    stage.recorder.refuse(ACTOR, [LEASED, OTHER], intended_ns=3 * MS, error="overloaded")
    ended = [("fail", "overloaded", ASKED), ("fail", "overloaded", ASKED_OTHER)]
    assert stage.events("push", intended_ns=3 * MS) == [*invoke(ASKED, ASKED_OTHER), *ended]


@pytest.mark.parametrize(
    ("end", "ended"),
    [
        ([TAKEN], ("ok", None, GIVEN)),
        ([], ("ok", None, {})),
        (ServerError("ERR no"), ("fail", "ERR no", {})),
        (Indeterminate("late"), ("info", "late", {})),
        (ProgramCrashed(), ("info", "consumer crashed", {})),
    ],
    ids=["one", "none", "refused", "late", "crashed"],
)
def test_a_pop_tells_what_was_delivered_in_true_time(end: Any, ended: tuple[str, str | None, dict[str, Any]]) -> None:
    stage, queue = Stage(ahead_ms=AHEAD_MS), EndingQueue(end)
    popped = stage.done(stage.recorder.pop(queue, ACTOR, count=4, wait_ms=9))
    assert (queue.asked, stage.events("pop")) == ([(4, 9)], [*invoke(), ended])
    assert (popped is None) == (ended[0] != "ok")
    assert stage.recorder.counts == {("pop", ended[0]): len(end) if isinstance(end, list) else 1}


LATE = "the lease had ended"
ASKS, ASKS_AGAIN = [("extend", "invoke", None, 1_206)], [("pop", "invoke", None, None)]
OVER = [("extend", "invoke", None, 1_207), ("extend", "fail", LATE, 1_207)]


@pytest.mark.parametrize(
    ("at_ms", "end", "events", "held"),
    [
        (106, True, [*ASKS, ("extend", "ok", None, 1_206)], 1_206),
        (106, False, [*ASKS, ("extend", "fail", "no lease", 1_206)], None),
        (106, Unavailable("down"), [*ASKS, ("extend", "fail", "down", 1_206)], 1_106),
        (106, Indeterminate("late"), [*ASKS, ("extend", "info", "late", 1_206)], 1_106),
        (106, ProgramCrashed(), [*ASKS, ("extend", "info", "consumer crashed", 1_206)], None),
        (107, True, [*ASKS_AGAIN, ("pop", "ok", LATE, 1_207), *OVER], 1_207),
        (107, False, [*ASKS_AGAIN, ("pop", "ok", None, None), *OVER], None),
        (107, Unavailable("down"), [*ASKS_AGAIN, ("pop", "fail", "down", None)], 1_106),
    ],
)
def test_an_extension_at_the_end_of_the_lease_is_one_and_later_it_is_a_delivery(
    at_ms: int, end: Any, events: list[Any], held: int | None
) -> None:
    stage, queue = Stage(ahead_ms=AHEAD_MS, at_ms=at_ms), EndingQueue(end)
    delivered = RecordedDelivery(TAKEN, MessageColumns(**GIVEN))
    extended = stage.done(stage.recorder.extend(queue, ACTOR, delivered, timeout_ms=100))
    told = [(row["f"], row["type"], row["error"], row["lease_end_ms"]) for row in stage.rows()]
    assert (queue.asked, told) == ([("m", 100)], events)
    assert (None if extended is None else extended.touched.lease_end_ms) == held
    given = [row for row in stage.rows() if row["f"] == "pop" and row["message_id"]]
    assert [(row["lease_start_ms"], row["leased_ms"], row["delivery"]) for row in given] == [
        (1_000 + at_ms, 1_000 + at_ms, row["op_id"]) for row in given
    ]


def test_an_extension_by_the_queue_itself_is_told_in_true_time() -> None:
    stage = Stage(ahead_ms=AHEAD_MS)
    stage.recorder.extended(ACTOR, "m", popped_by=7, lease_end_ms=1_170)
    touched = {"message_id": "m", "delivery": 7, "lease_end_ms": 1_100}
    assert stage.events("extend") == [*invoke(touched), ("ok", None, touched)]
