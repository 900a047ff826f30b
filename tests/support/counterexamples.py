"""The counterexamples that the documentation publishes: reading them, and writing into them what they show now.

``python -m support.counterexamples`` in ``tests/`` writes the trace hash of the program as it is into every file that
still shows its violation, and names those that do not: ``zonelab matrix --files docs/counterexamples`` finds others.
"""

import re
import sys
from pathlib import Path

from scenarios.files import program_fingerprint
from scenarios.load import dump_scenario, load_scenario
from scenarios.spec import Found, Scenario
from scenarios.trial import Trial, attempt

DOCS = Path(__file__).parents[2] / "docs"
FILES = tuple(sorted((DOCS / "counterexamples").glob("*.yaml")))


def class_in_name(path: Path) -> str:
    """``zone-wiped-DC_ONE-compat-lost.yaml`` is about what was lost."""
    return path.stem.rpartition("-")[2]


def linked(page: str) -> list[Path]:
    """The counterexamples that a page of the documentation links to, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [DOCS / link for link in re.findall(r"\((counterexamples/[^)]+\.yaml)\)", text)]


def rerun(path: Path) -> tuple[Scenario, Trial]:
    scenario = load_scenario(str(path))
    return scenario, attempt(scenario)


def renew(path: Path) -> bool:
    """Write down what the file shows now. False, and nothing is written, if its violation is no longer there."""
    scenario, trial = rerun(path)
    if class_in_name(path) not in trial.violated:
        return False
    found = Found(trace_hash=trial.run.trace_hash, violated=trial.violated, program=program_fingerprint())
    path.write_text(dump_scenario(scenario.model_copy(update={"found": found})), encoding="utf-8")
    return True


if __name__ == "__main__":
    stale = [path.name for path in FILES if not renew(path)]
    sys.exit(f"no longer what they say: {', '.join(stale)}" if stale else 0)
