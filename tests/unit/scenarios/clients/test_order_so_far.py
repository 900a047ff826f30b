"""Goal: while a run goes on, a partition that stands still is told with its cause, and no other is.

Method: rows of the order history as programs cause them; and a whole run, beside its verdict.
"""

import pytest

from zonelab.analysis.runs.order import ORDER, ORDER_NAME
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.clients.order_so_far import OrderSoFar
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.run_files.tables import rows

MS = 1_000_000
PLACE = {"group": "g", "partition": "t/0", "member": "m", "session": "m.1"}
PUSHED = [{"kind": "produce", "partition": "t/0", "offset": offset, "outcome": "ok", "time_ns": 0} for offset in (0, 1)]


def event(kind, at_ms, **columns):
    return {"kind": kind, "time_ns": at_ms * MS, **PLACE, **columns}


def grant(at_ms, **columns):
    until_ns = (at_ms + 5_000) * MS
    return event("grant", at_ms, outcome="ok", generation=1, token=3, cursor=0, until_ns=until_ns, **columns)


def start(at_ms, attempt=1):
    return event("start", at_ms, offset=0, op_id=attempt, attempt=attempt)


def failed(at_ms, attempt):
    ends = event("end", at_ms, offset=0, op_id=attempt, status="suspend")
    return [start(at_ms, attempt), ends, event("fail", at_ms, offset=0, outcome="ok", until_ns=at_ms * MS)]


def told_at(now_ms, *events):
    so_far = OrderSoFar(wait_ms=400)
    for row in [*PUSHED, *events]:
        so_far.heard(row)
    (told,) = so_far.told(now_ms * MS)
    return told


@pytest.mark.parametrize(
    ("cause", "events"),
    [
        ("slow", [grant(10)]),
        ("hung", [grant(10), start(20)]),
        ("poison", [grant(10), *failed(20, 1), *failed(30, 2)]),
        ("unadmitted", [grant(10), event("commit", 20, outcome="info", status="unadmitted", offset=0, cursor=1)]),
        ("orphan", [grant(10), event("release", 20, outcome="ok")]),
        ("dead holder", [grant(10), {**event("member", 20, status="crashed"), "partition": None}]),
        ("thrash", [grant(10 * number, session=f"m.{number}") for number in range(1, 5)]),
    ],
)
def test_a_partition_that_stands_still_is_told_with_its_cause(cause, events):
    told = told_at(600, *events)
    assert (told["blocked"], told["lag"]) == (cause, 2)
    assert told["blocked_s"] == pytest.approx(0.59)
    assert told_at(300, *events)["blocked"] is None


def test_a_partition_whose_cursor_moves_or_that_is_finished_does_not_stand_still():
    moved = event("commit", 500, outcome="ok", offset=0, cursor=1)
    assert told_at(600, grant(10), moved) == {
        **{"group": "g", "partition": "t/0", "owner": "m", "token": "1.3", "cursor": 1, "end": 2, "lag": 1},
        **{"blocked": None, "blocked_s": None},
    }
    finished = event("commit", 550, outcome="ok", offset=1, cursor=2)
    assert told_at(60_000, grant(10), moved, finished)["blocked"] is None


def test_at_the_end_of_a_run_it_says_where_the_verdict_says_that_groups_are():
    trial = attempt(
        scenario_of_class(FaultClass.NONE, level=Level.DC_QUORUM, mode=EngineMode.FENCED, seed=1, engine="fifo")
    )
    so_far = OrderSoFar(wait_ms=400)
    events = list(rows(trial.tables, ORDER_NAME, ORDER.names))
    for row in events:
        so_far.heard(row)
    told = list(so_far.told(events[-1]["time_ns"] + 1_000 * MS))
    assert sum(one["cursor"] for one in told) == trial.verdict.totals.pushed
    assert {one["lag"] for one in told} == {0}
    assert {one["blocked"] for one in told} == {None}
