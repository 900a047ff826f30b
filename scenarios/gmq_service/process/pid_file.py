"""The pid file: the number of the process and nothing else, as gmq writes it; beside it, in JSON, where it serves.

Who serves holds a lock on the file. So a file that a killed process left behind is known for what it is, whoever has
its number now.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cluster.process.file_lock import locked, locked_at
from cluster.zone import ClusterError

PATIENCE_S = 0.5
"""Who only looks at the file holds it for a moment, too."""

_POLL_S = 0.02


class Serving(ClusterError):
    """A service holds the file already."""


class PidFile:
    """``path`` need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._facts = self.path.with_name(f"{self.path.name}.json")

    def pid(self) -> int | None:
        """Of the service that runs; None if none does, whatever the file says."""
        with self._opened() as descriptor:
            if descriptor is None or locked(descriptor, shared=True):
                return None
            text = os.pread(descriptor, 32, 0).strip()
            return int(text) if text.isdigit() else None

    @property
    def is_stale(self) -> bool:
        """A process that was killed left it behind."""
        return self.path.exists() and self.pid() is None

    def facts(self) -> dict[str, Any]:
        """What the service said of itself when it began to serve; nothing before."""
        with contextlib.suppress(OSError, ValueError):
            told: dict[str, Any] = json.loads(self._facts.read_text(encoding="utf-8"))
            return told
        return {}

    def tell(self, facts: dict[str, Any]) -> None:
        self._facts.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Write the own number, and hold the file. Raises ``Serving``, and ``ClusterError`` if it cannot be written."""
        descriptor = self._taken()
        try:
            self._facts.unlink(missing_ok=True)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            self._facts.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
            os.close(descriptor)

    def _taken(self) -> int:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise ClusterError(f"the pid file {self.path} cannot be written: {error.strerror}") from error
            if locked_at(descriptor, self.path):
                return descriptor
            os.close(descriptor)
            if time.monotonic() > deadline_s:
                raise Serving(f"a service runs already (pid {self.pid()}, {self.path}); zonelab gmq stop ends it")
            time.sleep(_POLL_S)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int | None]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)
