"""Errors for users: something cannot be done or has gone wrong."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path

from zonelab.cluster.zone import ClusterError

_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Error numbers that only writing meets. Not every library names the file, and some have words of their own for it."""


class NotAccepted(ClusterError):
    """The request cannot be met, now or ever. The message says what can."""


class ScenarioError(Exception):
    """The scenario cannot be run as it is written. ``lines`` name file, path, value and accepted values.

    Example::

        try:
            run("steady", set={"load.rate_per_s": -1})
        except ScenarioError as error:
            print(len(error.lines))  # 1
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


def in_utf8(path: Path) -> Path:
    """Returns ``path``. Raises ``NotAccepted`` if its full name is not UTF-8, by which tables could not be read."""
    full = os.path.abspath(path)
    try:
        full.encode()
    except UnicodeEncodeError as error:
        raise NotAccepted(f"directory: got {os.fsencode(full)!r}; accepted: a name in UTF-8") from error
    return path


def explain(error: Exception) -> str:
    """One line that a user can act upon."""
    if isinstance(error, ClusterError):
        return str(error)
    if isinstance(error, OSError) and error.errno in _DISK:
        return f"{error.filename or 'writing a file'}: {os.strerror(error.errno)}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
