"""Owner of a run: the process that writes it, named in ``run.json``, and a check that it lives."""

import os
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")


class RunOwner(BaseModel):
    """A process, told apart from a later one of the same number, and from one of another machine or an earlier boot.

    ``zonelab.cluster.real.owner`` does the like for servers and containers, which no other package reads; ``analysis``
    imports none of the others, and has to tell other machines as well.

    ``namespace``: that of its pid. ``start_ticks``: when it began, in clock ticks since the machine did (field 22 of
    proc_pid_stat(5)).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int
    namespace: int
    start_ticks: int
    boot_id: str

    @classmethod
    def current(cls) -> Self | None:
        """This process; None where the system does not say (no Linux)."""
        try:
            boot_id = _BOOT_ID.read_text(encoding="ascii").strip()
            namespace = _PID_NAMESPACE.stat().st_ino
        except OSError:
            return None
        pid = os.getpid()
        return cls(pid=pid, namespace=namespace, start_ticks=_start_ticks(pid) or 0, boot_id=boot_id)

    def is_gone(self) -> bool:
        """Return True if the process has ended, as far as this one can see.

        In another container of this machine it may live unseen, so it is not said to be gone. Of another boot id nobody
        can tell whether it is an earlier boot or another machine; a running lab is read on its own machine nearly
        always, so that counts as gone.
        """
        here = type(self).current()
        if here is None or (here.boot_id == self.boot_id and here.namespace != self.namespace):
            return False
        return here.boot_id != self.boot_id or _start_ticks(self.pid) != self.start_ticks


def _start_ticks(pid: int) -> int | None:
    """None if the process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZXx" else int(fields[18])
