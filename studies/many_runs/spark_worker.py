"""Work of a Spark worker on its part of the tasks.

Of Spark it imports only what every worker has imported already, so that its start is short.
"""

import pickle
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pyspark import SparkFiles

from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.task import FinishedTask, RunTask, finish


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """``different``: what is otherwise on ``host``, which then has run nothing. ``each_s``: a task took so long."""

    host: str
    different: str | None = None
    finished: tuple[FinishedTask[Any], ...] = ()
    each_s: float = 0.0


def make_part(packed_run: bytes, path: Sequence[str], here: Environment, own: str | None, packed_tasks: bytes) -> Part:
    """Make the tasks. ``path``: where the driver finds modules; this machine may have some at the same place.

    ``own``: the archive with modules of the user's own, which come before those of ``path``.
    """
    if own is not None and (shipped := SparkFiles.get(own)) not in sys.path:
        sys.path.append(shipped)
    sys.path += [folder for folder in path if folder not in sys.path and Path(folder).is_dir()]
    host = socket.gethostname()
    if (different := here.difference(_environment(here.factories).parts)) is not None:
        return Part(host=host, different=different)
    tasks: list[RunTask[Any]] = pickle.loads(packed_tasks)
    run, begin_s = pickle.loads(packed_run), time.monotonic()
    finished = tuple(finish(run, task) for task in tasks)
    return Part(host=host, finished=finished, each_s=(time.monotonic() - begin_s) / len(tasks))


@cache
def _environment(factories: tuple[str, ...]) -> Environment:
    """Return the environment of this process at its begin: later it would include modules that runs import."""
    return Environment.here(factories=factories)
