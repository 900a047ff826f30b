"""Exit codes, and the one line on stderr that each expected error becomes."""

import re
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from zonelab.analysis.near_names import did_you_mean
from zonelab.app.terminal.json_output import print_json
from zonelab.app.terminal.junit import JUnitCase, Outcome, Suite, file_in
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.errors import NotAccepted, ScenarioError, explain

EXIT_VALID = 0
EXIT_INVALID = 1
EXIT_UNKNOWN = 2
EXIT_LAB_FAILED = 3
EXIT_USAGE = 64
EXIT_PIPE_CLOSED = 128 + signal.SIGPIPE
"""Exit code of a program that SIGPIPE ended, such as ``cat`` before ``head``."""

EXITS = {True: EXIT_VALID, False: EXIT_INVALID, "unknown": EXIT_UNKNOWN}
"""By a verdict's ``valid``."""

CODES = (
    "Exit codes: 0 valid, 1 invalid, 2 unknown, 3 the lab itself failed, 64 bad usage or bad scenario file, "
    "141 output pipe closed."
)


class LabError(Exception):
    """The lab itself failed: one line for the user and exit code 3. ``printed``: a result that says it is on stdout."""

    def __init__(self, words: str, *, printed: bool = False) -> None:
        super().__init__(words)
        self.printed = printed


def exit_code_of(error: BaseException, arguments: Sequence[str]) -> int:
    """Tell the user of ``error``, which ended the command ``arguments``, without a traceback unless it is a bug."""
    if isinstance(error, BrokenPipeError):
        return _pipe_closed()
    lines, code = _reported(error)
    with suppress(OSError):  # the code says it, too
        for line in lines:
            print(f"zonelab: {line}", file=sys.stderr)  # noqa: T201 (the one place where errors are printed)
    if "--json" in arguments and not (isinstance(error, LabError) and error.printed):
        with suppress(OSError):
            print_json({"errors": list(lines), "exit_code": code})
    _tell_in_junit(lines, code, arguments)
    return code


def _tell_in_junit(lines: Sequence[str], code: int, arguments: Sequence[str]) -> None:
    """Leave the error in the file of ``--junit``, unless what was judged before it is there."""
    file = file_in(arguments)
    if file is None or file.path.is_dir() or (code != EXIT_USAGE and file.path.exists()):
        return
    command = shlex.join(["zonelab", *arguments])
    case = JUnitCase.of("zonelab", arguments[0], Outcome.ERROR, *lines, f"again: {command}")
    with suppress(OSError):  # the error itself has been printed, and may be that the file cannot be written
        file.write(Suite(verb=arguments[0], command=command, cases=[case]))


def _reported(error: BaseException) -> tuple[Sequence[str], int]:
    match error:
        case ScenarioError():
            return error.lines, EXIT_USAGE
        case NotAccepted():  # before ClusterError, of which it is one
            return [str(error)], EXIT_USAGE
        case LabError() | ClusterError():
            return [str(error)], EXIT_LAB_FAILED
        case OSError():
            return [explain(error)], EXIT_LAB_FAILED
        case KeyboardInterrupt():
            return ["interrupted"], EXIT_UNKNOWN
    return _reported_of_others(error)


def _reported_of_others(error: BaseException) -> tuple[Sequence[str], int]:
    from zonelab.analysis.runs.errors import RunError
    from zonelab.studies.shrink.search import NotFailing

    if isinstance(error, RunError):
        return [str(error)], EXIT_LAB_FAILED
    if isinstance(error, NotFailing):
        return [str(error)], EXIT_USAGE
    # Typer carries click under another name in some versions, so its errors are recognised by what they can do.
    words = getattr(error, "format_message", None)
    if words is not None:
        path = getattr(getattr(error, "ctx", None), "command_path", "zonelab")
        told = " ".join(_with_value(words(), error).split())  # choices come on lines of their own
        return [f"{told} (try: {path} --help)"], EXIT_USAGE
    traceback.print_exception(error)
    return [f"this is a bug in zonelab: {type(error).__name__}: {error}"], EXIT_LAB_FAILED


def _with_value(words: str, error: BaseException) -> str:
    """The words of typer with what they leave out: the value that pydantic was given, what else there is."""
    from pydantic import ValidationError

    if accepted := _accepted(words, error):
        return f"{words.rstrip('.')}; accepted: {accepted}"
    cause, plain = error.__cause__, words.replace("Value error, ", "")
    if choice := _CHOICE.search(plain):
        nearest = did_you_mean(choice[1], _NAME.findall(choice[2]))
        return plain.replace(choice[0], f"'{choice[1]}'{nearest} {choice[2]}")
    if not isinstance(cause, ValidationError):
        return words
    given = repr(cause.errors()[0]["input"])
    return plain if given in plain else f"{plain}, got {given}"


_CHOICE, _NAME = re.compile(r"'([^']*)' (is not one of .*)"), re.compile(r"'([^']*)'")


def _accepted(words: str, error: Any) -> str:
    """Return what is accepted where ``error`` of typer, which says ``words``, was raised; nothing if the
    words say so.
    """
    context = getattr(error, "ctx", None)
    if context is None:
        return ""
    if words.startswith(("No such command", "Missing command")):
        return ", ".join(context.command.list_commands(context))
    if words.startswith("No such option"):
        parameters = context.command.get_params(context)
        return ", ".join(name for one in parameters for name in one.opts if name.startswith("-"))
    if words.startswith("Missing argument"):
        return str(error.param.help or "")
    if words.startswith("Got unexpected extra argument"):
        return " ".join(context.command.collect_usage_pieces(context))
    return ""


def _pipe_closed() -> int:
    """Return who read our output has gone, as ``head`` does; keep Python from complaining about it while it exits."""
    sys.stdout = None
    return EXIT_PIPE_CLOSED
