"""Tasks on Spark: on this machine with ``local[2]``, or on whatever a master has.

Small jobs from a few threads, so that results arrive while others are made. Spark makes the tasks of a lost executor
again on another one. A worker that cannot import zonelab, or is otherwise than this process, ends the whole.
"""

import os
import pickle
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic
from zipfile import ZipFile

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext

from zonelab.analysis.spark.session import NO_EXECUTOR_S, JavaMissing, SparkFailed, has_executor, spark_session
from zonelab.scenarios.spec.queue_factory import files_needed
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.spark_worker import Part, make_part
from zonelab.studies.many_runs.task import FinishedTask, ManyRunsFailed, Result, RunTask, Subject

_JOBS_AT_ONCE = 3
"""While the last part of one job is made, those of the next take the free places."""

_PART_S = 2.0
"""A part should take about so long: then what Spark does for it, some ten milliseconds, does not matter."""

_PART_TASKS_MAX = 64
_LOOK_S = 1.0

OWN = "zonelab-own"
"""The archive with modules of the user's own."""

_WITHOUT_ZONELAB = re.compile(r"No module named 'zonelab\b[^']*'")
_WITHOUT_PYTHON = re.compile(r"Cannot run program \"[^\"]*\"|PYTHON_VERSION_MISMATCH[^\n]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class SparkWorkers:
    """``Workers`` of a Spark ``master``. ``settings``: of Spark, as ``spark-submit --conf`` has them."""

    master: str
    settings: Mapping[str, str] = field(default_factory=dict)

    def finished(
        self, run: Callable[[Subject], Result], tasks: Sequence[RunTask[Subject]], here: Environment
    ) -> Generator[FinishedTask[Result], None, None]:
        if not tasks:
            return
        with ExitStack() as stack:
            stack.enter_context(_as_before())
            try:
                session = stack.enter_context(
                    spark_session(master=self.master, app_name="zonelab runs", brief=True, settings=self.settings)
                )
            except (JavaMissing, SparkFailed) as error:
                raise ManyRunsFailed(str(error)) from error
            own = _shipped(session.sparkContext, here, Path(stack.enter_context(TemporaryDirectory())))
            jobs: _Jobs[Subject, Result] = _Jobs(session.sparkContext, pickle.dumps(run), here, own, deque(tasks))
            yield from jobs.finished()


@contextmanager
def _as_before() -> Iterator[None]:
    """Workers are of this Python unless the environment says which; afterwards everything is as it was."""
    said = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = said or sys.executable
    try:
        yield
    finally:
        if said is None:
            del os.environ["PYSPARK_PYTHON"]


def _shipped(context: SparkContext, here: Environment, folder: Path) -> str | None:
    """Give every worker the modules of the user's own; returns the name under which it finds their folder."""
    files: dict[str, Path] = {}
    for factory in here.factories:
        with suppress(ValueError):  # then a worker has none, either, and its fingerprint says the same
            files |= files_needed(factory)
    if not files:
        return None
    with ZipFile(folder / f"{OWN}.zip", "w") as archive:
        for name, path in files.items():
            archive.write(path, name)
    context.addArchive(f"{folder / f'{OWN}.zip'}#{OWN}")
    return OWN


@dataclass(slots=True)
class _Jobs(Generic[Subject, Result]):
    """``own``: the name of an archive with modules of the user's own. ``alone``: tasks of jobs that failed as a whole,
    each of which gets a job to itself, to see which it was.
    """

    context: SparkContext
    packed_run: bytes
    here: Environment
    own: str | None
    waiting: deque[RunTask[Subject]]
    alone: deque[RunTask[Subject]] = field(default_factory=deque)
    running: dict[Future[list[Part]], list[RunTask[Subject]]] = field(default_factory=dict)
    part_tasks: int = 1

    def finished(self) -> Iterator[FinishedTask[Result]]:
        with ThreadPoolExecutor(_JOBS_AT_ONCE) as threads:
            try:
                begun_s, ended = time.monotonic(), False
                while self.waiting or self.alone or self.running:
                    while len(self.running) < _JOBS_AT_ONCE and (self.waiting or self.alone):
                        tasks = self._next_tasks()
                        self.running[threads.submit(self._job, tasks)] = tasks
                    done, _ = wait(self.running, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                    ended = ended or bool(done)
                    if not ended and time.monotonic() - begun_s > NO_EXECUTOR_S:
                        self._require_executor()
                    for job in done:
                        yield from self._results(job, self.running.pop(job))
            finally:
                with suppress(Py4JError):
                    self.context.cancelAllJobs()

    def _next_tasks(self) -> list[RunTask[Subject]]:
        if self.alone:
            return [self.alone.popleft()]
        left = len(self.waiting) // (self._slots * _JOBS_AT_ONCE)  # the last jobs are small, so that they end together
        count = self._slots * max(1, min(self.part_tasks, left))
        return [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]

    @property
    def _slots(self) -> int:
        return max(1, self.context.defaultParallelism)

    def _job(self, tasks: Sequence[RunTask[Subject]]) -> list[Part]:
        slots = min(self._slots, len(tasks))
        packed = [pickle.dumps(list(tasks[place::slots])) for place in range(slots)]
        make = partial(make_part, self.packed_run, [path for path in sys.path if path], self.here, self.own)
        return self.context.parallelize(packed, slots).map(make).collect()

    def _results(self, job: Future[list[Part]], tasks: Sequence[RunTask[Subject]]) -> Iterator[FinishedTask[Result]]:
        error = job.exception()
        if error is not None:
            self._require_workers(error)
            if len(tasks) > 1:
                self.alone += tasks
            else:
                yield FinishedTask(key=tasks[0].key, error=_line(error))
            return
        parts = job.result()
        for part in parts:
            if part.different is not None:
                raise ManyRunsFailed(f"a worker on {part.host} would make another experiment: {part.different}")
            yield from part.finished
        each_s = max(part.each_s for part in parts)
        self.part_tasks = max(1, min(_PART_TASKS_MAX, round(_PART_S / max(each_s, 1e-3))))

    def _require_workers(self, error: BaseException) -> None:
        """Raise if the failure is not of the tasks."""
        said = str(error)
        if (lacking := _WITHOUT_ZONELAB.search(said)) is not None:
            raise ManyRunsFailed(f"a Spark worker has no zonelab, or another version of it: {lacking[0]}")
        if (lacking := _WITHOUT_PYTHON.search(said)) is not None:
            raise ManyRunsFailed(f"a Spark worker has no Python that fits (see PYSPARK_PYTHON): {lacking[0]}")
        try:
            stopped = bool(_scala(self.context).isStopped())
        except Py4JError:
            stopped = True
        if stopped:
            raise ManyRunsFailed(f"Spark has ended before the last run: {_line(error)}")

    def _require_executor(self) -> None:
        if not str(self.context.master).startswith("local") and not has_executor(self.context):
            raise ManyRunsFailed(f"{self.context.master} gave no executor in {NO_EXECUTOR_S:.0f} s")


def _scala(context: SparkContext) -> Any:
    return context._jsc.sc()


def _line(error: BaseException) -> str:
    """Return the one of Java's many lines that says what went wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception): \S", line)]
    return (said or lines or [type(error).__name__])[-1 if said else 0][:300]
