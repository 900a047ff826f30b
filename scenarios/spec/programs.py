"""The section of a scenario that names programs of the user's own, in any language, in place of queue and consumers."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from zonelab.cluster.fields import Flag, NonNegative, Positive, Problem, Section
from zonelab.scenarios.guests.guest import Role, load_guest

PROCESSES_MAX = 200
"""Processes of all programs of a run."""

PLACEHOLDERS: Mapping[str, str] = {
    "url": "address of the process's port, as redis://HOST:PORT",
    "host": "its host",
    "port": "its port",
    "zone": "the zone where the process is",
    "index": "its number among those of the program in the zone, from 0",
    "seed": "the seed of the run",
    "events": "a file for events, which is read when the run is over",
    "home": "the environment of its guest: packages and programs",
    "python": "the Python of that environment",
}
"""Words that may stand in braces in a command and in an environment, each with what takes its place."""

OF_GUEST = ("home", "python")
"""Those that a program has only beside ``guest``."""

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_PROGRAM = re.compile(r"[a-z][a-z0-9-]{0,30}(?<!-)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with ``values`` in the places of ``PLACEHOLDERS``."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def _known_places(text: str) -> str:
    for name in _PLACEHOLDER.findall(text):
        if name not in PLACEHOLDERS:
            accepted = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
            raise ValueError(f"got '{{{name}}}' in {text!r}; accepted: {accepted}")
    return text


def _words(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return shlex.split(value)
    except ValueError as error:
        raise ValueError(f"got {value!r}, with {str(error).lower()}; accepted: words as a shell splits them") from error


def _some(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0]:
        raise ValueError("got no words; accepted: a command, as text or as a list of words")
    return words


def _program_name(text: str) -> str:
    if not _PROGRAM.fullmatch(text):
        raise ValueError(f"got {text!r}; accepted: 1 to 31 of a-z, 0-9 and -, first a letter, last no -")
    return text


def _version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise ValueError(f"got {text!r}; accepted: 1 to 64 letters, digits, '.', '+', '_' and '-', such as 2.11.0")
    return text


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError(f"got {text!r}; accepted: a name of letters, digits and _")
    return text


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"got {text!r}; accepted: a regular expression: {error}") from error
    return text


def _number_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _short_ready(value: Any) -> Any:
    return {"line": value} if isinstance(value, str) else value


_Text = Annotated[str, AfterValidator(_known_places)]
ProgramName = Annotated[str, AfterValidator(_program_name)]


class ReadyLine(Section):
    """The line by which a process says that it is ready."""

    line: Annotated[str, Field(min_length=1), AfterValidator(_expression)]
    """A regular expression that is looked for in each line that the process writes to stdout or stderr."""
    within_s: Positive = 30.0
    """Longest time from the start of the process to that line; beyond it the run fails."""


class ProgramStop(Section):
    """The signal that ends processes, sent to the whole group of each, and the time that they have."""

    signal: Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGKILL"] = "SIGTERM"
    grace_s: NonNegative = 5.0
    """Time after which what has not ended gets SIGKILL."""


class Program(Section):
    """A program of the user's own and where its processes run."""

    guest: str | None = None
    """Queue in whose environment it runs: one that ships, or a folder with a ``guest.yaml``."""
    role: Role | None = None
    """Role in which the guest's own program is meant; what else is said here comes before what that program has."""
    version: Annotated[str, Field(strict=True), AfterValidator(_version)] | None = None
    """Version of the guest's package; not given: that which its file names."""
    command: Annotated[tuple[_Text, ...], BeforeValidator(_words), AfterValidator(_some)]
    """Words, or text that is split as a shell would; no shell runs."""
    ends: Flag = False
    """It ends by itself, with exit code 0, when it has pushed all it has; the load lasts until all such have ended."""
    zone: str = "all"
    """The zone whose port its processes use; ``all``: so many in every zone."""
    failover: Flag = False
    """Its addresses lead to the next zone, in the order of the topology, while the coordinator of its own is dead."""
    count: Annotated[int, Field(strict=True, ge=1, le=PROCESSES_MAX)] = 1
    """Processes in each of its zones."""
    env: dict[Annotated[str, AfterValidator(_variable)], Annotated[_Text, BeforeValidator(_number_text)]] = Field(
        default_factory=dict
    )
    """Variables beside those that the lab itself has."""
    ready: Annotated[ReadyLine | None, BeforeValidator(_short_ready)] = None
    """The line that is waited for before the load begins; None: the load begins once the process is started."""
    stop: ProgramStop = ProgramStop()
    record_commands: Flag = False
    """Record each command that its processes send, with arguments cut short; its commands then take a slower way."""

    @model_validator(mode="before")
    @classmethod
    def _of_guest(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if value.get("guest") is None:
            wrong = next((name for name in ("role", "version") if value.get(name) is not None), None)
            if wrong is not None:
                raise ValueError(f"{wrong}: got {value[wrong]!r} without guest; accepted: beside guest: NAME")
            return value
        guest = load_guest(str(value["guest"]))
        role = value.get("role")
        if role is not None and role not in guest.programs:
            raise ValueError(f"role: got {role!r}; accepted: {', '.join(guest.programs)}")
        return guest.fields_of(role and Role(role), value)

    @model_validator(mode="after")
    def _has_places(self) -> Self:
        words = (*self.command, *self.env.values())
        asked = next((name for name in OF_GUEST if any(f"{{{name}}}" in word for word in words)), None)
        if asked is not None and self.guest is None:
            raise ValueError(f"got '{{{asked}}}' without guest; accepted: beside guest: NAME")
        return self

    def zones(self, every: tuple[str, ...]) -> tuple[str, ...]:
        """Return the zones of its processes, given ``every`` zone of the topology."""
        return every if self.zone == "all" else (self.zone,)

    def problems(self, path: str, zones: tuple[str, ...]) -> Iterator[Problem]:
        """Yield what does not fit the topology, whose zones are ``zones``."""
        if self.zone != "all" and self.zone not in zones:
            yield Problem.of(f"{path}.zone", self.zone, f"all, or a zone of the topology ({', '.join(zones)})")
        if self.failover and len(zones) == 1:
            yield Problem.of(f"{path}.failover", self.failover, "false with one zone: there is no other to go to")


def process_name(program: str, zone: str, index: int) -> str:
    """Return the name of one process, by which events, faults, logs and reports call it."""
    return f"{program}-{zone}-{index}"
