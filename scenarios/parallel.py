"""Many independent runs in several processes; their number does not change the results nor the order of these."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

_TASKS_AT_A_TIME = 4


@contextmanager
def results(run: Callable[[Task], Result], tasks: Sequence[Task], *, jobs: int) -> Iterator[Iterable[Result]]:
    """``run`` of every task. ``run`` is a function of a module and tasks can be pickled; Ctrl-C ends the processes."""
    if jobs == 1 or len(tasks) <= _TASKS_AT_A_TIME:
        yield map(run, tasks)
        return
    # Forked processes would inherit the locks of the threads that Arrow keeps.
    processes = multiprocessing.get_context("spawn")
    resource_tracker.ensure_running()  # which would unblock the signal when the first process begins
    with _ctrl_c_blocked():
        pool = processes.Pool(jobs)
    with pool:
        yield pool.imap(run, tasks, chunksize=_TASKS_AT_A_TIME)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Processes that begin meanwhile leave Ctrl-C to this one from their first import on: they inherit the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
