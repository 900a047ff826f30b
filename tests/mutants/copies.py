"""Copies of the project, in which mutants live: the working tree is never touched."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from threading import Lock

from mutants.mutant import FOLDERS, Mutant, plant

LEFT_OUT = "test_mutants_"
"""Tests of this suite itself look at the text of what is mutated, and would notice every mutant."""

CANARY = "engine/ports.py"

_HOMES = """\
import importlib, os, sys
for name in sys.argv[1:]:
    print(os.path.realpath(*importlib.import_module(name).__path__))
"""


class SuiteError(Exception):
    """The suite itself cannot tell anything: no mutant is to blame."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A process that has ended, or was ended when its time was over; then ``code`` is None."""

    code: int | None
    output: str


class Processes:
    """Runs programs, each in a group of its own, so that all that one began can be ended with it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: dict[int, subprocess.Popen[str]] = {}
        self._ending = False

    def run(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_s: float | None) -> Ended:
        with self._lock:
            if self._ending:
                raise KeyboardInterrupt
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self._running[process.pid] = process
        try:
            output, _ = process.communicate(timeout=timeout_s)
            return Ended(code=process.returncode, output=output)
        except subprocess.TimeoutExpired:
            _end(process)
            return Ended(code=None, output=process.communicate()[0])
        finally:
            _end(process)
            with self._lock:
                del self._running[process.pid]

    def end_all(self) -> None:
        """End what runs, and begin nothing more."""
        with self._lock:
            self._ending = True
            for process in self._running.values():
                _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


class Copy:
    """One copy, for one worker at a time."""

    def __init__(self, root: Path, folder: Path, processes: Processes) -> None:
        self.root = root
        self.folder = folder
        self.processes = processes
        _copy_tracked(root, folder)

    def python(self, *arguments: str, timeout_s: float | None = None, **variables: str) -> Ended:
        """Run Python, the same as this one, so that it imports the packages of the copy."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        env["PYTHONPATH"] = os.pathsep.join(map(str, (self.folder, self.folder / "tests")))
        command = [sys.executable, *arguments]
        return self.processes.run(command, cwd=self.folder, env=env | variables, timeout_s=timeout_s)

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """The copy with ``mutant`` in it. Raises ``CatalogueError``."""
        with self.changed(mutant.path, plant(mutant, self.root).text):
            yield

    @contextmanager
    def changed(self, path: str, text: str) -> Iterator[None]:
        file = self.folder / path
        before = file.read_bytes()
        try:
            _write(file, text.encode())
            yield
        finally:
            _write(file, before)
            shutil.rmtree(self.folder / ".hypothesis", ignore_errors=True)

    def check(self) -> None:
        """Raise ``SuiteError`` if anything but the copy would be imported from it."""
        packages = [name if name == "zonelab" else f"zonelab.{name}" for name in FOLDERS]
        told = self.python("-c", _HOMES, *packages)
        real = self.folder.resolve()
        if told.code != 0 or told.output.splitlines() != [str(real / folder) for folder in FOLDERS]:
            raise SuiteError(f"the packages of the copy are not those that are imported:\n{told.output}")
        with self.changed(CANARY, 'raise RuntimeError("the canary is dead")\n'):
            dead = self.python("-c", "import zonelab.engine.ports")
        if dead.code == 0 or "the canary is dead" not in dead.output:
            raise SuiteError("a fault that breaks everything breaks nothing in the copy")


def _copy_tracked(root: Path, folder: Path) -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise SuiteError(f"git does not list the files of the project: {listed.stderr.strip()}")
    for name in listed.stdout.split("\0"):
        # A link stays one: what it leads to is copied, too, and a mutant is planted there.
        if (
            name
            and ((root / name).is_symlink() or (root / name).is_file())
            and not Path(name).name.startswith(LEFT_OUT)
        ):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target, follow_symlinks=False)


def _write(file: Path, text: bytes) -> None:
    """A compiled module of the same second and size would be taken for this one, so it goes."""
    file.write_bytes(text)
    if file.suffix == ".py":
        Path(cache_from_source(str(file))).unlink(missing_ok=True)


def copies(root: Path, folder: Path, number: int, processes: Processes) -> list[Copy]:
    made = [Copy(root, folder / str(index), processes) for index in range(number)]
    made[0].check()
    return made
