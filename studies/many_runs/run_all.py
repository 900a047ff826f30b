"""Run every task that has no result yet, wherever that is, and keep what comes."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from zonelab.analysis.observation import Observation
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.processes import Processes
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.task import FinishedTask, Key, RunTask, Subject, Workers

IN_THIS_PROCESS = Processes()


@dataclass(slots=True)
class AllRuns:
    """Results of the tasks. ``known``: how many were there before. ``complete`` is False if Ctrl-C ended it.

    ``failures``: why a task has no result; all others were run nevertheless.
    """

    results: dict[Key, Observation] = field(default_factory=dict)
    failures: dict[Key, str] = field(default_factory=dict)
    known: int = 0
    complete: bool = False

    def add(self, finished: FinishedTask[Observation]) -> None:
        """Take in a run that ended, among the results or the failures."""
        if finished.result is not None:
            self.results[finished.key] = finished.result
        else:
            self.failures[finished.key] = finished.error or "no result"

    @property
    def done(self) -> int:
        return len(self.results) + len(self.failures)

    def by_setting(self) -> dict[str, dict[int, Observation]]:
        """Return what there is of each setting by seed, in order; of a run that failed, its problem."""
        found: dict[str, dict[int, Observation]] = {}
        failed = {key: Observation(problem=why) for key, why in self.failures.items()}
        for (setting, seed), observation in sorted({**self.results, **failed}.items(), key=lambda one: one[0]):
            found.setdefault(setting, {})[seed] = observation
        return found

    @property
    def broken(self) -> list[str]:
        """The runs in which the lab itself failed, and why: they have no verdict at all."""
        return [
            f"{setting}, seed {seed}: {one.problem}"
            for setting, runs in self.by_setting().items()
            for seed, one in runs.items()
            if one.valid is None and one.problem is not None
        ]


def run_all(
    run: Callable[[Subject], Observation],
    tasks: Sequence[RunTask[Subject]],
    *,
    workers: Workers = IN_THIS_PROCESS,
    environment: Environment | None = None,
    state: RunState | None = None,
    on_finished: Callable[[FinishedTask[Observation]], None] = lambda finished: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> AllRuns:
    """``run``, a function of a module, of every task that ``state`` has no result of. Ctrl-C ends it.

    ``on_finished`` hears of each task that is run now, in the order in which they finish; ``progress`` hears how many
    of how many are done. Raises ``ManyRunsFailed``.
    """
    done: AllRuns = AllRuns()
    before = {} if state is None else state.results
    for task in tasks:
        if task.key in before:
            done.results[task.key] = before[task.key]
    done.known = len(done.results)
    missing = [task for task in tasks if task.key not in done.results]
    try:
        with closing(workers.finished(run, missing, environment or Environment.here())) as arriving:
            for finished in arriving:
                if state is not None:
                    state.add(finished)
                done.add(finished)
                on_finished(finished)
                progress(done.done, len(tasks))
    except KeyboardInterrupt:
        return done
    done.complete = True
    return done
