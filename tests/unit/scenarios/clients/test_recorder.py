"""Goal: the history tells of every operation what is known of it, and no more: done, not done, or in doubt.

Method: a queue that ends each operation as the test says, a clock that is wrong, and the rows of the history.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from zonelab.analysis.runs.history import OPERATIONS, History, Touched
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.dyno import AckFailure
from zonelab.engine.dyno.errors import ack_failure
from zonelab.engine.message import Delivery, Message, Receipt
from zonelab.engine.ports import Indeterminate, PortError, ServerError, Unavailable
from zonelab.scenarios.clients.program_crash import ProgramCrashed
from zonelab.scenarios.clients.recorder import Actor, Delivered, Recorder

MS = 1_000_000
AHEAD_MS = 70
ACTOR = Actor("somebody", "a")
DELIVERY = Delivery(message=Message(id="m"), shard="s", lease_start_ms=1_010, leased_ms=1_020, lease_end_ms=1_200)


class EndingQueue:
    """Ends every operation as told: with a value, or by raising."""

    def __init__(self, end: Any) -> None:
        self._end = end

    async def push(self, messages: Sequence[Message]) -> Sequence[Receipt]:
        return self._ended()

    async def pop(self, count: int, /, *, wait_ms: int) -> Sequence[Delivery]:
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
    def __init__(self) -> None:
        self.runtime = SimRuntime(seed=1)
        self.clock = NodeClock(epoch_ns=1_000 * MS, run_ns=self.runtime.now_ns)
        self._table = MemoryTable(OPERATIONS)
        self.recorder = Recorder(History(self._table), self.runtime, clock=lambda zone: self.clock)

    def rows(self) -> list[dict[str, Any]]:
        return self._table.batch().to_pylist()

    def last(self) -> dict[str, Any]:
        """The row of the latest event."""
        return self.rows()[-1]

    def ack(self, end: Any) -> tuple[str, str | None]:
        operation = self.recorder.ack(EndingQueue(end), ACTOR, Delivered(DELIVERY, Touched(message_id="m")))
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


def test_a_push_that_its_program_did_not_outlive_is_in_doubt_and_due_no_earlier_than_it_asked() -> None:
    stage = Stage()
    push = stage.recorder.push(
        EndingQueue(ProgramCrashed()), ACTOR, [Message(id="m", timeout_ms=40, priority=3)], intended_ns=0
    )
    with pytest.raises(ProgramCrashed):
        stage.runtime.run_until_complete(push)
    row = stage.last()
    assert (row["type"], row["message_id"], row["due_ms"], row["priority"]) == ("info", "m", 1_040, 3)
    assert row["error"] == "producer crashed"


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
