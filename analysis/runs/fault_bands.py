"""The faults of a run as they were in force: bands in figures, lines in stories."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_TOLD = ("kind", "at_s", "for_s")
NO_COLOUR = "#777777"


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultBand:
    """One fault as it was in force: columns as in ``history.FAULTS``."""

    fault: str
    kind: str
    target: str
    begin_ns: int
    end_ns: int | None
    colour: str
    detail: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"#[0-9a-fA-F]{6}", self.colour):  # it goes into figures and into styles of pages
            object.__setattr__(self, "colour", NO_COLOUR)

    @property
    def particulars(self) -> str:
        """Return the detail without kind and times: those of a scenario count from the begin of the load."""
        try:
            told = json.loads(self.detail)
        except ValueError:
            return self.detail
        if not isinstance(told, dict):
            return self.detail
        left = {name: value for name, value in told.items() if name not in _TOLD}
        return json.dumps(left) if left else ""


def fault_bands(rows: Iterable[Mapping[str, Any]]) -> list[FaultBand]:
    """Return the faults in ``rows``, in the order of their begin. The row of a fault's end comes after the first."""
    bands = {row["fault"]: FaultBand(**row) for row in rows}
    return sorted(bands.values(), key=lambda band: (band.begin_ns, band.fault))
