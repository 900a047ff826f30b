"""The image of a program in Python: this Python, what it imports, and the shared libraries of both; nothing else.

Built from scratch out of what is installed on this machine, so that no registry is needed.
"""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from zonelab.cluster.real.zones.docker.zone_image import USER_ID, BuiltImage, built, context_of, needed_libraries
from zonelab.cluster.zone import ZoneError

_HOME, _APPLICATION = "/usr/local", "/app"
_OWN = "zonelab"
_PYTHON = f"{_HOME}/bin/python3"
_LAZY = ("uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.off", "anyio._backends._asyncio", "idna")
"""Modules that are imported only when they are needed."""

_INSTALLERS = ("__editable__", "_distutils_hack")
_LISTING = """\
import importlib, json, sys
for name in {modules}:
    importlib.import_module(name)
places = {{}}
for name, module in sys.modules.items():
    if "." not in name and getattr(module, "__file__", None):
        places[name] = module.__path__[0] if hasattr(module, "__path__") else module.__file__
print(json.dumps(places))
"""
_IMPORT_S = 60
_UNUSED = frozenset(
    {
        *("__pycache__", "curses", "dist-packages", "distutils", "ensurepip", "idlelib", "lib2to3", "pydoc_data"),
        *("site-packages", "sqlite3", "test", "tests", "tkinter", "turtledemo", "venv"),
    }
)
_UNUSED_EXTENSIONS = ("_tkinter", "_test", "_sqlite3", "_curses", "_dbm", "_gdbm", "readline", "_xx", "xx")

_DOCKERFILE = """\
FROM scratch
ADD root.tar /
ENV PYTHONHOME={home} PYTHONPATH={application} PYTHONDONTWRITEBYTECODE=1 LD_LIBRARY_PATH={library_path}
USER {user}:{user}
WORKDIR /data
EXPOSE {ports}
LABEL {label}="{version}"
ENTRYPOINT {entry}
"""


@dataclass(frozen=True, kw_only=True)
class PythonProgram:
    """``module`` is run with ``arguments``, and listens at ``ports``."""

    repository: str
    label: str
    module: str
    arguments: tuple[str, ...]
    ports: tuple[int, ...]

    @property
    def image(self) -> str:
        """Name and tag."""
        return f"{self.repository}:{version('zonelab')}"

    def build(self) -> BuiltImage:
        """Blocks for some seconds. Raises ``ZoneError`` when Docker does not answer or something needed is missing."""
        return built(self.image, self.context())

    def context(self) -> bytes:
        """The tar archive that Docker builds from."""
        files = {_PYTHON: Path(os.path.realpath(sys.executable)), **dict(_standard_library()), **dict(_packages(self))}
        libraries = _libraries([path for path in files.values() if path.suffix == ".so"] + [files[_PYTHON]])
        dockerfile = _DOCKERFILE.format(
            home=_HOME,
            application=_APPLICATION,
            library_path=":".join(sorted({str(library.parent) for library in libraries})),
            user=USER_ID,
            label=self.label,
            version=version("zonelab"),
            ports=" ".join(map(str, self.ports)),
            entry=json.dumps([_PYTHON, "-P", "-m", self.module, *self.arguments]),
        )
        return context_of(dockerfile, {**files, **{str(library): library for library in libraries}})


def _standard_library() -> Iterator[tuple[str, Path]]:
    target = f"{_HOME}/{sys.platlibdir}/python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in dict.fromkeys((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))):
        for path, source in _tree(Path(folder)):
            if not (path.startswith("lib-dynload/") and source.name.startswith(_UNUSED_EXTENSIONS)):
                yield f"{target}/{path}", source


def _packages(program: PythonProgram) -> Iterator[tuple[str, Path]]:
    """Everything of the packages of which it imports anything."""
    for name, folder in _imported(program).items():
        place = Path(folder)
        found = [(place.name, place)] if place.is_file() else [(f"{name}/{path}", one) for path, one in _tree(place)]
        yield from ((f"{_APPLICATION}/{path}", source) for path, source in found)


def _imported(program: PythonProgram) -> dict[str, str]:
    """Return the paths of the packages and modules that ``program`` imports, except Python's and installers' own."""
    listing = _LISTING.format(modules=(f"{program.module}.__main__", *_LAZY))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", listing], capture_output=True, text=True, timeout=_IMPORT_S, check=True
        )
    except subprocess.SubprocessError as error:
        raise ZoneError(f"what {program.module} imports cannot be found: {getattr(error, 'stderr', error)}") from error
    places: dict[str, str] = json.loads(done.stdout)
    installed = tuple(f"{sysconfig.get_path(name)}/" for name in ("purelib", "platlib"))
    return {
        name: place
        for name, place in places.items()
        if name == _OWN or (place.startswith(installed) and not name.startswith(_INSTALLERS))
    }


def _tree(folder: Path) -> Iterator[tuple[str, Path]]:
    """Every file, also in folders that are links, as those of ``zonelab`` are in a clone of its repository."""
    for parent, folders, files in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if name not in _UNUSED and not name.startswith("config-"))
        for path in (Path(parent, name) for name in sorted(files)):
            if path.name not in _UNUSED and path.suffix not in (".a", ".pyc") and path.is_file():
                yield path.relative_to(folder).as_posix(), path


def _libraries(programs: list[Path]) -> set[Path]:
    """Return the libraries that ``programs`` need. Raises ``ZoneError`` if one is not installed."""
    return {library for program in programs for library in needed_libraries(program)}
