"""SIGTERM and SIGHUP act as Ctrl-C does while zones are up, so that the same clean-up runs."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_TERMINATIONS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def termination_interrupts() -> Iterator[None]:
    """SIGTERM and SIGHUP interrupt the program as SIGINT does, where their default is to end it without clean-up.

    Outside the main thread, where Python lets nobody handle signals, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    replaced = [number for number in _TERMINATIONS if signal.getsignal(number) is signal.SIG_DFL]
    for number in replaced:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in replaced:
            if signal.getsignal(number) is _interrupt:
                signal.signal(number, signal.SIG_DFL)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    # Called, not raised as a signal: SIGINT itself is ignored in a shell's background jobs.
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)
