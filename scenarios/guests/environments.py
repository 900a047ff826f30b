"""Environments of guests: a folder for each queue, version and set of programs, in the cache of the user.

The folder is ``zonelab/guests`` in ``$XDG_CACHE_HOME``, else in ``~/.cache``. An environment is made under another name
and then renamed, so one that is there is whole. Programs that make or remove it hold the lock beside it; those that use
it share that lock.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zonelab.cluster.process.file_lock import lock_held, locked_at
from zonelab.scenarios.guests.guest import Guest, Language
from zonelab.scenarios.guests.packages import install

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
        with lock_held(_lock_of(home)):
            if not home.is_dir():
                on_making(f"install {guest.name} {chosen}")
                _make(guest, version=chosen, home=home)
    return GuestEnvironment(home)


@contextmanager
def used_environment(
    guest: Guest, *, version: str | None = None, on_making: Callable[[str], None] = lambda words: None
) -> Iterator[GuestEnvironment]:
    """Keep the environment, which is made first if it is not there, from being removed. Raises the same errors."""
    while True:
        environment = environment_of(guest, version=version, on_making=on_making)
        with lock_held(_lock_of(environment.home), shared=True):
            if environment.home.is_dir():
                yield environment
                return


def clean_environments() -> tuple[dict[str, int], list[str]]:
    """Remove all environments but those that somebody makes or uses; return the bytes of those removed, by name, and
    the names of the others. Raises ``OSError``.
    """
    folder, removed, left = cache_folder(), dict[str, int](), list[str]()
    if not folder.is_dir():
        return removed, left
    homes = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(_UNFINISHED)]
    for home in sorted({*homes, *(folder / lock.name.removesuffix(_LOCK) for lock in folder.glob(f"*{_LOCK}"))}):
        with (lock := _lock_of(home)).open("ab") as file:
            if not locked_at(file.fileno(), lock):
                left.append(home.name)
                continue
            for unfinished in folder.glob(f"{_UNFINISHED}{home.name}*"):
                shutil.rmtree(unfinished)
            if home.is_dir():
                home.rename(gone := folder / f"{_UNFINISHED}{home.name}")
                removed[home.name] = sum(path.lstat().st_size for path in gone.rglob("*"))
                shutil.rmtree(gone)
            lock.unlink()
    return removed, left


def _make(guest: Guest, *, version: str, home: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(prefix=f"{_UNFINISHED}{home.name}-", dir=home.parent))
    try:
        install(guest, version=version, home=unfinished)
        unfinished.rename(home)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _lock_of(home: Path) -> Path:
    return home.with_name(f"{home.name}{_LOCK}")
