"""``zonelab hunt``: run the seeds in several processes, show how far that is, and sum up what was found."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from zonelab.analysis.observation import Observation
from zonelab.studies.hunt.findings import HuntResult, sum_up
from zonelab.studies.hunt.seeds import HuntTarget, hunt, hunt_state
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS
from zonelab.studies.many_runs.task import Finished, Workers
from zonelab.studies.many_runs.where import Where, seed_words
from zonelab.studies.reporting.progress import RunBar


def run_hunt(
    target: HuntTarget, *, seeds: Sequence[int], runs: Path, command: str, workers: Workers = IN_THIS_PROCESS
) -> HuntResult:
    """Hunt in ``runs/<scenario>/hunt-<fingerprint>``, going on with what is there. Raises ``OSError``."""
    directory = runs / target.scenario.name / f"hunt-{target.fingerprint()}"
    with hunt_state(target, directory) as state:
        before = [one for (_, seed), one in state.results.items() if seed in seeds]
        with _Bar(target.scenario.name, len(seeds), before) as bar:
            hunted = hunt(target, seeds, state=state, workers=workers, on_finished=bar.add)
    return sum_up(target, hunted, directory, command=command)


def hunt_command(
    source: str, *, level: str, seeds: range, where: Where, messages: int, overrides: Sequence[str], runs: Path
) -> str:
    words = ["zonelab", "hunt", source, "--level", level, *seed_words(seeds)]
    words += [*where.words, "--messages", str(messages)]
    for override in overrides:
        words += ["--set", override]
    return shlex.join(words if runs == Path("runs") else [*words, "--dir", str(runs)])


class _Bar(RunBar):
    """Counts the runs that failed, too."""

    def __init__(self, title: str, total: int, before: Sequence[Observation]) -> None:
        self._total, self._done = total, len(before)
        self._failed = sum(one.valid is False for one in before)
        super().__init__(title, total=total, done=self._done, note=self._note)

    def add(self, finished: Finished[Observation]) -> None:
        self._done += 1
        self._failed += finished.result is not None and finished.result.valid is False
        self.show(self._done, self._total, note=self._note)

    @property
    def _note(self) -> str:
        return f"{self._failed:,} failed"
