"""The run directory while it is being written: its name, its log, ``run.json`` and the link to the latest run."""

import os
import platform
import subprocess
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from zonelab.scenarios.errors import in_utf8
from zonelab.scenarios.spec.queue_factory import sources

LATEST = "latest"

_ATTEMPTS_MAX = 100


class RunOrigin(Protocol):
    """Source of a run directory's name: a scenario, the settings of a manual session, or a log of events."""

    @property
    def name(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def seed(self) -> int: ...


def create_run_directory(runs: Path, scenario: RunOrigin, started: datetime, *, used: str = "") -> Path:
    """Create ``runs/<scenario>/<UTC time>-<level>-<used>-<seed>``; a number is added if two runs begin in one second.

    ``used``: what the clients use, such as ``dyno-hardened``; empty if that is not known. Raises ``NotAccepted`` if the
    name would not be UTF-8.
    """
    parent = in_utf8(runs) / scenario.name
    words = [f"{started.astimezone(UTC):%Y%m%dT%H%M%S}", scenario.level, *([used] if used else []), str(scenario.seed)]
    stem = "-".join(words)
    for attempt in range(1, _ATTEMPTS_MAX):
        directory = parent / (stem if attempt == 1 else f"{stem}-{attempt}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            if directory.is_dir():
                continue
            raise
        _point_latest_to(directory)
        return directory
    raise FileExistsError(f"{parent / stem}: {_ATTEMPTS_MAX} runs of one second are there already")


def _point_latest_to(directory: Path) -> None:
    new = directory.parent / f".{LATEST}-{os.getpid()}"
    new.unlink(missing_ok=True)
    new.symlink_to(directory.name, target_is_directory=True)
    new.replace(directory.parent / LATEST)


def environment() -> dict[str, Any]:
    """Return what ``run.json`` says about the program and the machine."""
    return {
        "zonelab_version": version("zonelab"),
        "git_commit": _git_commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def program_fingerprint(*, own: Collection[str] = ()) -> str:
    """16 hexadecimal digits that change with any file of zonelab: of two equal runs of one program, both have the same.

    The files behind ``own``, functions of the user's own (``Scenario.own_functions``), count as well.
    """
    digest = sha256()
    for name, path in _program_files(Path(str(import_module("zonelab").__file__)).parent):
        digest.update(f"{name}\n".encode() + path.read_bytes())
    for path in (path for named in own for path in sources(named)):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _program_files(package: Path) -> Iterator[tuple[str, Path]]:
    """All but what Python and editors leave, by name within ``package``; its folders may be links."""
    for parent, folders, files in os.walk(package, followlinks=True):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        for path in (Path(parent, name) for name in sorted(files) if not name.startswith(".")):
            yield path.relative_to(package).as_posix(), path


def own_sources_fingerprint(factory: str) -> str:
    """16 hexadecimal digits that change with any file of the user's queue alone. Raises ``ValueError``."""
    return sha256(b"".join(f"{path.name}\n".encode() + path.read_bytes() for path in sources(factory))).hexdigest()[:16]


def _git_commit() -> str | None:
    """The commit of the source tree that runs, or None for an installed package."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        result = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
