"""The ``zonelab`` command from its first to its last moment: whenever Ctrl-C comes, it ends in order.

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
from typing import Any

_INTERRUPTED = 2
"""``exits.EXIT_UNKNOWN``, which may not have been imported yet."""

_AGAIN_S = 0.01
"""How long after a Ctrl-C that nothing could raise it comes again."""


_PLAIN = {"–": "-", "…": "...", "·": "|", "×": "x", "±": "+-", "→": "->", "≤": "<=", "≥": ">="}
"""What tables and sentences have for the eye, where only ASCII can be printed."""


def _plain(error: UnicodeError) -> tuple[str, int]:
    """In place of what the output cannot print; of one character if it can be, so that tables keep their columns."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    given = error.object[error.start : error.end]
    return "".join(_PLAIN.get(one) or one.encode("ascii", "backslashreplace").decode() for one in given), error.end


def main() -> None:
    ending = _Ending()
    atexit.register(ending.finish)  # first, so that it runs last
    codecs.register_error("zonelab", _plain)
    sys.unraisablehook = _unraisable
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="zonelab")  # type: ignore[union-attr]
    code = run_cli(sys.argv[1:])
    ending.begin(code)
    sys.exit(code)


def _unraisable(what: "sys.UnraisableHookArgs") -> None:
    """Where Python lets nothing raise, as in a weak reference's callback, Ctrl-C is not lost: it comes again.

    Not at once, as that would be within this function, which may raise nothing either.
    """
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)
        return
    again = threading.Timer(_AGAIN_S, _thread.interrupt_main)
    again.daemon = True
    again.start()


def run_cli(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Prints one line per expected error, and no traceback of it."""
    try:
        from scenarios.cli.exits import exit_code_of
    except KeyboardInterrupt:
        print("zonelab: interrupted", file=sys.stderr)  # noqa: T201 (what tells errors is not there yet)
        return _INTERRUPTED
    try:
        from scenarios.cli.app import run_app
        from scenarios.cli.old_spellings import in_new_spelling

        given, changed = in_new_spelling(arguments)
        for words in changed:
            print(f"zonelab: {words}; the old spelling works until 1.0", file=sys.stderr)  # noqa: T201
        code = run_app(given)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return exit_code_of(error, arguments)
    return code


class _Ending:
    """While Python leaves, Ctrl-C changes the exit code and disturbs nothing.

    Once all that was registered for the end is done, the process ends without freeing its modules one by one, which
    takes some tenths of a second, in which Ctrl-C would kill it.
    """

    def __init__(self) -> None:
        self._interrupted = False
        self._code: int | None = None

    def begin(self, code: int) -> None:
        self._code = code
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: Any) -> None:
        self._interrupted = True

    def finish(self) -> None:
        if self._code is None:
            return
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.flush()
        os._exit(_INTERRUPTED if self._interrupted else self._code)
