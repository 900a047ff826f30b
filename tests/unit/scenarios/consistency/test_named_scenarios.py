"""Goal: each named anomaly shows, with its smallest history. Method: the shipped scenarios simulated, seeds pinned."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.scenarios.consistency import ONE, QUORUM, SAFE, SHOWN, assert_shown, run_in_memory

from zonelab.app.cli.main import run_cli
from zonelab.scenarios.errors import ScenarioError
from zonelab.scenarios.spec.library import library_names
from zonelab.scenarios.spec.reading import load_scenario

LEVELS = [ONE, QUORUM, SAFE]


@pytest.mark.parametrize(("name", "level"), SHOWN, ids=lambda value: str(value))
def test_a_scenario_shows_what_it_is_for(name, level):
    assert_shown(run_in_memory(name, f"level={level}"), SHOWN[name, level])


@pytest.mark.parametrize("level", LEVELS)
def test_a_retried_increment_counts_twice_unless_the_own_zone_is_enough(level):
    verdict = run_in_memory("retried-increment", f"level={level}")
    assert verdict.consistency.figures["numbers"] == (2 if level is ONE else 1)
    assert verdict.consistency.operations["next"]["info"] == (0 if level is ONE else 1)


def test_a_second_pop_at_dc_one_delivers_the_item_again():
    again = "workload.operations[3]={at_ms: 3000, zone: b, f: pop}"
    verdict = run_in_memory("eval-pops-differ", "level=DC_ONE", again)
    assert verdict.counts["popped_twice"] == 1
    assert verdict.cases["popped_twice"][0].detail == "x in c, b"


def test_locks_have_several_owners_at_dc_one_and_never_at_a_quorum_but_sometimes_none():
    """A law, not a rate: three zones race, so a quorum can have at most one winner, and every split leaves none."""
    locks = "workload.keys=300", "load.duration_s=3"
    owners = {level: run_in_memory("lock-race", f"level={level}", *locks) for level in LEVELS}
    assert owners[ONE].counts["two_owners"] > 100
    assert owners[ONE].valid is False
    for level in (QUORUM, SAFE):
        assert owners[level].counts["two_owners"] == 0
        assert owners[level].counts["no_owner"] > 10
        assert owners[level].consistency.figures["owners_1"] > 100
        assert owners[level].valid is True
        share = owners[level].consistency.shares["no_owner"]["all"]
        assert share.low < share.hits / share.trials < share.high


def test_a_counter_gives_numbers_twice_below_safe_quorum_which_answers_with_errors_instead():
    calls = ("load.duration_s=2",)
    counted = {level: run_in_memory("counter-ids", f"level={level}", *calls) for level in LEVELS}
    lost = {
        level: verdict.consistency.figures["numbers"] - verdict.consistency.figures["distinct"]
        for level, verdict in counted.items()
    }
    assert lost[ONE] > lost[QUORUM] > 0
    assert lost[SAFE] == 0
    assert counted[SAFE].consistency.operations["next"]["info"] > 10
    assert (
        counted[ONE].consistency.operations["next"]["info"]
        == counted[QUORUM].consistency.operations["next"]["info"]
        == 0
    )


@pytest.mark.parametrize("level", LEVELS)
def test_writers_side_by_side_leave_zones_different_though_every_write_was_confirmed(level):
    verdict = run_in_memory("lockstep-writers", f"level={level}", "workload.keys=500", "load.duration_s=1")
    assert verdict.consistency.operations["write"]["ok"] == sum(verdict.consistency.operations["write"].values()) > 900
    assert 0 < verdict.counts["divergent"] < 250


@pytest.mark.parametrize("level", LEVELS)
def test_one_writing_zone_and_no_fault_is_linearizable_at_every_level(level):
    verdict = run_in_memory("registers", f"level={level}", "faults=[]", "load.rate_per_s={a: 100}")
    assert verdict.valid is True
    assert not any(verdict.counts.values())


def test_drawn_registers_break_at_every_level_and_each_key_that_does_gets_a_small_counterexample():
    for level in LEVELS:
        verdict = run_in_memory("registers", f"level={level}")
        assert verdict.valid is False
        assert verdict.counts["nonlinearizable"] == len(verdict.consistency.counterexamples) >= 1
        assert all(2 <= len(one.ops) <= 5 for one in verdict.consistency.counterexamples)
        assert verdict.counts["applied_after_fail"] == verdict.counts["unwritten"] == verdict.counts["undecided"] == 0


def test_sets_keep_what_was_confirmed_and_differ_where_a_zone_missed_it():
    verdict = run_in_memory("sets", "level=DC_QUORUM")
    assert verdict.counts["lost_add"] == verdict.counts["unwritten"] == 0
    assert verdict.counts["divergent"] == 3
    healthy = run_in_memory("sets", "level=DC_QUORUM", "faults=[]")
    assert healthy.valid is True
    assert healthy.counts["divergent"] == 0


@pytest.mark.usefixtures("undrawn")
def test_a_run_of_registers_is_the_same_twice_in_every_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hashes, rows = [], []
    for _ in range(2):
        assert run_cli(["run", "registers", "--on", "sim", "--set", "load.duration_s=7", "--json"]) == 1
        run = tmp_path / json.loads(capsys.readouterr().out)["run"]
        hashes.append(json.loads((run / "run.json").read_text())["trace_hash"])
        segments = [f"history/{name}-000001" for name in ("operations", "values", "faults")]
        rows.append(
            [pq.read_table(run / f"{name}.parquet").to_pylist() for name in (*segments, "final_values", "anomalies")]
        )
    assert hashes[0] == hashes[1]
    assert rows[0] == rows[1]
    monkeypatch.setenv("COLUMNS", "200")
    assert run_cli(["check", str(run)]) == 1
    told = capsys.readouterr().out
    shown = ("read: ok / fail / info", "stale read, share (95 %)", "no order of these")
    assert [words for words in shown if words not in told] == []


def test_every_scenario_that_the_page_names_is_in_the_library_and_every_workload_is_on_the_page():
    page = (Path(__file__).parents[4] / "docs" / "consistency.md").read_text()
    named = set(re.findall(r"^\| [^|]+ \| `([a-z0-9-]+)` \|", page, flags=re.MULTILINE))
    assert len(named) > 10
    shipped = {name for name in library_names() if load_scenario(name).workload is not None}
    assert named == shipped


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("workload.kind=map", "workload.kind: got 'map'; accepted: register, set, lock, counter, list"),
        ("workload.mix={push: 1}", "workload.mix.push: got 'push'; accepted: an operation of a register"),
        ("workload.mix={read: 0}", "workload.mix: got {'read': 0.0}; accepted: weights of which one is more than 0"),
        ("workload.keys=0", "workload.keys: got 0"),
        (
            "workload.forbid=[lost]",
            "workload.forbid[0]: got 'lost' (did you mean lost_add?)",
        ),
        (
            "workload.operations=[{at_ms: 1, zone: a, f: read}]",
            "load.rate_per_s: got 100.0; accepted: nothing beside workload.operations",
        ),
        (
            "load.operations=[{at_ms: 1, zone: a, id: m}]",
            "load.operations: got pushes to a queue; accepted: workload",
        ),
        (
            "faults[0]={kind: consumer_crash, zone: a, at_s: 1, for_s: 1}",
            "faults[0].kind: got 'consumer_crash'; accepted: faults of servers and links, beside a workload",
        ),
    ],
)
def test_a_bad_workload_is_refused_with_path_value_and_what_is_accepted(change, problem):
    with pytest.raises(ScenarioError) as refused:
        load_scenario("registers", overrides=[change])
    assert any(problem in line for line in refused.value.lines), refused.value.lines


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ("{at_ms: 1, zone: d, f: read}", ".zone: got 'd'; accepted: a zone of the topology (a, b, c)"),
        ("{at_ms: 1, zone: a, f: pop}", ".f: got 'pop'; accepted: an operation of a register"),
        ("{at_ms: 1, zone: a, f: read, client: 3}", ".client: got 3; accepted: less than clients_per_zone (3)"),
        ("{at_ms: 9000, zone: a, f: read}", ".at_ms: got 9000.0; accepted: less than load.duration_s (6 s)"),
    ],
)
def test_a_bad_told_operation_is_refused(operation, problem):
    with pytest.raises(ScenarioError) as refused:
        load_scenario("stale-quorum-read", overrides=[f"workload.operations[2]={operation}"])
    assert any(f"workload.operations[2]{problem}" in line for line in refused.value.lines), refused.value.lines
