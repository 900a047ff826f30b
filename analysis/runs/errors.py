"""Errors of run directories, each with a text of one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KILLED = "the lab was killed while it ran"


class RunError(Exception):
    """A run directory cannot be analysed. The message is one line that names the file and what is wrong with it."""


class CutOff(RunError):
    """The lab was killed while it wrote."""


class TooNew(RunError):
    """A newer program wrote it."""


@contextmanager
def reading(path: Path, *also: type[Exception]) -> Iterator[Path]:
    """Turn whatever goes wrong with ``path``, and ``also`` what the library that reads it raises, into one line.

    Raises ``RunError``.
    """
    expected: tuple[type[Exception], ...] = (OSError, ValueError, RecursionError, *also)
    try:
        yield path
    except FileNotFoundError as error:
        raise missing(path) from error
    except expected as error:
        raise RunError(f"{path}: truncated, corrupt or unreadable: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:157] + "..."


def missing(path: Path) -> RunError:
    """The error of a file that is not there, which says whether it was being written."""
    partial = path.with_name(path.name + ".partial")
    if partial.exists():
        return CutOff(f"{path}: only {partial.name} is there: {KILLED}")
    return RunError(f"{path}: missing")
