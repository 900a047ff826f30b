"""A task, the unit of many runs; its result; and the interface of whatever runs tasks."""

import traceback
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.errors import explain
from zonelab.scenarios.run.trial import uncollected
from zonelab.studies.many_runs.environment import Environment

Subject = TypeVar("Subject")
Result = TypeVar("Result")

Key = tuple[str, int]
"""The name of a setting, and a seed."""


class ManyRunsFailed(ClusterError):
    """The runs cannot be made, or cannot go on, as no worker could make them. The message is one line."""


@dataclass(frozen=True, slots=True)
class RunTask(Generic[Subject]):
    """One setting with one seed. ``subject``: what the function that runs it is called with; it can be pickled."""

    setting: str
    seed: int
    subject: Subject

    @property
    def key(self) -> Key:
        return self.setting, self.seed


@dataclass(frozen=True, kw_only=True, slots=True)
class FinishedTask(Generic[Result]):
    """A task that has come to its end: with a ``result``, or else with an ``error`` of one line."""

    key: Key
    result: Result | None = None
    error: str | None = None


class Workers(Protocol):
    """Workers that run tasks."""

    def finished(
        self, run: Callable[[Subject], Result], tasks: Sequence[RunTask[Subject]], here: Environment
    ) -> Generator[FinishedTask[Result], None, None]:
        """``run`` of every task, in the order in which they finish. ``run`` is a function of a module.

        Raises ``ManyRunsFailed``, also if a worker's environment is not that of ``here``. To end it early, close it.
        """


def finish(run: Callable[[Subject], Result], task: RunTask[Subject]) -> FinishedTask[Result]:
    """Run ``task`` in this process. Whatever it raises is of this task alone."""
    try:
        with uncollected():
            return FinishedTask(key=task.key, result=run(task.subject))
    except Exception as error:
        return FinishedTask(key=task.key, error=_error_text(error))


def _error_text(error: Exception) -> str:
    """Return the error in one line; for a bug with its place, as the traceback stays in the worker."""
    words = explain(error)
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, ClusterError) or not frames:
        return words
    return f"{words} ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
