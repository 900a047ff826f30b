"""Cases of a year in two parts: those that its faults cost, and those that come without a fault."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from zonelab.analysis.number_text import bounds, counted, plain
from zonelab.analysis.proportions import Interval
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import CASES, LOSSES, Figure
from zonelab.analysis.rates.samples import Estimate

_TOLD_IN_PARTS = (LOSSES, *CASES[LOSSES])

_NEXT_TO_NOTHING = 1e-3


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseParts:
    """``by_faults``: cases a year; None if the year has no faults, or no run has one. ``seen_cases`` in
    ``seen_messages``: of runs with one. ``calm_cases`` in ``calm_messages``: without one.
    """

    by_faults: Estimate | None
    seen_cases: int
    seen_messages: int
    calm_cases: int
    calm_messages: int

    @classmethod
    def of(cls, measured: SettingRates, figure: Figure) -> "CaseParts | None":
        """Return the parts of losses of the year; None of other figures, whose parts nobody asks for."""
        if figure.name not in _TOLD_IN_PARTS:
            return None
        a_year = Figure(figure.name, a_year=True)
        cases, messages = measured.outcomes.calm(figure.name)
        faults = [one.name for one in measured.year.faults]
        seen_messages = sum(measured.outcomes.size(name)[1] for name in faults)
        return cls(
            by_faults=measured.value(a_year) if seen_messages else None,
            seen_cases=sum(measured.outcomes.total(figure.name, name) for name in faults),
            seen_messages=seen_messages,
            calm_cases=cases,
            calm_messages=messages,
        )

    @property
    def told_by_faults(self) -> str:
        """Return what the faults cost, with its 95 % interval, or what runs show of it if they cannot bound it."""
        if self.by_faults is None:
            return ""
        if self.by_faults.high == float("inf"):
            seen = _cases_in(self.seen_cases, self.seen_messages)
            return f"{seen} of runs with faults, too few runs to say how many a year"
        return f"{between(self.by_faults)} a year by faults"

    @property
    def told_calm(self) -> str:
        """Return what comes without a fault: cases in so many messages."""
        return f"{_cases_in(self.calm_cases, self.calm_messages)} without a fault"

    def __str__(self) -> str:
        return "; ".join(part for part in (self.told_by_faults, self.told_calm) if part)

    def to_json(self) -> dict[str, Any]:
        return {
            "by_faults": None if self.by_faults is None else self.by_faults.to_json(),
            "seen_cases": self.seen_cases,
            "seen_messages": self.seen_messages,
            "calm_cases": self.calm_cases,
            "calm_messages": self.calm_messages,
            "told": str(self),
        }


def _cases_in(cases: int, messages: int) -> str:
    return f"{f'{cases:,}' if cases else 'none'} in {counted(messages, 'message')}"


def between(value: Estimate) -> str:
    """Return a value with its interval; a lower end below a thousandth of it is written as 0."""
    seen, low, high = (float(end) for end in (value.value, value.low, value.high))
    interval = Interval(seen_low(seen, low), high)
    return f"{plain(seen)} ({bounds(seen, interval, plain)})"


def seen_low(value: float, low: float) -> float:
    """Return the lower end as it is shown: 0 if it is next to nothing beside the value."""
    return 0.0 if isfinite(value) and low < value * _NEXT_TO_NOTHING else low
