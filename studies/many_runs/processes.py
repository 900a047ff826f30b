"""Runs tasks in this process or in several, each with one task at a time, so a dead one tells which task failed."""

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic

from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.task import FinishedTask, ManyRunsFailed, Result, RunTask, Subject, finish


@dataclass(frozen=True, slots=True)
class Processes:
    """``Workers`` that are ``jobs`` processes; this one, if one is enough. Ctrl-C is left to this process."""

    jobs: int = 1

    def finished(
        self, run: Callable[[Subject], Result], tasks: Sequence[RunTask[Subject]], here: Environment
    ) -> Generator[FinishedTask[Result], None, None]:
        if min(self.jobs, len(tasks)) <= 1:
            return (finish(run, task) for task in tasks)
        return _Pool(run, deque(tasks), here).finished(min(self.jobs, len(tasks)))


@dataclass(slots=True)
class _Worker(Generic[Subject]):
    process: BaseProcess
    connection: Connection
    task: RunTask[Subject] | None = None

    @property
    def end(self) -> str:
        """Return how the process ended."""
        self.process.join()
        code = self.process.exitcode or 0
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


@dataclass(slots=True)
class _Pool(Generic[Subject, Result]):
    run: Callable[[Subject], Result]
    waiting: deque[RunTask[Subject]]
    here: Environment

    def finished(self, jobs: int) -> Generator[FinishedTask[Result], None, None]:
        workers: list[_Worker[Subject]] = []
        try:
            workers += [self._started() for _ in range(jobs)]
            while workers:
                ready = wait([worker.connection for worker in workers])
                for worker in [worker for worker in workers if worker.connection in ready]:
                    finished, stays = self._received(worker)
                    if finished is not None:
                        yield finished
                    if not stays:
                        workers.remove(worker)
                        worker.connection.close()
                        workers += [self._started()] if self.waiting else []
        finally:
            for worker in workers:
                worker.process.terminate()
                worker.connection.close()
                worker.process.join()

    def _received(self, worker: _Worker[Subject]) -> tuple[FinishedTask[Result] | None, bool]:
        """Return what ``worker`` has finished, and whether it goes on."""
        try:
            said: Any = worker.connection.recv()
        except (EOFError, ConnectionError):
            if worker.task is None:
                raise ManyRunsFailed(f"a process for the runs ended with {worker.end} before its first one") from None
            return FinishedTask(key=worker.task.key, error=f"its process ended with {worker.end}"), False
        if worker.task is None and (different := self.here.difference(said)) is not None:
            raise ManyRunsFailed(f"a process for the runs would make another experiment: {different}")
        done: FinishedTask[Result] | None = None if worker.task is None else said
        worker.task = self.waiting.popleft() if self.waiting else None
        if worker.task is not None:
            with suppress(ConnectionError):  # of a process that has just ended, whose end is received next
                worker.connection.send(worker.task)
        return done, worker.task is not None

    def _started(self) -> _Worker[Subject]:
        # Forked processes would inherit the locks of the threads that Arrow keeps.
        processes = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # which would unblock the signal when the first process begins
        ours, theirs = processes.Pipe()
        process = processes.Process(target=_work, args=(theirs, self.run, self.here.factories), daemon=True)
        with _ctrl_c_blocked():
            process.start()
        theirs.close()
        return _Worker(process, ours)


def _work(connection: Connection, run: Callable[[Any], Any], factories: Collection[str]) -> None:
    """In a process of its own, until the other end is closed or gone."""
    try:
        connection.send(dict(Environment.here(factories=factories).parts))
        while True:
            connection.send(finish(run, connection.recv()))
    except (EOFError, ConnectionError):
        return


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Processes that begin meanwhile leave Ctrl-C to this one from their first import on: they inherit the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
