"""Which tests run which lines: measured once an invocation, when a mutant has no known killers."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coverage import CoverageData

from mutants.copies import Copy, SuiteError
from mutants.mutant import FOLDERS, Mutant, plant, source_path
from mutants.trials import INSIDE, run_tests

COVERAGE = "mutants.coverage"
TOLD = "mutants.reach.json"


@dataclass(frozen=True, slots=True)
class Reach:
    """``data_file``: coverage by test, as measured in ``folder``. ``seconds``: of each test, measuring included."""

    data_file: Path = Path()
    folder: Path = Path()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def tests_of(self, mutant: Mutant, root: Path) -> list[str]:
        """Return the tests that run the mutated line, the fastest first.

        If none is known to: those that run another line of its statement, or of the function, class or module around
        what runs on import.
        """
        planted = plant(mutant, root)
        data = CoverageData(basename=str(self.data_file))
        data.read()
        by_line = data.contexts_by_lineno(str(self.folder / source_path(mutant.module)))
        found = [test for line in planted.lines for test in by_line.get(line, ()) if test]
        if not found:
            found = [test for line, tests in by_line.items() if line in planted.around for test in tests if test]
        names = dict.fromkeys(test.rpartition("|")[0] for test in found)  # what follows says: setup, run or teardown
        return sorted((name for name in names if name in self.seconds), key=lambda name: (self.seconds[name], name))


def measure(copy: Copy, *, jobs: int, keep: Path | None = None) -> Reach:
    """Run all tests inside, unmutated; ``keep``: a folder for what was found. Raises ``SuiteError`` if one fails."""
    data_file = copy.folder / COVERAGE
    options = [f"--cov={name}" for name in FOLDERS]  # coverage names files by their real paths
    options += ["--cov-context=test", "--cov-report=", "-m", INSIDE]
    options += ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    run = run_tests(copy, ["tests"], first_failure=False, options=options, COVERAGE_FILE=str(data_file))
    if not run.passed:
        raise SuiteError(run.unsound)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        shutil.copy2(data_file, keep / COVERAGE)
        (keep / TOLD).write_text(json.dumps([str(copy.folder), run.seconds]), encoding="utf-8")
    return Reach(data_file, copy.folder, run.seconds)


def unknown_tests(reach: Reach, copy: Copy) -> list[str]:
    """Return the tests inside that were not there when ``reach`` was measured."""
    ended = copy.python("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", INSIDE, "tests")
    names = [line for line in ended.output.splitlines() if "::" in line]
    if ended.code != 0 or not names:
        raise SuiteError(f"the tests cannot be collected:\n{ended.output}")
    return [name for name in names if name not in reach.seconds and not name.startswith("tests/hashes/")]


def kept(path: Path) -> Reach | None:
    """What ``measure`` has kept there, if it has."""
    if not (path / TOLD).exists():
        return None
    folder, seconds = json.loads((path / TOLD).read_text(encoding="utf-8"))
    return Reach(path / COVERAGE, Path(folder), seconds)
