"""Goal: the JUnit suite of each study has a case for each thing that was judged, with what, how often, what to type.

Method: planted reports, each another number, and every case of their suites. The files are tested in test_junit.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from zonelab.analysis.checkers.verdict import CLASSES
from zonelab.analysis.comparison.confirmation import ConfirmationStatus
from zonelab.analysis.rates.decisions import ObjectiveStatus
from zonelab.app.terminal.junit import Suite
from zonelab.app.verbs.judged_studies import (
    ablation_suite,
    evaluation_suite,
    hunt_suite,
    matrix_suite,
    options_suite,
    sweep_suite,
)
from zonelab.studies.hunt.findings import Group

AGAIN = "again: zonelab it"
MADE = ("every run was made", "passed", ())
INTERRUPTED = ("every run was made", "error", ("interrupted after 1,200 runs", "repeat or continue with: zonelab it"))
UNJUDGED = ("not judged: no run is valid or invalid",)


def told(suite: Suite) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
    """By group: name, outcome and lines of each case."""
    found: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
    for case in suite.cases:
        found.setdefault(case.group, []).append((case.name, str(case.outcome), tuple(case.text.splitlines())))
    assert suite.command == "zonelab it"
    return found


def report(told: dict[str, Any], *, complete: bool = True) -> Any:
    return SimpleNamespace(runs=1_200, complete=complete, command="zonelab it", to_json=lambda: told)


def share(name: str, words: str) -> str:
    return f"{name} in {words} with 95 % confidence): {CLASSES[name].summary}"


def test_a_hunt_has_a_case_a_forbidden_class_and_each_one_found() -> None:
    group = Group(name="late", seeds=tuple(range(10, 17)), counterexample=Path("late.yaml"))
    hunted: Any = SimpleNamespace(
        **{"observations": range(4), "groups": [group], "judged": 20, "complete": True, "command": "zonelab it"},
        **{"undecided": [2], "broken": {3: "the lab failed", 4: "event 5"}},
    )
    scenario: Any = SimpleNamespace(name="s", level="DC_ONE", forbidden=("lost", "stuck"))
    (cases,) = told(hunt_suite(hunted, scenario)).values()
    seven = share("late", "7 of 20 runs (15.4% to 59.2%")
    assert cases == [
        *(MADE, ("lost", "passed", ()), ("stuck", "passed", ())),
        ("late", "failure", (seven, "seeds 10, 11, 12, 13, 14, …", "again: zonelab replay late.yaml")),
        (
            "seeds without a verdict",
            "skipped",
            ("not judged: 1 of 4 runs are neither valid nor invalid", "seeds 2"),
        ),
        ("seed 3", "error", ("the lab failed", AGAIN)),
        ("seed 4", "error", ("event 5", AGAIN)),
    ]
    hunted.judged = 0
    assert [case[1:] for case in told(hunt_suite(hunted, scenario))["zonelab.hunt.s.DC_ONE"][1:4]] == [
        ("skipped", UNJUDGED)
    ] * 3


def test_a_matrix_has_a_case_a_cell_and_class() -> None:
    cell = {"engine": "gmq", "mode": "compat", "level": "DC_ONE", "faults": "none", "decided": 20}
    classes = {
        "lost": {"failing": 7, "first_seed": 3, "counterexample": "lost.yaml"},
        "stuck": {"failing": 1, "first_seed": 4, "counterexample": None},
        "late": {"failing": 0, "first_seed": None, "counterexample": None},
    }
    undecided = {**cell, "level": "DC_QUORUM", "decided": 0, "classes": {"lost": classes["late"]}}
    problems = ["cell x: it failed: so"]
    cells = told(matrix_suite(report({"cells": [{**cell, "classes": classes}, undecided], "problems": problems})))
    assert cells == {
        "zonelab.matrix": [MADE, ("cell x", "error", ("cell x: it failed: so",))],
        "zonelab.matrix.gmq.compat.DC_ONE": [
            (
                "none: lost",
                "failure",
                (share("lost", "7 of 20 runs (15.4% to 59.2%"), "seed 3", "again: zonelab replay lost.yaml"),
            ),
            ("none: stuck", "failure", (share("stuck", "1 of 20 runs (0.13% to 24.9%"), "seed 4")),
            ("none: late", "passed", ()),
        ],
        "zonelab.matrix.gmq.compat.DC_QUORUM": [("none: lost", "skipped", UNJUDGED)],
    }


def test_a_sweep_has_a_case_a_setting_and_forbidden_class() -> None:
    def row(setting: str, **changes: Any) -> Any:
        plain = {"runs": 600, "runs_with": {}, "judged": 600, "undecided": {}, "problems": {}}
        return SimpleNamespace(setting=setting, **{**plain, **changes})

    rows = [
        row("x", runs_with={"lost": 7, "late": 9}, undecided={5: "why", 6: "why"}, problems={8: "ended"}),
        row("y", judged=0),
    ]
    done: Any = SimpleNamespace(name="s", rows=rows, complete=False, command="zonelab it")
    forbidden = {"x": ["lost", "stuck", "lost"], "y": ["lost"]}
    assert told(sweep_suite(done, forbidden)) == {
        "zonelab.sweep.s": [INTERRUPTED],
        "zonelab.sweep.s.x": [
            ("lost", "failure", (share("lost", "7 of 600 runs (0.47% to 2.4%"), AGAIN)),
            ("stuck", "passed", ()),
            (
                "seeds without a verdict",
                "skipped",
                ("not judged: 2 of 600 runs are neither valid nor invalid", "seeds 5, 6"),
            ),
            ("seed 8", "error", ("ended", AGAIN)),
        ],
        "zonelab.sweep.s.y": [("lost", "skipped", UNJUDGED)],
    }


def test_an_ablation_has_a_case_a_mechanism_and_one_of_options_a_case_a_set() -> None:
    off = [
        {"off": ["a", "b"], "detected": True, "runs": 5, "problems": {}},
        {"off": ["c"], "detected": False, "runs": 5_000, "problems": {9: "why"}},
    ]
    few = ("not judged: nothing got worse without it in 5,000 seeds",)
    assert told(ablation_suite(report({"rows": off}, complete=False))) == {
        "zonelab.ablate": [INTERRUPTED, ("a, b", "passed", ()), ("c", "skipped", few), ("c, seed 9", "error", ("why",))]
    }
    row = {"workload": "w", "faults": "none", "runs": 5_000, "problems": []}
    on = [
        {**row, "on": [], "more": ["lost"]},
        {**row, "on": ["x", "y"], "more": ["lost", "late"], "problems": ["p"]},
        {**row, "on": ["x"], "more": []},
    ]
    assert told(options_suite(report({"rows": on}))) == {
        "zonelab.options": [MADE],
        "zonelab.options.w": [
            ("none: x + y", "failure", ("more lost, late than without, in 5,000 seeds", AGAIN)),
            ("none: x + y, run without a verdict", "error", ("p",)),
            ("none: x", "passed", ()),
        ],
    }


class Judged(SimpleNamespace):
    def __str__(self) -> str:
        return f"value of {self.objective}"


def evaluated(
    *, recommended: str | None, undecided: tuple[str, ...] = (), open_: tuple[str, ...] = (), confirmation: Any = None
) -> Any:
    judged = [
        Judged(objective="o1", status=ObjectiveStatus.NOT_MET),
        Judged(objective="o2", status=ObjectiveStatus.MET),
    ]
    unknown = Judged(objective="o3", status=ObjectiveStatus.OPEN)
    rows = [
        SimpleNamespace(setting="x", judged=[*judged, unknown], open=[unknown]),
        SimpleNamespace(setting="y", judged=[Judged(objective="o1", status=ObjectiveStatus.MET)], open=[]),
    ]
    found = SimpleNamespace(recommended=recommended, undecided=undecided, rows=rows)
    done = SimpleNamespace(found=found, runs={"k1": 700, "k2": 500}, complete=False, failures={"x, seed 1": "ended"})
    rollout = SimpleNamespace(scenario=SimpleNamespace(name="s"))
    words = {"answer": "No setting", "reasons": ["because"], "command": "zonelab it"}
    return SimpleNamespace(**words, rollout=rollout, done=done, open=open_, confirmation=confirmation)


def test_an_evaluation_has_a_case_for_its_answer_one_a_setting_and_one_a_confirmed_row() -> None:
    unmet = ("o1 is not met, value of o1", "o3 is open, value of o3", AGAIN)
    answer, failed = ("No setting", "because", AGAIN), ("x, seed 1", "error", ("ended", AGAIN))
    for undecided, how in (((), "failure"), (("y",), "skipped")):
        assert told(evaluation_suite(evaluated(recommended=None, undecided=undecided)))["zonelab.evaluate.s"] == [
            *(INTERRUPTED, ("a setting is recommended", how, answer), ("x", how, unmet), ("y", "passed", ()), failed)
        ]
    unproven = told(evaluation_suite(evaluated(recommended="y", undecided=("y",), open_=("o3",))))
    assert unproven["zonelab.evaluate.s"][1] == ("a setting is recommended", "skipped", answer)
    rows = [
        SimpleNamespace(setting="y", kind=kind, status=status, why="so")
        for kind, status in (
            ("k1", ConfirmationStatus.CONFIRMED),
            ("k2", ConfirmationStatus.NOT),
            ("k3", list(ConfirmationStatus)[-1]),
        )
    ]
    confirmed = evaluated(recommended="y", confirmation=SimpleNamespace(rows=rows))
    cases = told(evaluation_suite(confirmed))
    assert cases["zonelab.evaluate.s"][1:4] == [
        *(("a setting is recommended", "passed", ()), ("x", "skipped", unmet), ("y", "passed", ()))
    ]
    assert cases["zonelab.evaluate.s.real"] == [
        ("y, k1", "passed", ()),
        ("y, k2", "failure", (f"{ConfirmationStatus.NOT}: so", AGAIN)),
        ("y, k3", "skipped", (f"{list(ConfirmationStatus)[-1]}: so", AGAIN)),
    ]
