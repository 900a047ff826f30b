"""Temporary directories of process zones, named after the lab that owns them, so that a dead lab's can be removed."""

import os
import shutil
import tempfile
from pathlib import Path

from zonelab.cluster.real.owner import Owner
from zonelab.cluster.zone import ZoneError

PREFIX = "zonelab-"


def create_directory(zone: str) -> Path:
    """A new directory for one zone's files, readable by its owner only.

    Raises ``ZoneError`` if temporary files are kept where the name is not UTF-8, which no server's configuration takes.
    """
    try:
        tempfile.gettempdir().encode()
    except UnicodeEncodeError as error:
        got = os.fsencode(tempfile.gettempdir())
        raise ZoneError(f"TMPDIR: got {got!r}; accepted: a directory whose name is UTF-8") from error
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{Owner.current()}-{zone}-"))


def remove_directory(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)


def remove_stale_directories() -> list[Path]:
    """Remove what killed labs left behind, and return it. Nothing of a living lab or of another user is touched."""
    stale = [path for path in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")) if _is_stale(path)]
    for path in stale:
        remove_directory(path)
    return stale


def _is_stale(path: Path) -> bool:
    owner = Owner.parse(path.name.removeprefix(PREFIX))
    if owner is None or not owner.is_gone():
        return False
    try:
        return path.is_dir() and not path.is_symlink() and path.lstat().st_uid == os.getuid()
    except FileNotFoundError:
        return False
