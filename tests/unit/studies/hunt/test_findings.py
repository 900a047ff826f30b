"""Goal: what a hunt found is told whole and with the right numbers: shares, seeds, doubts, and what to type next.

Method: planted outcomes, each another number; the whole page and the whole JSON.
"""

from pathlib import Path
from typing import Any

import pytest

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.observation import Observation
from zonelab.scenarios.spec.reading import load_scenario, scenario_of
from zonelab.studies.hunt.findings import HuntResult, sum_up
from zonelab.studies.hunt.seeds import EVENTS, FAULTS, SAME, TWICE, VIRTUAL_NS, HuntTarget
from zonelab.studies.many_runs.run_all import AllRuns

Outcome = tuple[int, Observation]
REPEATED = {TWICE: 1, SAME: 1}


def outcome(seed: int, *violated: str, valid: str | None = None, problem: str | None = None, **numbers: int) -> Outcome:
    return seed, Observation(
        valid=None if problem and TWICE not in numbers else valid or not violated,
        begun=600,
        counts=dict.fromkeys(violated, 2),
        violated=violated,
        numbers={FAULTS: 1, VIRTUAL_NS: 100_500_000_000, EVENTS: 100, **numbers},
        problem=problem,
        trace_hash="t",
    )


LOST = [outcome(seed, "lost", faults=9 - seed) for seed in range(1, 8)]
OTHERS = [
    outcome(8, "lost", "redelivered", **{EVENTS: 50, **REPEATED}),
    outcome(9, "redelivered", problem="event 7 differs", **{EVENTS: 50, TWICE: 1}),
    outcome(10, "lost"),
    outcome(11, **REPEATED),
    *(outcome(seed, valid="unknown") for seed in range(12, 18)),
    outcome(18, problem="the lab is broken"),
]
PAGE = """\
violated    ┃ runs ┃           share (95 %) ┃ seeds
━━━━━━━━━━━━╇━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━
lost        │    9 │ 81.8% (48.2% to 97.7%) │ 8, 10, 7, 6, 5, …
redelivered │    2 │  18.2% (2.3% to 51.8%) │ 8, 9

18 runs, 10,800 messages, 1,809 s of virtual time; 10 failed, 90.9% (58.7% to 99.77%).
6 runs had no verdict and are excluded from the percentages; first seeds: 12, 13, 14, 15, 16, ….
3 seeds were run twice; 2 of them had identical event traces.
seed 9: event 7 differs
seed 18: the lab is broken
"""


def found(folder: Path, outcomes: list[Outcome], *, complete: bool, known: int, **scenario: Any) -> HuntResult:
    target = HuntTarget(
        scenario=scenario_of({"name": "some", "load": {"duration_s": 9, "rate_per_s": 1}, **scenario}, source="x")
    )
    done = AllRuns(results={("some", seed): one for seed, one in outcomes}, known=known, complete=complete)
    return sum_up(target, done, folder, command="zonelab hunt some")


def printed(result: HuntResult, capsys: pytest.CaptureFixture[str]) -> str:
    result.print()
    return "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines())


def test_a_hunt_is_told_whole_and_each_class_has_its_plainest_seed_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = found(tmp_path, [*LOST, *OTHERS], complete=False, known=4)
    page = printed(result, capsys)
    assert page.startswith(PAGE)
    assert page.removeprefix(PAGE).splitlines() == [
        "",
        *next_steps(tmp_path, "lost", MessageClass.LOST.summary),
        "",
        *next_steps(tmp_path, "redelivered", MessageClass.REDELIVERED.summary),
        "",
        "4 runs were reused from an earlier invocation.",
        "Interrupted. Run the same command to continue.",
        "Repeat or continue with: zonelab hunt some",
    ]
    written = {name: load_scenario(str(tmp_path / name / "counterexample.yaml")) for name in ("lost", "redelivered")}
    assert {name: one.seed for name, one in written.items()} == {"lost": 8, "redelivered": 8}
    assert written["lost"].found is not None
    assert (written["lost"].found.trace_hash, set(written["lost"].found.violated)) == ("t", {"lost", "redelivered"})
    assert result.to_json() == {
        **{"scenario": "some", "runs": 18, "known": 4, "complete": False, "failing": 10, "unknown": 6, "repeated": 3},
        "failure_rate": {"low": pytest.approx(0.5872, abs=1e-4), "high": pytest.approx(0.9977, abs=1e-4)},
        "broken": {"9": "event 7 differs", "18": "the lab is broken"},
        "problems": ["seed 9: event 7 differs", "seed 18: the lab is broken"],
        "groups": {
            "lost": in_json(tmp_path / "lost", 8, 10, 7, 6, 5, 4, 3, 2, 1),
            "redelivered": in_json(tmp_path / "redelivered", 8, 9),
        },
        **{"directory": str(tmp_path), "command": "zonelab hunt some"},
    }


def next_steps(folder: Path, name: str, meaning: str) -> list[str]:
    path = folder / name / "counterexample.yaml"
    return [f"{name}: {meaning}", f"  zonelab replay {path}", f"  zonelab shrink {path} --class {name}"]


def in_json(folder: Path, *seeds: int) -> dict[str, Any]:
    return {"runs": len(seeds), "seeds": list(seeds), "counterexample": str(folder / "counterexample.yaml")}


def test_a_hunt_that_found_nothing_says_of_how_much_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = {"kind": "register", "keys": 1, "clients_per_zone": 1}
    accesses = found(tmp_path, [outcome(1), outcome(2)], complete=True, known=0, workload=workload)
    assert printed(accesses, capsys).splitlines() == [
        "2 runs, 1,200 operations, 201 s of virtual time; 0 failed, 0.0% (below 84.2%).",
        "",
        "Repeat or continue with: zonelab hunt some",
    ]
    unknown = found(tmp_path, [outcome(1, valid="unknown")], complete=True, known=0)
    assert "; none could be judged.\n1 run had no verdict" in printed(unknown, capsys)
    assert unknown.to_json()["failure_rate"] is None
    nothing = printed(found(tmp_path, [], complete=True, known=0), capsys)
    assert nothing.splitlines() == ["No seed was run.", "", "Repeat or continue with: zonelab hunt some"]


def test_a_hunt_whose_runs_all_end_in_one_error_says_so_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = "the simulated server does not model CLUSTER INFO; run with --on process"
    runs = [outcome(seed, problem=lacking) for seed in (1, 2)]
    assert printed(found(tmp_path, runs, complete=True, known=0), capsys).splitlines() == [
        f"2 runs, 1,200 messages, 201 s of virtual time; none could be judged: {lacking}.",
        "",
        "Repeat or continue with: zonelab hunt some",
    ]
    others = printed(found(tmp_path, [*runs, outcome(3, problem="boom")], complete=True, known=0), capsys)
    assert "; none could be judged.\n" in others
    assert "seed 3: boom" in others
