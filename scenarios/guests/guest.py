"""Guest: a queue of somebody else, unmodified, with a small producer and a small worker for it.

``guest.yaml`` beside the two programs says in which language they are, which packages they need, and how each is
started. The guests that ship are in folders beside this module; another is named by the path of its folder.
"""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.yaml_text import NotYaml, read_yaml
from zonelab.cluster.fields import Section

SHIPPED = Path(__file__).parent
FILE_NAME = "guest.yaml"


class Language(StrEnum):
    PYTHON = "python"
    NODE = "node"
    GO = "go"
    JAVA = "java"


class Role(StrEnum):
    PRODUCER = "producer"
    WORKER = "worker"


class Guest(Section):
    """A queue and its programs, as its folder says."""

    folder: Path
    language: Language
    package: str
    """Name in its registry: ``rq``, ``bullmq``, ``github.com/hibiken/asynq``, ``GROUP:ARTIFACT``."""
    version: str = Field(strict=True)
    """Version of the package that is used where none is asked for."""
    needs: tuple[str, ...] = ()
    """Other packages, each with its version: ``NAME==VERSION``, ``NAME@VERSION``, ``GROUP:ARTIFACT:VERSION``."""
    needs_at: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Replaces ``needs`` at versions of the package that need others."""
    programs: dict[Role, dict[str, Any]]
    """Fields of the program of each role in a scenario, its ``command`` at least."""

    @field_validator("programs")
    @classmethod
    def _have_commands(cls, programs: dict[Role, dict[str, Any]]) -> dict[Role, dict[str, Any]]:
        for role, fields in programs.items():
            if "command" not in fields:
                raise ValueError(f"{role}: command is missing; accepted: fields of a scenario's program, with command")
        return programs

    @property
    def name(self) -> str:
        return self.folder.name

    def needed(self, version: str) -> tuple[str, ...]:
        """Return the other packages at ``version`` of its own."""
        return self.needs_at.get(version, self.needs)

    def fields_of(self, role: Role | None, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a scenario's program: those of ``role``, and over them what is ``given``."""
        own = self.programs[role] if role is not None else {}
        environment = {**own.get("env", {}), **given.get("env", {})}
        return {**own, "version": self.version, **given, **({"env": environment} if environment else {})}

    def digest(self, version: str) -> str:
        """Return 8 hexadecimal digits of its files and packages: two that differ have environments of their own."""
        found = sha256(repr((self.language, self.package, version, self.needed(version))).encode())
        for path in self.sources:
            found.update(f"{path.name}\n".encode() + path.read_bytes())
        return found.hexdigest()[:8]

    @property
    def sources(self) -> list[Path]:
        """Its programs, in order of their names."""
        found = (path for path in self.folder.iterdir() if path.is_file() and path.suffix not in (".yaml", ".pyc"))
        return sorted(found)


def guest_names() -> list[str]:
    """Return the names of the guests that ship."""
    return sorted(path.parent.name for path in SHIPPED.glob(f"*/{FILE_NAME}"))


def load_guest(name: str) -> Guest:
    """Return the guest that ships under ``name``, or whose folder it is, if it has a slash. Raises ``ValueError``."""
    folder = Path(name).absolute() if "/" in name else SHIPPED / name
    file = folder / FILE_NAME
    if not file.is_file():
        known = guest_names()
        near = did_you_mean(name, known)
        raise ValueError(f"got guest {name!r}{near}; accepted: {', '.join(known)}, or a folder with {FILE_NAME}: ./own")
    try:
        document = read_yaml(file.read_text(encoding="utf-8"))
        return Guest.model_validate({**document, "folder": folder})
    except (NotYaml, OSError, TypeError, ValidationError) as error:
        raise ValueError(f"{file}: {_first_problem(error)}") from error


def _first_problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return " ".join(str(error).split())
    first = error.errors()[0]
    path = ".".join(map(str, first["loc"]))
    return f"{path}: got {first['input']!r}: {first['msg']}"
