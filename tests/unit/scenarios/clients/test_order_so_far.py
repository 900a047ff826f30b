"""Goal: while a run goes on, a partition that stands still is told with its cause, and no other is.

Method: rows of the order history as programs cause them; and a whole run, beside its verdict.
"""

from itertools import combinations

import pytest

from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME
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


def seen(status):
    return event("fail", 25, offset=1, outcome="fail", status=status)


def so_far_of(*events):
    so_far = OrderSoFar(wait_ms=400)
    for row in [*PUSHED, *events]:
        so_far.heard(row)
    return so_far


def told_at(now_ms, *events):
    (told,) = so_far_of(*events).shown(now_ms * MS)
    return told


SUSPENDED = [start(20), event("fail", 21, offset=0, outcome="ok", until_ns=601 * MS)]
SIGNS = {
    "unadmitted": [seen("unadmitted")],
    "cursor ahead": [seen("cursor ahead")],
    "poison": [*failed(20, 1), *failed(30, 2)],
    "thrash": [grant(10 * number) for number in range(2, 5)],
    "credit": [seen("credit")],
    "dead holder": [{**event("member", 20, status="crashed"), "partition": None}],
    "orphan": [{**event("renew", 20, outcome="ok"), "until_ns": 599 * MS}],
    "hung": [start(26, 9)],
    "suspended": [*SUSPENDED, event("end", 23, offset=0, op_id=1)],
}
"""The event that shows each cause, beside a grant, in the order in which causes are reported."""

OF_THE_HOLDER = ("dead holder", "orphan")


@pytest.mark.parametrize(
    ("cause", "events"),
    [
        *SIGNS.items(),
        ("slow", []),
        ("slow", failed(20, 1)),
        ("slow", [grant(20), grant(30)]),
        ("slow", [{**event("renew", 20, outcome="ok"), "until_ns": 600 * MS}]),
        ("slow", [{**event("renew", 20, outcome="ok", session="m.2"), "until_ns": 0}]),
        ("slow", [{**event("renew", 20, outcome="fail"), "until_ns": 0}]),
        ("slow", [{**event("member", 20, status="joined"), "partition": None}]),
        ("slow", [event("release", 20, outcome="info"), event("release", 21, outcome="ok", session="m.2")]),
        ("slow", [event("fail", 21, offset=0, outcome="ok", until_ns=600 * MS)]),
        ("slow", [event("fail", 21, offset=0, outcome="info", until_ns=601 * MS)] * 2),
        ("slow", [event("start", 20, offset=1, op_id=1)]),
        ("hung", [start(20, 1), event("end", 21, offset=0, op_id=2)]),
        ("orphan", [event("release", 20, outcome="ok")]),
        ("orphan", [{**grant(20), "until_ns": None}]),
    ],
)
def test_a_partition_that_stands_still_is_told_with_its_cause(cause, events):
    told = told_at(600, grant(10), *events)
    assert (told["blocked"], told["lag"]) == (cause, 2)
    assert told["blocked_s"] == pytest.approx(0.59)
    assert told_at(410, grant(10), *events)["blocked"] is None
    assert told_at(411, grant(10), *events)["blocked_s"] == pytest.approx(0.401)


@pytest.mark.parametrize(("first", "later"), [*combinations(SIGNS, 2)])
def test_of_two_causes_the_first_is_told(first, later):
    events = sorted([*SIGNS[first], *SIGNS[later]], key=lambda row: row["time_ns"])
    assert told_at(600, grant(10), *events)["blocked"] == first


@pytest.mark.parametrize("cause", SIGNS)
def test_a_new_head_has_no_sign_of_the_one_before_but_those_of_its_holder(cause):
    moved = event("commit", 150, outcome="ok", offset=0, cursor=1)
    told = told_at(600, grant(10), *SIGNS[cause], moved)
    assert told["blocked"] == (cause if cause in OF_THE_HOLDER else "slow")
    assert told["blocked_s"] == pytest.approx(0.45)


@pytest.mark.parametrize("cause", SIGNS)
@pytest.mark.parametrize("other", [{"partition": "t/1"}, {"group": "h"}])
def test_signs_of_another_group_or_partition_are_not_of_this_one(cause, other):
    theirs = [{**row, "session": "n.1"} for row in [grant(10), *SIGNS[cause]]]
    moved = [{**row, **{name: other[name] for name in other if row.get(name)}} for row in theirs]
    pushed = [{**row, "partition": "t/1"} for row in PUSHED]
    told = {
        (one["group"], one["partition"]): one["blocked"]
        for one in so_far_of(*pushed, grant(10), *moved).shown(600 * MS)
    }
    assert told.pop(("g", "t/0")) == "slow"
    assert list(told.values()) == [cause]


@pytest.mark.parametrize("kind", ["grant", "commit", "dead_letter", "park", "skip"])
def test_whatever_moves_a_cursor_makes_a_new_head(kind):
    assert told_at(600, grant(10), {**grant(500), "kind": kind, "cursor": 1})["cursor"] == 1
    assert told_at(600, grant(10), {**grant(500), "kind": kind, "cursor": 1, "outcome": "info"})["cursor"] == 0
    assert told_at(600, grant(10), {**grant(500), "kind": "renew", "cursor": 1})["cursor"] == 0


def test_places_are_told_in_order_each_with_its_own_end_and_token():
    """Fenced pushes are confirmed without an offset; who waits for nothing begins to wait with the next push."""
    second = [{**grant(10), "partition": "t/1", "token": None}, {**grant(10), "group": "f", "generation": None}]
    fenced = [{"kind": "produce", "partition": "t/1", "outcome": "ok", "time_ns": 900 * MS}] * 3
    refused = {"kind": "produce", "partition": "t/1", "outcome": "fail", "time_ns": 950 * MS}
    told = list(so_far_of(*second, grant(10), *fenced, refused).shown(1_000 * MS))
    assert [(one["group"], one["partition"], one["token"], one["end"], one["blocked_s"]) for one in told] == [
        ("f", "t/0", "0.3", 2, pytest.approx(0.99)),
        ("g", "t/0", "1.3", 2, pytest.approx(0.99)),
        ("g", "t/1", None, 3, None),
    ]
    *_, farther = so_far_of(*second, *fenced, event("start", 10, offset=6, op_id=1, partition="t/1")).shown(0)
    assert farther["end"] == 7


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
    told = list(so_far.shown(events[-1]["time_ns"] + 1_000 * MS))
    assert sum(one["cursor"] for one in told) == trial.verdict.totals.pushed
    assert {one["lag"] for one in told} == {0}
    assert {one["blocked"] for one in told} == {None}
    at_rest = list(rows(trial.tables, FINAL_ORDER_NAME, FINAL_ORDER.names))
    owned = {
        (row["partition"], row["generation"], row["token"])
        for row in events
        if row["kind"] == "grant" and row["outcome"] == "ok"
    }
    effects = [row for row in at_rest if row["place"] == "sink"]
    assert {(row["partition"], row["generation"], row["token"]) for row in effects} <= owned
    assert sorted(row["position"] for row in effects) == list(range(trial.verdict.totals.pushed))
    log = {(row["partition"], row["offset"], row["message_id"], row["key"]) for row in at_rest if row["place"] == "log"}
    assert {(row["partition"], row["offset"], row["message_id"], row["key"]) for row in effects} == log
    assert {generation > 0 for _, generation, _ in owned} == {True}
