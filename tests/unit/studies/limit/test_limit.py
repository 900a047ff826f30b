"""Goal: the throughput limit is that of arithmetic. Method: planted limits, and servers whose work is known."""

from types import SimpleNamespace

import pytest
from support.scenarios.sim_runs import small
from support.studies.in_memory import FACTS

from zonelab.analysis.observation import Observation
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.studies.limit import keeping_up
from zonelab.studies.limit.keeping_up import behind
from zonelab.studies.limit.limits import limit_rows, limits_of
from zonelab.studies.limit.result import MEANS, LimitResult
from zonelab.studies.limit.rows import LimitRow, row_of
from zonelab.studies.limit.search import ABOVE, KEPT, PRECISION, RUNS, LimitSearch, knee
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.sweep.settings import Setting


def searched(kept: float, above: float | None = None, behind: str = "", *, runs: int = 9) -> Observation:
    numbers = {KEPT: kept, RUNS: runs} if above is None else {KEPT: kept, ABOVE: above, RUNS: runs}
    return Observation(counts={behind: 1} if behind else {}, numbers=numbers)


@pytest.mark.parametrize("planted", [0.013, 0.99, 1.0, 700.0])
def test_a_planted_limit_is_found_wherever_the_search_begins(planted: float):
    found = knee(lambda factor: "acks" if factor > planted else None, factor_max=1e6)
    assert found.numbers[KEPT] <= planted < found.numbers[ABOVE] <= found.numbers[KEPT] * PRECISION
    assert found.counts == {"acks": 1}


def test_where_nothing_is_behind_there_is_no_limit_and_where_all_is_the_search_ends():
    assert knee(lambda factor: None, factor_max=50) == searched(50.0, runs=7)
    with pytest.raises(RuntimeError, match="too much: pushes are behind"):
        knee(lambda factor: "pushes", factor_max=50)


@pytest.mark.parametrize(("level", "work"), [("DC_ONE", (0.8 + 0.6) / 3), ("DC_QUORUM", (2.4 + 0.6) / 3)])
def test_scale_out_is_limited_by_the_work_of_its_servers(level: str, work: float):
    """A read is work for one server of three at DC_ONE and for all at DC_QUORUM, a write for all; 1 ms each."""
    scenario = load_scenario("scale-out", overrides=[f"level={level}", "load.duration_s=1"])
    found = LimitSearch((scenario,))((0, 1))
    law_per_s = 1_000 / work
    # Runs are behind from 5 % above the law on; drawn arrivals of half a second are some 3 % more or fewer.
    assert 0.94 * law_per_s < found.numbers[KEPT] < 1.10 * law_per_s
    assert found.counts == {"operations": 1}


def test_consumers_can_be_the_limit_and_are_told():
    consumers = {"per_zone": 1, "batch": 1, "wait_ms": 10, "processing": "constant:20ms"}
    zones = {"queue": {"unack_ms": 60_000}, "links": {"lag": "0"}, "level": "DC_ONE", "drain": {"bound_s": 61}}
    scenario = small(consumers=consumers, load={"duration_s": 4}, **zones)
    found = LimitSearch((scenario,))((0, 1))
    assert 0.8 * 3 * 50 < found.numbers[KEPT] < 1.15 * 3 * 50
    assert set(found.counts) < {"deliveries", "acks"}


def test_a_load_that_is_kept_up_with_is_not_behind_whatever_came_before_and_one_whose_pushes_fail_is():
    """Only the last half of the load counts: the first may have its faults."""
    load = {"duration_s": 8, "rate_per_s": 40}
    found = [
        behind(small(load=load, faults=[{"kind": "kill", "zone": zone, "at_s": at_s, "for_s": 2} for zone in "bc"]))
        for at_s in (0.5, 5.5)
    ]
    assert found == [None, "pushes"]


def test_rows_have_an_interval_over_seeds_and_say_where_there_is_no_limit():
    settings = (Setting(name="as it is", scenario=small()),)
    found = {("as it is", seed): searched(90.0 + seed, 94.0, "acks") for seed in (1, 2)}
    (row,) = limit_rows(settings, AllRuns(results=found))
    assert row.low_per_s < row.value_per_s < row.high_per_s
    assert row.words.startswith("92.7 (")
    (alone,) = limit_rows(settings, AllRuns(results={key: found[key] for key in [("as it is", 1)]}))
    assert alone.words == "92.5 ± 2.5%, one seed", "one seed tells nothing of others"
    none = {("as it is", 1): searched(5_000.0)}
    assert limit_rows(settings, AllRuns(results=none))[0].words == "more than 5,000"


def test_what_will_be_searched_is_said_beforehand():
    settings = (Setting(name="as it is", scenario=small(load={"duration_s": 2})),)
    assert limits_of(settings, (1, 2, 3)).forecast == "3 searches x about 10 runs x 2 s of load, simulated"


def test_a_load_that_cannot_be_scaled_is_refused():
    with pytest.raises(NotAccepted, match=r"load\.rate_per_s: got 0; accepted: a rate"):
        limits_of((Setting(name="told", scenario=small(load={"rate_per_s": 0, "operations": []})),), ())


def test_limits_stand_beside_the_first_and_beside_their_load(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "120")

    def row(name: str, *found: Observation) -> LimitRow:
        return row_of(name, dict(enumerate(found, start=7)), given_per_s=400.0)

    known = [searched(1_000.0, 1_000.0, name) for name in ("pushes", "acks")]
    slow = searched(50.0, 50.0, "acks")
    none = searched(5_000.0)
    rows = (
        row("first", *known),
        row("slow", slow),
        row("none", none, slow),
        row("broken", Observation(problem="its process ended")),
    )
    told = {**FACTS, "command": "zonelab limit s", "seeds": range(3, 9), "runs": 5, "known": 0, "complete": False}
    told["problems"] = ["broken, seed 7: its process ended"]
    LimitResult(**told, rows=rows).print()
    page = [line.rstrip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    cells = [[cell.strip() for cell in line.split("│")] for line in page if "│" in line]
    assert cells == [
        ["first", "1,000 ± 2.5%, with each seed", "1", "2.5", "acks, pushes"],
        ["slow", "50 ± 2.5%, one seed", "0.05", "0.125", "acks"],
        ["none", "more than 500", "0.5", "1.25", "acks"],
        ["broken", "–", "–", "–", "–"],
    ]
    assert page[-6:] == [
        "5 searches in 1 s, 5.0 a second.",
        f"{MEANS} Seeds 3 to 8.",
        "no limit: broken, seed 7: its process ended",
        "docs/limit.md explains the table.",
        "Interrupted. Run the same command to continue.",
        "Repeat or continue with: zonelab limit s",
    ]
    assert "at most 5% above it" in MEANS


EPOCH_NS, BEGIN_NS, END_NS = 10**15, 2 * 10**9, 4 * 10**9
HALF_NS = 3 * 10**9


def events(f: str, count: int, *, at_ns: int, ended: str = "ok", **columns: object) -> list[dict[str, object]]:
    """Return ``count`` operations of one nanosecond each; with ``ended="info"`` their ends are unknown."""
    rows = []
    for number in range(count):
        row = {"f": f, "process": "p", "zone": "a", "op_id": number, "invoke_ns": at_ns, "message_id": f"m{number}"}
        rows.append({**row, "type": "invoke", "time_ns": at_ns, **columns})
        rows.append({**row, "type": ended, "time_ns": at_ns + 1, **columns})
    return rows


def due(at_ns: int) -> dict[str, object]:
    return {"due_ms": (EPOCH_NS + at_ns) // 10**6}


LATE_NS = HALF_NS + 5 * 10**8
ALL_PUSHED = events("push", 200, at_ns=LATE_NS, **due(LATE_NS))
ALL_POPPED = events("pop", 200, at_ns=LATE_NS)
ALL_ACKED = events("ack", 200, at_ns=LATE_NS)


@pytest.mark.parametrize(
    ("found", "rows"),
    [
        (None, [*ALL_PUSHED, *ALL_POPPED, *ALL_ACKED]),
        (None, [*ALL_PUSHED, *events("push", 9, at_ns=LATE_NS, ended="info"), *ALL_POPPED, *ALL_ACKED]),
        ("pushes", [*ALL_PUSHED, *events("push", 11, at_ns=LATE_NS, ended="info"), *ALL_POPPED, *ALL_ACKED]),
        (None, events("push", 10, at_ns=HALF_NS - 2, ended="info")),
        ("pushes", events("push", 10, at_ns=HALF_NS, ended="info")),
        ("pushes", events("push", 10, at_ns=END_NS - 1, ended="info")),
        (None, events("push", 10, at_ns=END_NS, ended="info")),
        (None, events("push", 9, at_ns=HALF_NS, ended="info")),
        ("deliveries", ALL_PUSHED),
        ("deliveries", events("push", 200, at_ns=BEGIN_NS, **due(LATE_NS))),
        (None, events("push", 200, at_ns=LATE_NS, **due(END_NS + 10**6))),
        (None, events("push", 200, at_ns=BEGIN_NS, **due(BEGIN_NS))),
        ("deliveries", [*ALL_PUSHED, *ALL_POPPED[:340], *ALL_POPPED[:60], *ALL_ACKED]),
        ("acks", [*ALL_PUSHED, *ALL_POPPED]),
        ("acks", [*ALL_PUSHED, *ALL_POPPED, *events("ack", 200, at_ns=LATE_NS, ended="fail", error="late")]),
        (None, [*ALL_PUSHED, *ALL_POPPED, *events("ack", 200, at_ns=LATE_NS, ended="fail", error="no lease")]),
        (None, [*ALL_PUSHED, *events("pop", 50, at_ns=LATE_NS, message_id=None), *ALL_POPPED, *ALL_ACKED]),
        (None, events("read", 200, at_ns=LATE_NS)),
        ("operations", [*ALL_PUSHED, *events("w", 20, at_ns=LATE_NS), *events("w", 20, at_ns=LATE_NS, ended="info")]),
        (None, [*events("read", 20, at_ns=LATE_NS), *events("w", 20, at_ns=BEGIN_NS, ended="info")]),
    ],
)  # fmt: skip
def test_a_run_is_behind_with_what_it_did_not_do_in_the_last_half_of_its_load(
    found: str | None, rows: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
):
    def played(scenario: object, tables: MemoryTables, **_: object) -> SimpleNamespace:
        for index, row in enumerate(rows):
            tables("operations", OPERATIONS).append({**row, "index": index})
        return SimpleNamespace(record=SimpleNamespace(phases={"load": (BEGIN_NS, END_NS)}), epoch_ns=EPOCH_NS)

    monkeypatch.setattr(keeping_up, "simulate", played)
    assert behind(small()) == found


def test_while_it_searches_the_bar_has_the_rate_that_was_found_last():
    note = limits_of([Setting(name="", scenario=small())], [1]).note
    assert note(0, None) == "no rate yet"
    assert note(0, searched(1_200.0, 1_250.0)) == "last: 1,225 a second"
    assert note(1, Observation(counts={}, numbers={})) == "no rate yet"
