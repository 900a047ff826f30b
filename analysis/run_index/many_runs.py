"""Many simulated runs of one experiment, counted: a hunt, a sweep, a matrix, as the index has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingRow:
    """Counts of the seeds of one setting.

    ``judged``: valid or invalid ones. ``failing``: invalid ones by violated class.
    """

    setting: str
    runs: int
    judged: int
    failed: int
    failing: Mapping[str, int] = field(default_factory=dict)
    first_seed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class ManyRuns:
    """``place``: of the file of results, below the folder of runs. ``program`` is empty if the file has none.

    ``digest``: of the file that it was made from. ``problem``: why it cannot be read.
    """

    place: str
    digest: str
    kind: str
    scenario: str
    experiment: str = ""
    program: str = ""
    updated_utc: str = ""
    rows: tuple[SettingRow, ...] = ()
    problem: str | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ManyRuns":
        return cls(**{**value, "rows": tuple(SettingRow(**row) for row in value["rows"])})
