"""Goal: every mutant can be planted in today's sources; one that cannot is an error. Method: plant them in memory."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from mutants.catalogue import AREAS, MUTANTS
from mutants.mutant import CatalogueError, Mutant, plant

ROOT = Path(__file__).resolve().parents[2]

QUORUM = Mutant(
    id="example",
    module="zonelab.cluster.votes.levels",
    function="quorum",
    old="zones // 2 + 1",
    new="zones // 2",
    breaks="An example.",
)
SCRIPT = replace(
    QUORUM,
    module="zonelab.engine.dyno.hardened.records.steps",
    function="Steps.repair",
    script="engine/dyno/hardened/records/lua/repair.lua",
    old="return 1",
    new="return 0",
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.id)
def test_a_mutant_applies_compiles_and_differs(mutant: Mutant) -> None:
    planted = plant(mutant, ROOT)
    assert planted.text != (ROOT / mutant.path).read_text(encoding="utf-8")
    assert len(planted.lines) > 0


def test_there_are_enough_mutants_in_every_area_and_each_has_a_name_of_its_own() -> None:
    assert len(MUTANTS) >= 80
    assert [area for area, mutants in AREAS.items() if len(mutants) < 8] == []
    assert [name for name, count in Counter(mutant.id for mutant in MUTANTS).items() if count > 1] == []
    assert [mutant.id for mutant in MUTANTS if not mutant.breaks.endswith(".")] == []


def test_a_fault_is_planted_in_its_function_only() -> None:
    planted = plant(QUORUM, ROOT)
    before = (ROOT / "cluster/votes/levels.py").read_text(encoding="utf-8").splitlines()
    after = planted.text.splitlines()
    changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True), start=1) if old != new]
    assert changed == list(planted.lines)
    assert after[changed[0] - 1] == "    return zones // 2"


AROUND = [
    ("", "TOP = 1", "TOP = 2", range(1, 11)),
    ("C", "c = 1", "c = 2", range(2, 10)),
    ("C.f", "b=1", "b=2", range(4, 10)),
    ("C.f", "2)", "3)", range(5, 7)),
    ("C.f", "> 3", ">= 3", range(8, 9)),
    ("C.f", "return 4", "return 5", range(9, 10)),
]


@pytest.mark.parametrize(("function", "old", "new", "around"), AROUND)
def test_the_lines_around_a_fault_are_its_statement_or_what_is_imported(
    function: str, old: str, new: str, around: range, tmp_path: Path
) -> None:
    text = (
        "TOP = 1\nclass C:\n    c = 1\n    def f(b=1):\n        b = (b +\n            2)\n"
        "        pass\n        if b > 3:\n            return 4\n"
    )
    (tmp_path / "example.py").write_text(text, encoding="utf-8")
    fault = Mutant(id="x", module="example", function=function, old=old, new=new, breaks="An example.")
    assert plant(fault, tmp_path).around == around


def test_a_script_is_changed_as_a_whole_and_the_lines_are_those_of_who_has_it_run() -> None:
    planted = plant(SCRIPT, ROOT)
    rows = (ROOT / "engine/dyno/hardened/records/steps.py").read_text(encoding="utf-8").splitlines()
    assert planted.text.endswith("return 0\n")
    assert "def repair(" in rows[planted.lines.start - 2]


@pytest.mark.parametrize(
    ("mutant", "problem"),
    [
        (replace(QUORUM, old="zones // 3"), "occurs 0 times"),
        (replace(QUORUM, old="zones"), "occurs 2 times"),
        (replace(QUORUM, old="zones", occurrence=3), "occurs 2 times"),
        (replace(QUORUM, function="quarum"), "has 0 of quarum"),
        (replace(QUORUM, function="Vote.quorum"), "has 0 of Vote.quorum"),
        (replace(QUORUM, module="cluster.no_such_module"), "No such file"),
        (replace(QUORUM, new="zones //"), "does not compile"),
        (replace(QUORUM, new="(zones // 2) + 1"), "changes nothing"),
        (replace(SCRIPT, old="return 2"), "occurs 0 times"),
        (replace(SCRIPT, new="return return"), "does not compile"),
        (replace(SCRIPT, new="return 1"), "changes nothing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_planted_is_an_error_of_the_catalogue(mutant: Mutant, problem: str) -> None:
    with pytest.raises(CatalogueError, match=f"^example.*{problem}"):
        plant(mutant, ROOT)


@pytest.mark.parametrize(("occurrence", "text"), [(1, "def quorum(racks"), (2, "return racks // 2 + 1")])
def test_an_occurrence_says_which_one_is_meant(occurrence: int, text: str) -> None:
    mutant = replace(QUORUM, old="zones", new="racks", occurrence=occurrence)
    assert text in plant(mutant, ROOT).text
