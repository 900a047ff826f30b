"""The packages of a guest, installed by the usual client of each language's registry."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.guests.guest import Guest, Language

_HANGS_S = 900.0
_LINE_MAX = 300
_TELLING = ("no matching", "notarget", "not found", "could not", "unknown revision", "invalid version", "error")
"""Words of the line that tells why a registry's client failed, the best first."""

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>guest</groupId><artifactId>guest</artifactId><version>1</version><dependencies>
{}</dependencies></project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>\n"


def install(guest: Guest, *, version: str, home: Path) -> None:
    """Put the packages of ``guest`` and its programs, compiled if need be, into ``home``, an empty folder.

    Raises ``ClusterError`` if a toolchain is missing, or the registry does not have the version.
    """
    for tool in _TOOLS[guest.language]:
        if shutil.which(tool) is None:
            raise ClusterError(f"guest {guest.name} needs {tool}, which is not on the PATH")
    for path in guest.sources:
        shutil.copy(path, home)
    _INSTALLERS[guest.language](_Installation(guest, version, home))


class _Installation:
    """Runs programs within the folder of an environment that is being made."""

    def __init__(self, guest: Guest, version: str, home: Path) -> None:
        self.package, self.version, self.needs = guest.package, version, guest.needed(version)
        self.home = home
        self._name = guest.name

    def run(self, *words: str) -> None:
        """Run a program. Raises ``ClusterError``, with the most telling line that it wrote, if it fails."""
        try:
            done = subprocess.run(
                words, cwd=self.home, capture_output=True, text=True, errors="replace", timeout=_HANGS_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"{self._cannot}: {words[0]} did not end within {_HANGS_S:g} s") from error
        if done.returncode:
            raise ClusterError(f"{self._cannot}: {_telling_line(done.stdout + done.stderr) or words[0]}")

    @property
    def _cannot(self) -> str:
        return f"guest {self._name}: {self.package} {self.version} cannot be installed"


def _telling_line(text: str) -> str:
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    telling = (line for word in _TELLING for line in lines if word in line.lower())
    return next(telling, lines[-1] if lines else "")[:_LINE_MAX]


def _python(steps: _Installation) -> None:
    steps.run(sys.executable, "-m", "venv", ".")
    pip = ("bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
    steps.run(*(str(steps.home / pip[0]), *pip[1:]), f"{steps.package}=={steps.version}", *steps.needs)


def _node(steps: _Installation) -> None:
    pairs = (need.rpartition("@") for need in steps.needs)
    packages = {steps.package: steps.version, **{name: version for name, _, version in pairs}}
    (steps.home / "package.json").write_text(json.dumps({"private": True, "dependencies": packages}))
    steps.run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


def _go(steps: _Installation) -> None:
    steps.run("go", "mod", "init", "guest")
    tag = steps.version if steps.version.startswith("v") else f"v{steps.version}"
    steps.run("go", "get", f"{steps.package}@{tag}", *steps.needs)
    for path in sorted(steps.home.glob("*.go")):
        steps.run("go", "build", "-mod=mod", "-o", path.stem, path.name)


def _java(steps: _Installation) -> None:
    packages: Sequence[str] = (f"{steps.package}:{steps.version}", *steps.needs)
    (steps.home / "pom.xml").write_text(_POM.format("".join(_DEPENDENCY.format(*one.split(":")) for one in packages)))
    steps.run("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=jars")
    programs = sorted(path.name for path in steps.home.glob("*.java"))
    steps.run("javac", "-nowarn", "-proc:none", "-cp", "jars/*", "-d", ".", *programs)


_TOOLS: Mapping[Language, Sequence[str]] = MappingProxyType(
    {Language.PYTHON: (), Language.NODE: ("node", "npm"), Language.GO: ("go",), Language.JAVA: ("mvn", "javac")}
)
_INSTALLERS: Mapping[Language, Callable[[_Installation], None]] = MappingProxyType(
    {Language.PYTHON: _python, Language.NODE: _node, Language.GO: _go, Language.JAVA: _java}
)
