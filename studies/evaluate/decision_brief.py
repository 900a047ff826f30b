"""Brief for whoever decides, read first: the proof, the runner-up, the cost, what would change it, what is left out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

from zonelab.analysis.rates.decisive_inputs import DecisiveInput
from zonelab.analysis.rates.recommendation import Recommendation, SettingChoice

NO_CHANGE = "no rate, duration or bound by itself, changed by factors of up to 130"

NO_RUN = "not looked for: no setting has runs of each class of faults yet"

NOT_YET = "none is recommended; the nearest:"


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionBrief:
    """``proof``: of the recommended setting, empty without one. ``runner_up``: why the next one is not taken, empty if
    there is none. ``costs``: a year, a line each. ``left_out``: what was not made, or not long enough, a line each.
    """

    proof: str
    runner_up: str
    costs: tuple[str, ...]
    change: str
    left_out: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def runner_up(found: Recommendation) -> str | None:
    """Return the setting next to the recommended one: tied with it, behind it, or the one that misses by least.

    Without a recommended one that which leads. None if there is no other.
    """
    others = [row for row in found.rows if row.setting != found.recommended]
    if not others:
        return None

    def place(row: SettingChoice) -> tuple[bool, bool, bool, bool, float]:
        name, missed = row.setting, row.binding.ratio if row.binding is not None else 0.0
        return name != found.leading, name not in found.tied, name not in found.behind, row.binding is not None, missed

    return min(others, key=place).setting


def nearest_change(changes: Sequence[DecisiveInput]) -> str:
    """Return the change by the least factor, and how many others there are."""
    if not changes:
        return NO_CHANGE
    first, *others = sorted(changes, key=lambda one: abs(log(one.factor)))
    return str(first) + (f"; {len(others)} more below" if others else "")
