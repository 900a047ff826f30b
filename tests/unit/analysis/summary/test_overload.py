"""Goal: a zone is called overloaded if its consumers could not serve what arrived, and for no other reason.

Method: runs made by hand in which one thing at a time is otherwise, and one simulated run of each kind.
"""

import json
import re
from pathlib import Path

import pytest
from support.scenarios.short_runs import scenario_file
from support.scenarios.sim_runs import SMALL

from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.summary.overload import Overload, overloads
from zonelab.app.cli.main import run_cli


def run(path: Path, *, pushed: int = 100, popped: int = 50, grown: int = 50) -> RunBuilder:
    """Messages of shard a, due and popped in the last half of a load of 2 s, and the depth of zone a."""
    made = RunBuilder(path)
    made.load_ms = 2_000
    for number in range(pushed):
        made.push(f"m{number}", at_ms=1_000 + 9 * number)
    for number in range(popped):
        made.pop(f"m{number}", at_ms=1_010 + 9 * number)
    made.depth("a", at_ms=1_001, waiting=10, leased=0)
    made.depth("a", at_ms=1_990, waiting=10 + grown, leased=0)
    return made


def found(made: RunBuilder) -> tuple[Overload, ...]:
    return overloads(RunDirectory.open(made.write()))


def test_a_zone_with_more_arrivals_than_deliveries_and_a_growing_depth_is_overloaded(tmp_path: Path):
    assert found(run(tmp_path)) == (Overload(zone="a", due=100, deliveries=50, looked_at_s=1.0),)


def test_a_depth_that_goes_up_and_down_does_not_grow_by_its_last_look(tmp_path: Path):
    made = run(tmp_path)
    for number, waiting in enumerate((60, 60, 60, 10, 10, 10)):
        made.depth("a", at_ms=1_100 + 100 * number, waiting=waiting, leased=0)
    assert found(made) == ()


@pytest.mark.parametrize(
    "changes",
    [{"popped": 96}, {"pushed": 12, "popped": 4, "grown": 8}, {"grown": 20}, {"grown": 0}],
    ids=["within 5 %", "too few to tell", "most have gone", "none waits"],
)
def test_a_zone_that_serves_what_arrives_is_not(tmp_path: Path, changes: dict[str, int]):
    assert found(run(tmp_path, **changes)) == ()


def test_what_arrives_under_a_fault_does_not_count(tmp_path: Path):
    made = run(tmp_path)
    made.fault("kill", "b", begin_ms=900, end_ms=None)
    assert found(made) == ()


def test_a_fault_lasts_until_the_zone_has_its_connections_back(tmp_path: Path):
    """Of 100 messages 50 are served: none while pops still fail after the fault, and then as many as arrive."""
    made = run(tmp_path, popped=0)
    for number in range(50):
        made.pop(f"m{50 + number}", at_ms=1_460 + 9 * number)
    made.fault("kill", "a", begin_ms=500, end_ms=1_000)
    assert found(made) != ()
    for number in range(9):
        made.pop(at_ms=1_000 + 50 * number, outcome="fail", error="Unavailable: Peer: Peer Node is not connected")
    assert found(made) == ()


def test_failures_without_a_fault_hide_no_overload(tmp_path: Path):
    """Servers that cannot carry a load let operations of all of it fail."""
    made = run(tmp_path)
    for number in range(20):
        made.push(f"refused{number}", at_ms=1_000 + 49 * number, outcome="info", error="ERR Storage")
    assert found(made) == (Overload(zone="a", due=100, deliveries=50, looked_at_s=1.0),)


def test_messages_count_when_they_become_due(tmp_path: Path):
    made = run(tmp_path, pushed=0, popped=0)
    for number in range(60):
        made.push(f"late{number}", at_ms=1_100, due_ms=5_000)
    assert found(made) == ()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        ({"load.rate_per_s": 700}, "overloaded were a, where ", 2),
        ({"consumers.per_zone": 0}, "there were no consumers (consumers.per_zone: 0)", 1),
    ],
)
def test_what_could_not_be_served_breaks_no_promise(
    tmp_path: Path, change: dict[str, int], said: str, code: int, capsys: pytest.CaptureFixture[str]
):
    """And it is said first, in every form."""
    file = scenario_file(tmp_path, **{**SMALL, "name": "short"})
    sets = [word for path, value in change.items() for word in ("--set", f"{path}={value}")]
    extra = ["--set", "load.duration_s=2", "--set", "drain.bound_s=2", "--dir", str(tmp_path)]
    assert run_cli(["run", str(file), "--on", "sim", *sets, *extra]) == code
    out = capsys.readouterr().out
    first = out.partition("verdict")[2].split("\n\n")[1].splitlines()[0]
    assert said in first
    run = tmp_path / "short" / "latest"
    assert run_cli(["check", str(run), "--json"]) == code
    assert json.loads(capsys.readouterr().out)["sentences"][0] == first
    if code == 2:
        assert f'<p class="headline">{first}' in (run / "report.html").read_text()
        assert "raise drain.bound_s by at least" in out


@pytest.mark.usefixtures("undrawn")
def test_consumers_of_ordered_messages_that_got_none_are_not_called_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    sets = ["--set", "load.rate_per_s=0", "--set", "load.duration_s=1", "--set", "faults=[]"]
    run_cli(["run", "order-states", "--on", "sim", *sets, "--dir", str(tmp_path)])
    out = capsys.readouterr().out
    assert "Nothing was pushed." in out
    assert "there were no consumers" not in out


@pytest.mark.usefixtures("undrawn")
def test_overload_and_a_death_are_told_apart_by_who_lists_what_is_stuck(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """A zone whose server died early in the load misses messages, whether or not consumers keep up with the rest."""
    load = {**SMALL["load"], "duration_s": 2, "rate_per_s": 250}
    faults = [{"kind": "kill", "zone": "b", "at_s": 0.2, "for_s": 0.4}]
    consumers = {**SMALL["consumers"], "per_zone": 1}
    changes = {"name": "both", "load": load, "faults": faults, "consumers": consumers, "drain": {"bound_s": 1}}
    file = scenario_file(tmp_path, **{**SMALL, **changes, "replication": {"time_factor": 0.01}})
    assert run_cli(["run", str(file), "--on", "sim", "--dir", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "nobody finished them (stuck" in out
    told = re.search(r"overloaded were .* can explain ([\d,]+) of ([\d,]+) messages left.* not the ([\d,]+) that", out)
    assert told, out
    waiting, left, missing = (int(figure.replace(",", "")) for figure in told.groups())
    assert waiting + missing == left
    assert min(waiting, missing) > 0
