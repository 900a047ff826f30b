"""State file of a manual session, by which its cluster is found: in a directory that only its owner can read.

The directory is ``$ZONELAB_STATE``, else ``zonelab`` in ``$XDG_STATE_HOME``, else ``~/.local/state/zonelab``. The
supervisor of a cluster holds a lock on the directory; so a directory has one cluster at most, and a file whose
supervisor is gone is known as left over.
"""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from zonelab.cluster.process.file_lock import locked_at
from zonelab.cluster.real.owner import Owner
from zonelab.cluster.zone import ClusterError

VARIABLE = "ZONELAB_STATE"

LET_GO_S = 10.0
"""Seconds that the lock may outlive its supervisor: a process counts as ended with its first thread, its last one
closes
its files, and on a busy machine that is later."""

_FILE = "session.json"
_POLL_S = 0.02


class SessionFile(BaseModel):
    """``owner``: the supervisor, as ``Owner`` writes it. ``kind``: of its zones. ``run_id``: label of containers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    owner: str
    control: str = ""
    """Address of the supervisor; empty while the cluster starts."""
    token: str = ""
    run: str = ""
    kind: str = ""
    run_id: str | None = None

    @property
    def supervisor(self) -> Owner:
        """The process that keeps the session running. Raises ``ClusterError`` if the file does not tell it."""
        owner = Owner.parse(self.owner)
        if owner is None:
            raise ClusterError(f"the owner {self.owner!r} of a session cannot be read")
        return owner


class AlreadyUp(ClusterError):
    """Another supervisor holds the directory."""


class StateDirectory:
    """The directory, which need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def of_user(cls) -> "StateDirectory":
        """Return where sessions of this user are kept: ``$ZONELAB_STATE``, or the folder for states of programs."""
        if given := os.environ.get(VARIABLE):
            return cls(Path(given).absolute())
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        return cls(Path(base) / "zonelab")

    def read(self) -> SessionFile | None:
        """The session that is or was here, None if there is none. Raises ``ClusterError`` if it cannot be read."""
        path = self.path / _FILE
        try:
            return SessionFile.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError) as error:
            raise ClusterError(f"{path} cannot be read; remove it if no cluster is up: {error}") from error

    def write(self, session: SessionFile) -> None:
        """Only its owner can read the file: who has the token can break things."""
        partial = self.path / f".{_FILE}.{os.getpid()}"
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(session.model_dump_json(indent=2) + "\n")
        partial.replace(self.path / _FILE)

    def clear(self) -> None:
        """Remove the file, and the directory if nothing else is in it."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / _FILE).unlink()
        for partial in self.path.glob(f".{_FILE}.*"):
            partial.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.path.rmdir()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Make the directory and hold it, once a supervisor that has ended has let it go.

        Raises ``AlreadyUp`` if one that lives holds it, or if nobody has let it go after ``LET_GO_S``.
        """
        deadline_s = time.monotonic() + LET_GO_S
        while True:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                if locked_at(descriptor, self.path):
                    yield
                    return
            finally:
                os.close(descriptor)
            if self._supervisor_lives() or time.monotonic() > deadline_s:
                raise AlreadyUp("a cluster is up already: zonelab status shows it, zonelab down ends it")
            time.sleep(_POLL_S)

    def _supervisor_lives(self) -> bool:
        session = self.read()
        return session is not None and not session.supervisor.is_gone()
