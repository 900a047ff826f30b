"""``zonelab hunt``: seeds, processes, a bar, and what was found."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from scenarios.hunt import HuntState, Outcome, Quarry, hunt
from scenarios.hunted import Hunted, sum_up

LINES = 10
"""So many lines of progress where there is no terminal."""


def go_hunting(quarry: Quarry, *, seeds: Sequence[int], jobs: int, runs: Path, command: str) -> Hunted:
    """Hunt in ``runs/<scenario>/hunt-<fingerprint>``, going on with what is there. Raises ``OSError``."""
    directory = runs / quarry.scenario.name / f"hunt-{quarry.fingerprint()}"
    state = HuntState(directory)
    before = [state.outcomes[seed] for seed in seeds if seed in state.outcomes]
    with _Bar(quarry.scenario.name, len(seeds), before) as bar:
        complete = hunt(quarry, seeds, jobs=jobs, state=state, told=bar.told)
    wanted = [state.outcomes[seed] for seed in seeds if seed in state.outcomes]
    return sum_up(quarry, wanted, directory, complete=complete, resumed=len(before), command=command)


def hunt_command(
    source: str, *, level: str, seeds: range, jobs: int, messages: int, overrides: Sequence[str], runs: Path
) -> str:
    words = ["zonelab", "hunt", source, "--level", level, "--runs", str(len(seeds)), "--seed-from", str(seeds.start)]
    words += ["--jobs", str(jobs), "--messages", str(messages)]
    for override in overrides:
        words += ["--set", override]
    return shlex.join(words if runs == Path("runs") else [*words, "--dir", str(runs)])


class _Bar:
    def __init__(self, title: str, total: int, before: Sequence[Outcome]) -> None:
        console = Console(stderr=True)
        self._lines = not console.is_terminal
        self._title, self._total, self._done = title, total, len(before)
        self._failed = sum(outcome.valid is False for outcome in before)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[failed]} failed"),
            TimeRemainingColumn(),
            console=console,
            disable=self._lines,
        )
        self._task = self._progress.add_task(title, total=total, completed=self._done, failed=self._failed)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def told(self, outcome: Outcome) -> None:
        self._done += 1
        self._failed += outcome.valid is False
        self._progress.update(self._task, completed=self._done, failed=self._failed)
        if self._lines and self._done % max(1, self._total // LINES) == 0:
            line = f"{self._title}: {self._done:,} of {self._total:,} runs, {self._failed:,} failed"
            print(line, file=sys.stderr, flush=True)  # noqa: T201 (this is its purpose)
