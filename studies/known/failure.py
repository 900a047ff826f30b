"""Known failure: what was published of a queue, the scenario that is to show it, and the control without its fault.

Each has a folder with a ``failure.yaml``; a guest of its own, where it needs other programs, is in the same folder. Its
scenario has programs of a guest on real servers, or an engine that is a copy of the queue, in simulation.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Annotated, Any

from pydantic import Field, ValidationError

from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.yaml_text import NotYaml, read_yaml
from zonelab.cluster.fields import Section
from zonelab.cluster.zone import ClusterError
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.guests.guest import Role
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario

FAILURES = Path(__file__).parent / "failures"
FILE_NAME = "failure.yaml"

_HERE = "{here}"
"""Stands for the folder of the failure as the guest of a program."""

Version = Annotated[str, Field(strict=True, min_length=1)]


class KnownFailure(Section):
    """A published failure, as its folder says."""

    folder: Path
    title: str
    queue: str
    """Name of the guest, or of the queue that an engine is a copy of."""
    link: Annotated[str, Field(pattern=r"^https://\S+$")]
    """Page of the report."""
    known: str
    """Summary of the report, in other words."""
    prediction: str
    """Expected result, written before the runs were made."""
    affected: Version
    newest: Version
    last_affected: Version | None = None
    """The last version at which it was seen, where versions between were run; ``mended``: the first without it."""
    mended: Version | None = None
    versions: dict[Version, dict[str, Any]] = Field(default_factory=dict)
    """Options of the engine at each version; none of a guest, which is installed at any."""
    tried: str = ""
    """Attempts at a failure that was not seen."""
    shows: Annotated[tuple[MessageClass, ...], Field(min_length=1)]
    """Classes of messages: a run with a case of one of them is a failing one."""
    scenario: dict[str, Any]
    control: dict[str, Any] = Field(default_factory=lambda: {"faults": []})
    """Sections in place of those of ``scenario``, in the control."""

    @property
    def name(self) -> str:
        return self.folder.name

    def run_of(
        self, version: str, *, control: bool = False, level: str | None = None, zones: int | None = None, seed: int = 1
    ) -> Scenario:
        """Return the scenario of one run, in its own zones if not in ``zones``.

        Raises ``ScenarioError``, or ``NotAccepted`` if an engine has no such version.
        """
        document: dict[str, Any] = {**self.scenario, "name": self.name, "seed": seed}
        document |= self.control if control else {}
        document |= {} if level is None else {"level": level}
        if self.versions:
            document["queue"] = {**document["queue"], **self._options(version)}
        programs = {name: self._of_version(one, version) for name, one in document.get("programs", {}).items()}
        if zones is not None:
            names = list(ascii_lowercase[:zones])
            document |= {"topology": {"zones": names}}
            programs = {name: {**one, "zone": _zone_of(one, names)} for name, one in programs.items()}
        return scenario_of({**document, "programs": programs}, source=self.name)

    def _options(self, version: str) -> dict[str, Any]:
        if version not in self.versions:
            nearest = did_you_mean(version, self.versions)
            raise NotAccepted(f"version: got {version!r}{nearest}; accepted: {', '.join(self.versions)}")
        return self.versions[version]

    def _of_version(self, program: Mapping[str, Any], version: str) -> dict[str, Any]:
        guest = program.get("guest")
        if guest not in (self.queue, _HERE):
            return dict(program)
        return {**program, "guest": str(self.folder) if guest == _HERE else guest, "version": version}


def _zone_of(program: Mapping[str, Any], zones: Sequence[str]) -> str:
    """Return the first zone for a producer, and for all else the second, so that replicas lie between them."""
    return zones[0] if program.get("role") == Role.PRODUCER else zones[:2][-1]


def failure_names() -> list[str]:
    """Return the names of the known failures."""
    return sorted(path.parent.name for path in FAILURES.glob(f"*/{FILE_NAME}"))


def load_failure(name: str) -> KnownFailure:
    """Return the known failure ``name``. Raises ``NotAccepted``, or ``ClusterError`` if its file is wrong."""
    names = failure_names()
    if name not in names:
        raise NotAccepted(f"known: got {name!r}{did_you_mean(name, names)}; accepted: {', '.join(names)}")
    file = FAILURES / name / FILE_NAME
    try:
        document = read_yaml(file.read_text(encoding="utf-8"))
        return KnownFailure.model_validate({**document, "folder": file.parent})
    except (NotYaml, TypeError, ValidationError) as error:
        raise ClusterError(f"{file}: {' '.join(str(error).split())}") from error
