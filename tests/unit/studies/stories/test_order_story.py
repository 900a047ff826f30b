"""Goal: the story of a broken order tells each event that matters with all that is known of it, and no other.

Method: planted tables of a run instead of a run; the whole page.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from support.scenarios.sim_runs import small

from zonelab.analysis.checkers.judgement import Case
from zonelab.analysis.checkers.order.properties import Property
from zonelab.analysis.runs.history import FAULTS, fault_row
from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME
from zonelab.scenarios.run_files.tables import FAULTS_NAME, MemoryRun, MemoryTables
from zonelab.studies.stories import story as stories
from zonelab.studies.stories.story import ORDER_TIMES, setting_of, story

MS = 1_000_000
BEGIN_MS = 100
INFO: Any = None
UNTIL = 120 * MS
OURS, OTHER = {"partition": "t/0"}, {"partition": "t/1"}
M, N = {"member": "m"}, {"member": "n"}

EVENTS: list[dict[str, Any]] = [
    {"kind": "produce", **OURS, "offset": 0, "message_id": "m1", "producer": "p", "outcome": "info", "until_ns": UNTIL},
    {"kind": "produce", **OURS, "message_id": "m2", "producer": "p", "zone": "a", "outcome": "fail", "status": "late"},
    {"kind": "member", **M, "status": "joined"},
    {"kind": "grant", **OURS, **M, "token": 3, "cursor": 0, "outcome": "ok", "until_ns": 150 * MS},
    {"kind": "renew", **OURS, **M, "token": 3, "outcome": "ok", "until_ns": 160 * MS},
    {"kind": "renew", **OURS, **M, "generation": 2, "token": 3, "outcome": "fail"},
    {"kind": "commit", **OTHER, **M, "offset": 5, "cursor": 6, "outcome": "ok"},
    {"kind": "start", **OTHER, **M, "offset": 0, "message_id": "m1", "attempt": 1},
    {"kind": "start", **OURS, **M, "offset": 0, "message_id": "m1", "attempt": 2},
    {"kind": "commit", **OURS, **M, "offset": 0, "cursor": 1, "outcome": "ok"},
    {"kind": "commit", **OURS, **M, "offset": 0, "cursor": 1, "outcome": "ok"},
    {"kind": "commit", **OURS, **N, "offset": 0, "cursor": 1, "outcome": "ok"},
    {"kind": "commit", **OURS, **N, "offset": 1, "cursor": 1, "outcome": "info"},
    {"kind": "assign", **OURS, "zone": "b"},
]  # fmt: skip
AT_REST: list[dict[str, Any]] = [
    {"place": "log", "zone": "a", **OURS, "offset": 0, "message_id": "m1"},
    {"place": "log", "zone": "a", **OURS, "offset": 1, "message_id": "m2"},
    {"place": "log", "zone": "a", **OTHER, "offset": 0, "message_id": "x"},
    {"place": "cursor", "group": "g", "zone": "a", **OURS, "offset": 1},
    {"place": "sink", "group": "g", **OURS, "offset": -1, "message_id": "m1"},
]
LINES = """\
     -50.000  FAULT                  kill a begins
       0.000  p                      produce t/0 m1 at 0 until 20.000 nobody knows
       1.000  p                      produce t/0 m2 refused (late)
       2.000  m                      member (joined)
       3.000  m                      grant t/0 to cursor 0 under 0.3 until 50.000
       5.000  m                      renew t/0 under 2.3 refused
       7.000  m                      start t/1 m1 at 0 attempt 1
       8.000  m                      start t/0 m1 at 0 attempt 2
       9.000  m                      commit t/0 cursor at 0 to cursor 1
      11.000  n                      commit t/0 cursor at 0 to cursor 1
      12.000  n                      commit t/0 cursor at 1 to cursor 1 nobody knows
      13.000  b                      assign t/0"""
IN_OTHERS = """\
       6.000  m                      commit t/1 cursor at 5 to cursor 6
"""


def told(case: Case | None, monkeypatch: pytest.MonkeyPatch) -> str:
    """The story of the planted run whose first case of I9 is ``case``."""
    tables = MemoryTables()
    for number, event in enumerate(EVENTS):
        tables(ORDER_NAME, ORDER).append({"index": number, "time_ns": (BEGIN_MS + number) * MS, **event})
    for row in AT_REST:
        tables(FINAL_ORDER_NAME, FINAL_ORDER).append(row)
    fault = fault_row(fault="kill a", kind="kill", target="a", begin_ns=50 * MS, colour="#000000", detail="{}")
    tables(FAULTS_NAME, FAULTS).append(fault)
    cases = {} if case is None else {Property.CURSOR: (case, case)}
    record = SimpleNamespace(phases={"load": (BEGIN_MS * MS, 500 * MS)})
    trial = SimpleNamespace(
        verdict=SimpleNamespace(cases=cases),
        run=SimpleNamespace(record=record, trace_hash="abc"),
        recorded=MemoryRun(INFO, tables),
    )
    monkeypatch.setattr(stories, "attempt", lambda scenario, make_queue: trial)
    return story(small(), Property.CURSOR)


def page(lines: str, *rest: str) -> str:
    head = [f"# {Property.CURSOR}: {Property.CURSOR.summary}", setting_of(small()), ORDER_TIMES]
    return "\n\n".join([*head, f"```text\n{lines}\n```", *rest, "Trace hash abc."]) + "\n"


def test_the_events_of_a_partition_and_of_its_message_are_told_with_what_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(what="fell", group="g", partition="t/0", offset=0, index=10, message_id="m1", detail="from 1 to 0")
    shown = LINES.splitlines()
    shown.insert(9, f"{10:>12.3f}  m                      commit t/0 cursor at 0 to cursor 1  ←")
    assert told(case, monkeypatch) == page(
        "\n".join(shown),
        "**fell: from 1 to 0**, in t/0 m1 at 0.",
        "At the end:",
        "- log in zone a: 0 m1, 1 m2\n- cursor of g in zone a: 1\n- sink of g: m1",
    )


def test_a_case_of_no_partition_is_told_with_the_events_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(what="stood", group="-", partition="-", offset=-1, index=4, message_id="m9")
    shown = LINES.splitlines()
    shown.insert(5, f"{4:>12.3f}  m                      renew t/0 under 0.3 until 60.000  ←")
    shown.insert(7, IN_OTHERS.rstrip("\n"))
    assert told(case, monkeypatch) == page(
        "\n".join(shown),
        "**stood**, m9.",
        "At the end:",
        "- log in zone a: 0 m1, 1 m2, 0 x\n- cursor of g in zone a: 1\n- sink of g: m1",
    )


def test_a_case_without_a_message_names_its_offset_and_what_is_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(what="gap", group="g", partition="t/7", offset=0)
    page = told(case, monkeypatch)
    assert "**gap**, in t/7 offset at 0.\n\nAt the end:\n\n- nothing\n" in page
    assert [line.split()[2] for line in page.splitlines() if line.startswith("   ")] == ["kill", "member"]
    assert "It does not break that any more." in told(None, monkeypatch)
