"""The rollout that ``zonelab new rollout`` writes, and that ``zonelab evaluate`` takes if it is given no file."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zonelab.analysis.whole_files import write_whole
from zonelab.scenarios.errors import NotAccepted, ScenarioError
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.evaluate.template_text import TEMPLATE
from zonelab.studies.reporting.console import console

_NAMES = "abcdefghijklmnopqrstuvwxyz"
_OPTIONS = {"topology.zones": "zones", "links.lag": "lag", "load.rate_per_s": "rate"}


@dataclass(frozen=True, slots=True)
class TemplateFile:
    path: Path

    def to_json(self) -> dict[str, Any]:
        return {"file": str(self.path)}

    def print(self) -> None:
        console().print(
            f"{self.path}: change what differs from yours, then: zonelab evaluate {self.path}",
            highlight=False,
            soft_wrap=True,
        )


def free_path(path: Path) -> Path:
    """Return ``path``. Raises ``NotAccepted`` if something is there."""
    if path.exists():
        raise NotAccepted(f"{path}: exists already; choose a new file name")
    return path


def write_rollout(path: Path, text: str | None = None) -> TemplateFile:
    """Write the template, or ``text`` in its place. Raises ``NotAccepted`` if something is there, or ``OSError``."""
    write_whole(free_path(path), TEMPLATE.read_text(encoding="utf-8") if text is None else text)
    return TemplateFile(path)


def plain_rollout(
    *, zones: int | None = None, lag: str | None = None, rate: float | None = None, overrides: Sequence[str] = ()
) -> Rollout:
    """The template with what the options of ``zonelab evaluate`` change in it.

    Raises ``ScenarioError``, which names the option.
    """
    named = None if zones is None else f"[{', '.join(_NAMES[:zones])}]"
    given = {"topology.zones": named, "links.lag": lag, "load.rate_per_s": rate}
    ours = {path: value for path, value in given.items() if value is not None}
    try:
        return Rollout.load(str(TEMPLATE), overrides=[*(f"{path}={value}" for path, value in ours.items()), *overrides])
    except ScenarioError as error:
        theirs = {text.partition("=")[0] for text in overrides}
        raise ScenarioError([_as_given(line, ours.keys() - theirs) for line in error.lines]) from None


def _as_given(line: str, paths: Collection[str]) -> str:
    named = {f"--set: {path}:": f"--{option}:" for path, option in _OPTIONS.items() if path in paths}
    begin = next((begin for begin in named if line.startswith(begin)), "")
    return named.get(begin, "") + line.removeprefix(begin)
