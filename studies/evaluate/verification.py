"""Prediction beside production: does what a rollout shows lie where its evaluation said that it would?"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import Any

from zonelab.analysis.near_names import did_you_mean
from zonelab.analysis.number_text import NONE
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import UNAVAILABLE, Figure, told
from zonelab.analysis.rates.prediction import predicted
from zonelab.analysis.rates.samples import Estimate
from zonelab.analysis.rates.year import Year
from zonelab.scenarios.durations import parse_duration_s
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.evaluate.production import Production, SeenFigure
from zonelab.studies.reporting.console import print_lines
from zonelab.studies.reporting.report_table import Column, ReportTable

ERROR = 0.05
"""That any figure of a setting that is as it was simulated lies outside, at most."""


class Inside(StrEnum):
    YES = "inside"
    NO = "outside"
    UNKNOWN = "not comparable"


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifiedFigure:
    """``expected``: with its prediction interval; None if nothing is predicted or seen, ``seen.lacking`` says why."""

    figure: Figure
    expected: Estimate | None
    seen: SeenFigure

    @property
    def status(self) -> Inside:
        if self.expected is None:
            return Inside.UNKNOWN
        inside = float(self.expected.low) <= self.seen.high and self.seen.low <= float(self.expected.high)
        return Inside.YES if inside else Inside.NO

    def to_json(self) -> dict[str, Any]:
        seen = self.seen
        return {
            "figure": str(self.figure),
            "status": str(self.status),
            "predicted": None if self.expected is None else self.expected.to_json(),
            "seen": None if seen.lacking else {"low": seen.low, "high": None if seen.high == inf else seen.high},
            "of": seen.size,
            "lacking": seen.lacking,
        }


@dataclass(frozen=True, kw_only=True)
class Verification:
    """``faults``: how many of each class were declared. ``command``: the command line."""

    production: Production
    rows: Sequence[VerifiedFigure]
    faults: Mapping[str, int]
    command: str

    @property
    def exit_code(self) -> int:
        """0: all that can be compared lies inside; 1: something lies outside; 2: nothing can be compared."""
        if self._outside:
            return 1
        return 0 if self._compared else 2

    @property
    def answer(self) -> str:
        """Sentence that says whether production is as predicted."""
        joint = f"the prediction intervals, which hold for all {len(self._compared)} together in 95 of 100 cases"
        if self._outside:
            return f"Outside of {joint}: {', '.join(str(one.figure) for one in self._outside)}"
        return f"As predicted: every figure lies inside {joint}" if self._compared else "Nothing can be compared"

    def to_json(self) -> dict[str, Any]:
        return {
            "answer": self.answer,
            "exit_code": self.exit_code,
            "setting": self.production.setting,
            "seconds": self.production.seconds,
            "faults": dict(self.faults),
            "figures": [one.to_json() for one in self.rows],
            "command": self.command,
        }

    def print(self) -> None:
        what = ", ".join(f"{count} x {name}" for name, count in self.faults.items()) or "no fault"
        ReportTable(columns=_COLUMNS, rows=self.rows).print(
            f"{self.answer}.", f"{self.production.setting}; {self.production.seconds:,.0f} s with {what}."
        )
        print_lines(*(f"{one.figure}: {one.seen.lacking}" for one in self.rows if one.seen.lacking))

    @cached_property
    def _outside(self) -> list[VerifiedFigure]:
        return [one for one in self.rows if one.status is Inside.NO]

    @cached_property
    def _compared(self) -> list[VerifiedFigure]:
        return [one for one in self.rows if one.status is not Inside.UNKNOWN]


def verified(rates: SettingRates, production: Production, *, faults: Sequence[str], command: str) -> Verification:
    """Compare what runs of a setting predict with what production showed under ``faults``, each NAME or NAME=LENGTH.

    Raises ``NotAccepted`` for a fault that the rollout does not have.
    """
    declared = _declared(rates.year, faults)
    window = rates.on(_window(rates.year, declared, production.seconds))
    error = ERROR / max(1, sum(not one.lacking for one in production.seen.values()))
    rows = [_row(window, figure, seen, error) for figure, seen in production.seen.items()]
    counts = {name: len(lengths) for name, lengths in declared.items()}
    return Verification(production=production, rows=rows, faults=counts, command=command)


def _row(rates: SettingRates, figure: Figure, seen: SeenFigure, error: float) -> VerifiedFigure:
    if seen.lacking:
        return VerifiedFigure(figure=figure, expected=None, seen=seen)
    expected = predicted(rates, figure, size=seen.size, error=error)
    if float(expected.low) <= 0 and float(expected.high) == inf:
        lacking = replace(seen, lacking="the runs of the evaluation are too few to predict it")
        return VerifiedFigure(figure=figure, expected=None, seen=lacking)
    return VerifiedFigure(figure=figure, expected=expected, seen=seen)


def _declared(year: Year, faults: Sequence[str]) -> dict[str, list[float]]:
    found = defaultdict[str, list[float]](list)
    names = {one.name: one for one in year.faults}
    for text in faults:
        name, _, length = (part.strip() for part in text.partition("="))
        if name not in names:
            accepted = ", ".join(names) or "none, as the rollout has no faults"
            raise NotAccepted(f"--faults: got {name!r}{did_you_mean(name, names)}; accepted: {accepted}")
        if length and not names[name].has_line:
            raise NotAccepted(f"--faults: got {text!r}; accepted: {name}, whose parts have lengths of their own")
        found[name].append(parse_duration_s(length) if length else names[name].lasts_s)
    return found


def _window(year: Year, declared: Mapping[str, Sequence[float]], seconds: float) -> Year:
    """Return the stretch of time as a year of its own, in which each class comes as often as it is declared."""
    faults = tuple(
        replace(
            one,
            per_year=float(len(declared.get(one.name, ()))),
            lasts_s=sum(declared[one.name]) / len(declared[one.name]) if one.name in declared else one.lasts_s,
        )
        for one in year.faults
    )
    window = replace(year, faults=faults, span_s=seconds)
    if window.faulty_s > seconds:
        raise NotAccepted(f"--faults: got {window.faulty_s:g} s of faults; accepted: at most {seconds:g} s, all of it")
    return window


def _interval(row: VerifiedFigure) -> str:
    if row.expected is None:
        return NONE
    return f"{_told(row.figure, float(row.expected.low))} to {_told(row.figure, float(row.expected.high))}"


def _seen(row: VerifiedFigure) -> str:
    if row.seen.lacking and not row.seen.size:
        return NONE
    ends = dict.fromkeys(_told(row.figure, end) for end in (row.seen.low, row.seen.high))
    return " to ".join(ends)


def _told(figure: Figure, value: float) -> str:
    return told(figure, value, of_year=False) if figure.name == UNAVAILABLE else told(figure, value)


_COLUMNS = (
    Column[VerifiedFigure]("figure", lambda row: str(row.figure)),
    Column[VerifiedFigure](
        "expected", lambda row: NONE if row.expected is None else _told(row.figure, float(row.expected.value))
    ),
    Column[VerifiedFigure]("prediction interval", _interval),
    Column[VerifiedFigure]("production", _seen),
    Column[VerifiedFigure]("of", lambda row: round(row.seen.size), number=True),
    Column[VerifiedFigure]("", lambda row: str(row.status)),
)
