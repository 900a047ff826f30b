"""The ``zonelab`` command from its first to its last moment: whenever Ctrl-C or SIGTERM comes, it ends in order.

Everything else is imported within ``run_cli``, so that Ctrl-C during the imports is an error like others.
"""

import _thread
import atexit
import codecs
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

_INTERRUPTED = 2
_LAB_FAILED = 3
"""``exits.EXIT_UNKNOWN`` and ``exits.EXIT_LAB_FAILED``, which may not have been imported yet."""

_ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Act as Ctrl-C does, so that temporary folders go with it."""

_AGAIN_S = 0.01
"""Seconds after which a Ctrl-C that nothing could raise is raised again."""

_PLAIN = {"–": "-", "…": "...", "·": "|", "×": "x", "±": "+-", "→": "->", "≤": "<=", "≥": ">="}
"""Replacements of typographic characters where only ASCII can be printed."""


def _plain(error: UnicodeError) -> tuple[str, int]:
    """In place of what the output cannot print; of one character if it can be, so that tables keep their columns."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    given = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in given), error.end


def main() -> None:
    ending = _Ending()
    atexit.register(ending.finish)  # first, so that it runs last
    _open_closed_streams()
    codecs.register_error("zonelab", _plain)
    _hear_ctrl_c()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="zonelab")  # type: ignore[union-attr]
    code = run_cli(sys.argv[1:])
    ending.begin(code)
    sys.exit(code)


def _open_closed_streams() -> None:
    """Open ``/dev/null`` in place of stdin, stdout and stderr that are closed, lest other files take their places."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
            os.set_inheritable(null, True)  # noqa: FBT003 (its only name)
            setattr(sys, name, open(null, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115 (until the end)


def run_cli(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Prints one line per expected error, and no traceback of it."""
    try:
        return _run_cli(arguments)
    except KeyboardInterrupt:
        return _failed("interrupted", _INTERRUPTED)
    except BaseException as error:  # of what prints errors, or the exit of a module of the user's
        return _failed(f"{type(error).__name__}: {error}", _LAB_FAILED)


def _failed(words: str, code: int) -> int:
    with suppress(OSError):
        print(f"zonelab: {words}", file=sys.stderr)  # noqa: T201 (what prints errors may not be there)
    return code


def _run_cli(arguments: Sequence[str]) -> int:
    from zonelab.app.cli.exits import exit_code_of

    try:
        from zonelab.app.cli.app import run_app

        for each in arguments:
            _check_decoded(each)
        code = run_app(arguments)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return exit_code_of(error, arguments)
    return code


def _check_decoded(argument: str) -> None:
    """Raise ``NotAccepted`` for bytes that are not text in the encoding of this system."""
    from zonelab.scenarios.errors import NotAccepted

    try:
        argument.encode()
    except UnicodeEncodeError as error:
        raise NotAccepted(f"argument: got {os.fsencode(argument)!r}; accepted: text in UTF-8") from error


def _hear_ctrl_c() -> None:
    """No Ctrl-C is lost: within an import it waits for the end, and where Python lets nothing raise it comes again.

    Some modules swallow what is raised while they are imported: of 195 at random moments of ``zonelab pbs`` one was
    lost. Callbacks of weak references and ``__del__`` may raise nothing. A signal keeps what it has if that is not
    Python's own handler, which asyncio asks for by its name; SIGTERM and SIGHUP, if they are ignored.
    """
    sys.unraisablehook = _unraisable
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _hear)
        signal.default_int_handler = _hear  # type: ignore[assignment]
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(_number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does at this moment, also where SIGINT is ignored, as in a shell's background jobs."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else _hear)(signal.SIGINT, frame)


def _hear(number: int, frame: FrameType | None) -> None:
    """Raise ``KeyboardInterrupt``: at once, or if modules are imported, where that began, right after it.

    A second one is raised at once, as an import may never end. So is the first one under a debugger.
    """
    importer = _importer(frame)
    if importer is None or sys.gettrace() is not None:
        raise KeyboardInterrupt
    importer.f_trace = _raise
    importer.f_trace_opcodes = True  # not at its next line, which may be outside of its ``try``
    sys.settrace(_enters)


def _importer(frame: FrameType | None) -> FrameType | None:
    """Return whose import is under way at ``frame``; of imports within imports, the outermost."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            found = frame.f_back
        frame = frame.f_back
    return found


def _enters(*_: Any) -> None:
    """No function that begins now is of interest."""


def _raise(*_: Any) -> NoReturn:
    sys.settrace(None)
    raise KeyboardInterrupt


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Not at once, as that would be within this function, which may raise nothing either."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)
        return
    again = threading.Timer(_AGAIN_S, _thread.interrupt_main)
    again.daemon = True
    again.start()


class _Ending:
    """While Python leaves, Ctrl-C or SIGTERM changes the exit code and disturbs nothing.

    Once all that was registered for the end is done, the process ends without freeing its modules one by one, which
    takes some tenths of a second, in which Ctrl-C would kill it.
    """

    def __init__(self) -> None:
        self._interrupted = False
        self._code = _LAB_FAILED

    def begin(self, code: int) -> None:
        self._code = code
        for number in (signal.SIGINT, *_ENDING):
            if signal.getsignal(number) in (_hear, _end):
                signal.signal(number, self._interrupt)

    def _interrupt(self, *_: Any) -> None:
        self._interrupted = True

    def finish(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.flush()
        os._exit(_INTERRUPTED if self._interrupted else self._code)
