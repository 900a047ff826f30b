"""What the documentation publishes of the guarantees: reading it, and writing into counterexamples what they show now.

``python -m support.studies.counterexamples`` in ``tests/`` writes the trace hash of the program as it is into every
file that still shows its violation, and names those that do not: ``zonelab matrix --dir docs/counterexamples`` finds
others.
"""

import re
import sys
from pathlib import Path

from zonelab.analysis.message_classes import MessageClass
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_files.directory import program_fingerprint
from zonelab.scenarios.spec.reading import dump_scenario, load_scenario
from zonelab.scenarios.spec.scenario import KnownResult, Scenario
from zonelab.studies.guarantees.matrix import Cell
from zonelab.studies.guarantees.matrix_report import TITLES

DOCS = Path(__file__).parents[3] / "docs"
_DETAILS_COLUMNS = 8
FILES = tuple(sorted((DOCS / "counterexamples").glob("*.yaml")))


def class_in_name(path: Path) -> str:
    """``zone-wiped-DC_ONE-compat-lost.yaml`` is about what was lost."""
    return path.stem.rpartition("-")[2]


def linked(page: str) -> list[Path]:
    """The counterexamples that a page of the documentation links to, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [DOCS / link for link in re.findall(r"\((counterexamples/[^)]+\.yaml)\)", text)]


def broken_cells() -> list[tuple[Cell, MessageClass, int]]:
    """Every row of the page's table of broken cells: the cell, what breaks in it, and the first seed that shows it."""
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in _guarantees().splitlines()]
    return [
        (_cell(row[0], row[1], row[2]), MessageClass(row[3]), int(row[6]))
        for row in rows
        if len(row) == _DETAILS_COLUMNS and row[6].isdecimal()
    ]


def held_cells() -> list[Cell]:
    """Every cell that the page's tables say has held."""
    found, mode, levels = [], None, ()
    modes = {title: one for one, title in TITLES.items()}
    for line in _guarantees().splitlines():
        row = [part.strip() for part in line.strip("|").split("|")]
        if line.startswith("## "):
            mode = modes.get(line.removeprefix("## "))
        elif row[0] == "faults":
            levels = row[1:]
        elif mode is not None and row[0] in list(FaultClass):
            texts = zip(levels, row[1:], strict=False)
            found += [_cell(row[0], level, mode) for level, text in texts if text.startswith("held")]
    return found


def _guarantees() -> str:
    return (DOCS / "guarantees.md").read_text(encoding="utf-8")


def _cell(fault_class: str, level: str, mode: str) -> Cell:
    return Cell(fault_class=FaultClass(fault_class), level=Level(level), mode=EngineMode(mode))


def rerun(path: Path) -> tuple[Scenario, Trial]:
    scenario = load_scenario(str(path))
    return scenario, attempt(scenario)


def renew(path: Path) -> bool:
    """Write down what the file shows now. False, and nothing is written, if its violation is no longer there."""
    scenario, trial = rerun(path)
    if class_in_name(path) not in trial.violated:
        return False
    found = KnownResult(trace_hash=trial.run.trace_hash, violated=trial.violated, program=program_fingerprint())
    path.write_text(dump_scenario(scenario.model_copy(update={"found": found})), encoding="utf-8")
    return True


if __name__ == "__main__":
    stale = [path.name for path in FILES if not renew(path)]
    sys.exit(f"no longer what they say: {', '.join(stale)}" if stale else 0)
