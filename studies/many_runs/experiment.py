"""An experiment: tasks that are measured alike, and the folder that keeps their results."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Generic

from zonelab.analysis.observation import Observation
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS, AllRuns, run_all
from zonelab.studies.many_runs.state import RESULTS_NAME, RunState
from zonelab.studies.many_runs.task import FinishedTask, RunTask, Subject, Workers
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.progress import RunBar

Note = Callable[[int, Observation | None], str]
"""Words beside a bar, of how many runs failed and of what the last one measured, if any has ended."""


def failures(failed: int, last: Observation | None) -> str:
    """Return how many failed."""
    return f"{failed:,} failed"


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[Subject]):
    """Settings, each with seeds, and how a run of them is measured.

    ``verb`` makes it, of a scenario or an engine called ``name``. ``measure``: a function of a module, or an object
    that can be pickled; it gets the subject of a task. ``decided_by``: differ whenever a task of the same name could
    show something else in the same environment. ``factories``: functions of the user's own that runs call.
    ``forecast``: what will be made, if it takes long. ``unit``: what progress counts, ``note``: what is beside it.
    """

    verb: str
    name: str
    measure: Callable[[Subject], Observation]
    tasks: Sequence[RunTask[Subject]] = ()
    decided_by: Sequence[str]
    factories: Collection[str | None] = ()
    forecast: str | None = None
    unit: str = "runs"
    note: Note = failures

    @cached_property
    def environment(self) -> Environment:
        """The versions that, besides the settings and the seed, determine a run."""
        return Environment.here(factories=self.factories)

    @property
    def seeds(self) -> range:
        """The first seed of the tasks to the last."""
        seeds = [task.seed for task in self.tasks]
        return range(min(seeds), max(seeds) + 1) if seeds else range(0)

    @property
    def identity(self) -> str:
        """16 hexadecimal digits of ``decided_by``."""
        return sha256("\n".join(self.decided_by).encode()).hexdigest()[:16]

    def directory(self, runs: Path) -> Path:
        """Return the folder below ``runs`` that keeps the results, one for each experiment and environment."""
        return runs / self.name / f"{self.verb}-{self.environment.naming(self.identity)}"

    def state(self, directory: Path, *, name: str = RESULTS_NAME) -> RunState:
        """Open the results so far. Raises ``OSError``, or ``NotAccepted`` if another program writes there."""
        return RunState(directory / name, environment=self.environment, experiment=self.identity)

    def run(
        self,
        tasks: Sequence[RunTask[Subject]] | None = None,
        *,
        state: RunState | None = None,
        workers: Workers = IN_THIS_PROCESS,
        progress: Callable[[int, int], None] = lambda done, total: None,
        on_finished: Callable[[FinishedTask[Observation]], None] = lambda finished: None,
    ) -> AllRuns:
        """Make every run of ``tasks``, or of all, that ``state`` does not have. Raises ``ManyRunsFailed``."""
        return run_all(
            self.measure,
            self.tasks if tasks is None else tasks,
            workers=workers,
            environment=self.environment,
            state=state,
            progress=progress,
            on_finished=on_finished,
        )

    def conduct(self, directory: Path, *, where: Where = HERE, name: str = RESULTS_NAME) -> AllRuns:
        """Make the runs that ``directory`` has no result of, or whose own directories are gone. Ctrl-C ends it.

        Raises ``ManyRunsFailed``, ``OSError``, or ``NotAccepted`` if another program writes there.
        """
        with self.state(directory, name=name) as state:
            state.forget_lost()
            known = [state.results[task.key] for task in self.tasks if task.key in state.results]
            done, failed = len(known), sum(one.valid is False for one in known)
            title = f"{self.name} {self.verb}"
            note = self.note(failed, known[-1] if known else None)
            with RunBar(title, total=len(self.tasks), done=done, note=note, unit=self.unit) as bar:

                def count(finished: FinishedTask[Observation]) -> None:
                    nonlocal done, failed
                    done, failed = done + 1, failed + (finished.result is not None and finished.result.valid is False)
                    bar.show(done, len(self.tasks), note=self.note(failed, finished.result))

                if self.forecast:
                    bar.tell(f"{self.verb}: {self.forecast}")
                return self.run(state=state, workers=where.workers, on_finished=count)
