"""Environments of guests: a folder for each queue, version and set of programs, in the cache of the user.

The folder is ``zonelab/guests`` in ``$XDG_CACHE_HOME``, else in ``~/.cache``. An environment is made under another name
and then renamed, so one that is there is whole; a lock keeps two that would make the same one apart.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zonelab.cluster.process.file_lock import locked, locked_at
from zonelab.scenarios.guests.guest import Guest, Language
from zonelab.scenarios.guests.packages import install

_POLL_S = 0.1
_UNFINISHED = ".making-"
_LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class GuestEnvironment:
    """The ``home`` of a guest at a version: its packages, and beside them its programs."""

    home: Path

    @property
    def places(self) -> dict[str, str]:
        """Return what ``{home}`` and ``{python}`` stand for in its commands."""
        return {"home": str(self.home), "python": str(self.home / "bin" / "python")}


def cache_folder() -> Path:
    """Return the folder of all environments, which need not be there."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "zonelab" / "guests"


def environment_of(
    guest: Guest, *, version: str | None = None, on_making: Callable[[str], None] = lambda words: None
) -> GuestEnvironment:
    """Return the environment of ``guest``, and make it first if it is not there; ``on_making`` then hears of it.

    Raises ``ClusterError`` if a toolchain is missing or the registry lacks the version, and ``OSError``.
    """
    chosen = version or guest.version
    suffix = guest.digest(chosen)
    if guest.language is Language.PYTHON:
        suffix = f"py{sys.version_info.major}{sys.version_info.minor}-{suffix}"
    home = cache_folder() / f"{guest.name}-{chosen.replace('/', '_')}-{suffix}"
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with _only_maker(home.parent / f"{home.name}{_LOCK}"):
            if not home.is_dir():
                on_making(f"install {guest.name} {chosen}")
                _make(guest, version=chosen, home=home)
    return GuestEnvironment(home)


def clean_environments() -> list[str]:
    """Remove all environments and return their names. What somebody makes meanwhile stays. Raises ``OSError``."""
    folder, removed = cache_folder(), []
    if not folder.is_dir():
        return []
    homes = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(_UNFINISHED)]
    for home in homes:
        home.rename(gone := folder / f"{_UNFINISHED}{home.name}")
        shutil.rmtree(gone)
        removed.append(home.name)
    for lock in folder.glob(f"*{_LOCK}"):
        with lock.open("ab") as file:
            if locked(file.fileno()):
                lock.unlink()
                for left in folder.glob(f"{_UNFINISHED}{lock.name.removesuffix(_LOCK)}*"):
                    shutil.rmtree(left)
    return removed


def _make(guest: Guest, *, version: str, home: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f"{_UNFINISHED}{home.name}-", dir=home.parent))
    try:
        install(guest, version=version, home=unfinished)
        unfinished.rename(home)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


@contextmanager
def _only_maker(path: Path) -> Iterator[None]:
    """Hold the lock at ``path``, once whoever makes the same environment has let it go."""
    while True:
        with path.open("ab") as file:
            if locked_at(file.fileno(), path):
                yield
                return
        time.sleep(_POLL_S)
