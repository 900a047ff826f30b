"""Many independent runs in several processes; their number does not change the results nor the order of these."""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
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
    with processes.Pool(jobs, initializer=_leave_ctrl_c_to_the_parent) as pool:
        yield pool.imap(run, tasks, chunksize=_TASKS_AT_A_TIME)


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
