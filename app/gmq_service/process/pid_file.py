"""The pid file: the number of the process and nothing else, as gmq writes it; beside it, in JSON, where it serves.

A service holds a lock on the file while it runs. A file without a lock was left behind by a killed process, even if
another process has its number now.
"""

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zonelab.analysis.whole_files import write_json
from zonelab.cluster.process.file_lock import locked, locked_at
from zonelab.cluster.zone import ClusterError

PATIENCE_S = 0.5
"""Wait for a process that only looks at the file, which holds it for a moment, too."""

_POLL_S = 0.02
_BYTES = 64
_DIGITS_MAX = 9
_NO_LINK = os.O_NOFOLLOW | os.O_NONBLOCK
"""A link is an error, and a FIFO keeps nobody waiting."""


_FACTS_BEGIN = b'{"pid":'
"""The begin of the file beside the pid file, without white space."""


class Serving(ClusterError):
    """A service holds the file already."""


class PidFile:
    """``path`` need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._facts = self.path.with_name(f"{self.path.name}.json")

    def pid(self) -> int | None:
        """The number of the service that runs; None if none does, whatever the file says.

        Raises ``ClusterError`` for a link.
        """
        with self._opened() as descriptor:
            if descriptor is None or locked(descriptor, shared=True):
                return None
            return _number(os.pread(descriptor, _BYTES, 0))

    @property
    def is_stale(self) -> bool:
        """A process that was killed left it behind."""
        return self.path.exists() and self.pid() is None

    def facts(self) -> dict[str, Any]:
        """Return what the service said of itself when it began to serve; nothing before."""
        with contextlib.suppress(OSError, ValueError):
            value = json.loads(self._facts.read_text(encoding="utf-8"))
            return value if isinstance(value, dict) else {}
        return {}

    def tell(self, facts: dict[str, Any]) -> None:
        write_json(self._facts, facts)

    @contextlib.contextmanager
    def held(self) -> Iterator[str | None]:
        """Write the own number, and hold the file. Yields a line if the file beside it was cut short.

        Raises ``Serving``, and ``ClusterError`` if it cannot be written, or is a file of somebody else.
        """
        descriptor = self._taken()
        try:
            cut_short = self._check(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        try:
            self._facts.unlink(missing_ok=True)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            yield f"{self._facts} was cut short; it is written anew" if cut_short else None
        finally:
            self._facts.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
            os.close(descriptor)

    def _taken(self) -> int:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | _NO_LINK, 0o644)
            except OSError as error:
                raise self._unfit(error) from error
            if locked_at(descriptor, self.path):
                return descriptor
            os.close(descriptor)
            if time.monotonic() > deadline_s:
                raise Serving(f"a service runs already (pid {self.pid()}, {self.path}); zonelab gmq stop ends it")
            time.sleep(_POLL_S)

    def _check(self, descriptor: int) -> bool:
        """Return True if the file beside it is the begin of one that a service wrote.

        Raises ``ClusterError`` if either file is none of a service's: both will be emptied.
        """
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ClusterError(f"the pid file {self.path}: not a regular file")
        text = os.pread(descriptor, _BYTES, 0)
        if text and _number(text) is None:
            raise ClusterError(f"the pid file {self.path}: got a file that holds no number; accepted: one number")
        if not os.path.lexists(self._facts):
            return False
        if self._facts.is_file() and not self._facts.is_symlink() and _began(self._facts):
            return "pid" not in self.facts()
        raise ClusterError(f"{self._facts}: not a file that a service wrote; remove it first")

    def _unfit(self, error: OSError) -> ClusterError:
        if error.errno == errno.ELOOP:
            return ClusterError(f"the pid file {self.path}: got a link; accepted: a regular file")
        return ClusterError(f"the pid file {self.path} cannot be written: {error.strerror}")

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | _NO_LINK)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise self._unfit(error) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _began(path: Path) -> bool:
    """True if the file is the begin of what ``PidFile.tell`` writes; nothing is one, too."""
    with path.open("rb") as file:
        text = b"".join(file.read(_BYTES).split())
    return text.startswith(_FACTS_BEGIN) or _FACTS_BEGIN.startswith(text)


def _number(text: bytes) -> int | None:
    """The process that the content of a pid file names; None if it is no such number."""
    digits = text.strip()
    return int(digits) if digits.isdigit() and len(digits) <= _DIGITS_MAX else None
