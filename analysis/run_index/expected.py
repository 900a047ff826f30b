"""Findings that are expected: ``expected.yaml`` beside the runs says which class, how often, why, and until when."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.number_text import percent
from zonelab.analysis.runs.errors import RunError, reading
from zonelab.analysis.yaml_text import NotYaml, read_yaml

EXPECTED_NAME = "expected.yaml"


class ExpectedFinding(BaseModel):
    """An entry of ``expected.yaml``.

    ``scenario``, ``level``, ``setting``: the experiment as the index shows it; without the latter two, any.
    ``at_most``: the largest share of its runs, 0 to 1. ``until``: the last day on which it is expected.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str
    level: str | None = None
    setting: str | None = None
    class_name: str = Field(alias="class")
    at_most: float = Field(ge=0, le=1)
    reason: str = Field(min_length=1)
    until: date

    def is_of(self, *, scenario: str, level: str, setting: str, class_name: str) -> bool:
        """Return whether the entry is about this class of this experiment."""
        return (self.scenario, self.class_name) == (scenario, class_name) and all(
            wanted in (None, found) for wanted, found in ((self.level, level), (self.setting, setting))
        )


@dataclass(frozen=True, slots=True)
class Expectations:
    """The entries of a folder of runs, as they hold on ``today``."""

    entries: Sequence[ExpectedFinding] = ()
    today: date = date.min

    @classmethod
    def of(cls, folder: Path, *, today: date) -> "Expectations":
        """Read ``expected.yaml`` of ``folder``; no entries if it is not there. Raises ``RunError`` in one line."""
        path = folder / EXPECTED_NAME
        if not path.exists():
            return cls(today=today)
        with reading(path):
            text = path.read_text(encoding="utf-8")
        try:
            return cls(_ENTRIES.validate_python(read_yaml(text) or []), today)
        except NotYaml as error:
            raise RunError(f"{path}: {error}") from error
        except ValidationError as error:
            raise RunError(f"{path}: {_first(error)}") from error

    def judged(self, *, scenario: str, level: str, setting: str, class_name: str, share_low: float) -> tuple[bool, str]:
        """Return whether a class was expected, and what the entry says of it, empty without one.

        ``share_low``: lower bound of the share of runs that show it: more than the entry allows is not expected.
        """
        for one in self.entries:
            if one.is_of(scenario=scenario, level=level, setting=setting, class_name=class_name):
                allowed = f"in at most {percent(one.at_most)} of the runs until {one.until}: {one.reason}"
                if self.today > one.until:
                    return False, f"was expected {allowed}"
                if share_low > one.at_most:
                    return False, f"more often than expected {allowed}"
                return True, f"expected {allowed}"
        return False, ""


_ENTRIES = TypeAdapter(list[ExpectedFinding])
_FIELDS = [field.alias or name for name, field in ExpectedFinding.model_fields.items()]


def _first(error: ValidationError) -> str:
    """Return what is wrong first, with the value given and what is accepted."""
    found = error.errors()[0]
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in found["loc"])
    if found["type"] == "extra_forbidden":
        name = str(found["loc"][-1])
        return f"entry {where}: no such field{did_you_mean(name, _FIELDS)}; accepted: {', '.join(_FIELDS)}"
    if found["type"] == "missing":
        return f"entry {where}: missing; an entry needs scenario, class, at_most, reason, until"
    if not found["loc"]:
        return f"got {type(found['input']).__name__}; accepted: a list of entries"
    accepted = found["msg"][0].lower() + found["msg"][1:]
    return f"entry {where}: got {found['input']!r}; {accepted}"
