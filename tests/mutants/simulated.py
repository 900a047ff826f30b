"""Simulated runs in a copy, compared with the same runs without a mutant."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

from coverage import CoverageData

from mutants.copies import Copy, SuiteError
from mutants.mutant import FOLDERS, Mutant, plant, source_path
from mutants.runs import TASKS, Shown, read_shown

RUN = "run "
"""How a simulated run is told from a test where killers are named."""

SLOWER = 5
SPARE_S = 30.0
"""A mutant may make the runs so many times slower, and so much longer, before they count as hanging."""

SAMPLED = tuple(TASKS[:8] + TASKS[-8:])
"""They tell which code runs in simulation can reach."""


class Simulations:
    def __init__(self) -> None:
        self._before: dict[str, Shown] = {}
        self._before_path: Path | None = None
        self._took_s = 0.0
        self._reached: Mapping[str, frozenset[int]] = {}

    @property
    def prepared(self) -> bool:
        return self._before_path is not None

    def prepare(self, copy: Copy) -> None:
        """Make the runs in a copy without a mutant. Raises ``SuiteError``."""
        begin_s = monotonic()
        self._before_path = copy.folder / "runs-before.jsonl"
        ended = copy.python("-m", "mutants.runs", str(self._before_path), "-")
        self._took_s = monotonic() - begin_s
        self._before = read_shown(self._before_path)
        failed = [one.task for one in self._before.values() if one.error is not None]
        if ended.code != 0 or failed or len(self._before) != len(TASKS):
            raise SuiteError(f"simulated runs without a mutant failed: {failed or ended.output}")
        self._reached = _reached(copy)

    def reaches(self, mutant: Mutant, copy: Copy) -> bool:
        """Return whether the sampled runs run a mutated line, or for one outside functions, any line of its module."""
        reached = self._reached.get(source_path(mutant.module), frozenset())
        return bool(reached.intersection(plant(mutant, copy.root).lines) if mutant.function else reached)

    def noticed_by(self, mutant: Mutant, copy: Copy, *, seeds: int = len(TASKS)) -> str | None:
        """Return the first of ``seeds`` runs that shows the mutant, if they can reach it."""
        chosen = TASKS[:: len(TASKS) // seeds][:seeds] if seeds < len(TASKS) else TASKS
        return self.noticed_in([RUN + task for task in chosen], copy) if self.reaches(mutant, copy) else None

    def noticed_in(self, runs: Sequence[str], copy: Copy) -> str | None:
        if self._before_path is None:
            raise SuiteError("there is nothing to compare simulated runs with")
        tasks = [run.removeprefix(RUN) for run in runs]
        path = copy.folder / "runs.jsonl"
        path.unlink(missing_ok=True)
        timeout_s = SPARE_S + SLOWER * self._took_s
        ended = copy.python("-m", "mutants.runs", str(path), str(self._before_path), *tasks, timeout_s=timeout_s)
        shown = read_shown(path)
        for task, one in shown.items():
            if one.blames(self._before[task]) is not None:
                return RUN + task
        # What ends the process, or does not end at all, is the run that has told nothing.
        return None if ended.code == 0 else RUN + next((task for task in tasks if task not in shown), tasks[-1])


def _reached(copy: Copy) -> dict[str, frozenset[int]]:
    data_file, path = copy.folder / "runs.coverage", copy.folder / "runs-sampled.jsonl"
    measured = f"--source={','.join(FOLDERS)}"
    ended = copy.python(
        *("-m", "coverage", "run", f"--data-file={data_file}", measured, "-m", "mutants.runs", str(path), "-"),
        *SAMPLED,
    )
    if ended.code != 0:
        raise SuiteError(f"the code that simulated runs reach cannot be measured:\n{ended.output}")
    data = CoverageData(basename=str(data_file))
    data.read()
    return {
        Path(name).relative_to(copy.folder).as_posix(): frozenset(data.lines(name) or ())
        for name in data.measured_files()
    }
