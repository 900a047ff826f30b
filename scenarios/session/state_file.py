"""Where the cluster of a manual session is found again: one file in a directory that only its owner can read.

The directory is ``$ZONELAB_STATE``, else ``zonelab`` in ``$XDG_STATE_HOME``, else ``~/.local/state/zonelab``. The
supervisor of a cluster holds a lock on the directory (flock(2)), which the kernel takes back however the supervisor
ends; so a directory has one cluster at most, and a file whose supervisor is gone is known as left over.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from cluster.real.zones.owner import Owner
from cluster.zone import ClusterError

VARIABLE = "ZONELAB_STATE"
_FILE = "session.json"


class SessionFile(BaseModel):
    """``owner``: the supervisor, as ``Owner`` writes it. ``kind``: of its zones. ``run_id``: label of containers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    owner: str
    control: str = ""
    """Where the supervisor listens; empty while the cluster starts."""
    token: str = ""
    run: str = ""
    kind: str = ""
    run_id: str | None = None

    @property
    def supervisor(self) -> Owner:
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
        """Make the directory and hold it. Raises ``AlreadyUp`` if somebody else does."""
        while True:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise AlreadyUp("a cluster is up already: zonelab status shows it, zonelab down ends it") from None
                if self._is(descriptor):
                    yield
                    return
            finally:
                os.close(descriptor)

    def is_locked(self) -> bool:
        """Whether a supervisor lives."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _is(self, descriptor: int) -> bool:
        """Whether what was locked is still the directory: another may have removed it just before."""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(descriptor), self.path.stat())
        return False
