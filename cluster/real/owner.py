"""Owner of a temporary directory or container: a lab process, distinct from a later one with the same pid."""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from zonelab.cluster.zone import ZoneError


@dataclass(frozen=True, slots=True)
class Owner:
    """A lab process. ``namespace`` is its pid namespace: pids of another namespace mean nothing here."""

    namespace: int
    pid: int
    start_ticks: int

    @classmethod
    def current(cls) -> "Owner":
        """This process. Raises ``ZoneError`` if the system is not Linux."""
        if sys.platform != "linux":
            raise ZoneError(f"zones on real servers need Linux, this is {sys.platform}")
        pid = os.getpid()
        return cls(namespace=_pid_namespace(), pid=pid, start_ticks=_start_ticks(pid) or 0)

    @classmethod
    def parse(cls, text: str) -> "Owner | None":
        """The owner that ``text`` begins with, as ``str()`` writes it, or None."""
        match = re.match(r"(\d+)-(\d+)-(\d+)(?:-|$)", text)
        return cls(*(int(group) for group in match.groups())) if match else None

    def __str__(self) -> str:
        return f"{self.namespace}-{self.pid}-{self.start_ticks}"

    def is_gone(self) -> bool:
        """Return whether the process has certainly ended; one in another pid namespace is never said to be gone."""
        return self.namespace == _pid_namespace() and _start_ticks(self.pid) != self.start_ticks


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _start_ticks(pid: int) -> int | None:
    """Start time of a living process in clock ticks since boot (field 22 of proc_pid_stat(5)), None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZXx" else int(fields[18])
