"""Precision of rates given a fault: a table row for each class of faults and of messages, and a sentence."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from zonelab.analysis.number_text import digits, percent
from zonelab.analysis.rates.precision import (
    PRECISION,
    RATE_LEAST,
    RateGivenFault,
    rates_given_faults,
)
from zonelab.studies.evaluate.evaluation import EvaluationRounds
from zonelab.studies.reporting.report_table import Column, ReportTable


@dataclass(frozen=True, slots=True)
class RatesGivenFaults:
    """``by_setting``: each with its rates. ``budget_s``: what all runs take by the clock; None if none was made now."""

    by_setting: Mapping[str, Sequence[RateGivenFault]]
    budget_s: float | None

    @classmethod
    def of(cls, done: EvaluationRounds) -> "RatesGivenFaults":
        runs = sum(done.runs.values()) * len(done.measured)
        budget_s = None if done.seconds_a_run is None else runs * done.seconds_a_run
        return cls({name: rates_given_faults(one) for name, one in done.measured.items()}, budget_s)

    def to_json(self, setting: str) -> list[dict[str, object]]:
        return [{**one.to_json(), "budget_s": self._budget_s(one)} for one in self.by_setting[setting]]

    @property
    def table(self) -> ReportTable[Sequence[RateGivenFault]] | None:
        """The rates that are frequent in any setting; where settings differ, the least and the largest."""
        found: dict[tuple[str, str], list[RateGivenFault]] = {}
        for one in self._frequent:
            found.setdefault((one.fault, one.figure), []).append(one)
        if not found:
            return None
        return ReportTable(columns=self._columns, rows=[rates for _, rates in sorted(found.items())], names=2)

    @property
    def _columns(self) -> list[Column[Sequence[RateGivenFault]]]:
        return [
            Column("fault", lambda rates: rates[0].fault),
            Column("figure", lambda rates: rates[0].figure),
            Column("cases a message", lambda rates: _range([float(one.rate.value) for one in rates], percent)),
            Column(
                "half-width",
                lambda rates: _range([one.half_width for one in rates if isfinite(one.half_width)], percent),
            ),
            Column(
                "design effect",
                lambda rates: _range([one.design_effect for one in rates if one.design_effect is not None], digits),
            ),
            Column("runs", lambda rates: rates[0].runs, number=True),
            Column(f"for ± {PRECISION:.0%}", lambda rates: self._told([one for one in rates if not one.is_known])),
        ]

    def sentences(self) -> Iterator[str]:
        """Yield how exactly rates given a fault are known, in the words of the report."""
        if self._frequent:
            known, every = sum(one.is_known for one in self._frequent), len(self._frequent)
            yield f"{known} of {every} rates given a fault of {RATE_LEAST:.0%} and more are known to ± {PRECISION:.0%}."

    @property
    def _frequent(self) -> list[RateGivenFault]:
        return [one for rates in self.by_setting.values() for one in rates if float(one.rate.value) >= RATE_LEAST]

    def _budget_s(self, one: RateGivenFault) -> float | None:
        """The budget that would be enough, if it went to all kinds of runs as it did."""
        if one.runs_needed is None or self.budget_s is None:
            return None
        return self.budget_s * one.runs_needed / one.runs

    def _told(self, open_: Sequence[RateGivenFault]) -> str:
        """Return what the rate of every setting takes."""
        if not open_:
            return "reached"
        if any(one.runs_needed is None for one in open_):
            return "too few runs to tell"
        runs = max(one.runs_needed or 0 for one in open_)
        budgets_s = [budget_s for one in open_ if (budget_s := self._budget_s(one)) is not None]
        return f"{runs:,} runs" + (f", --budget {ceil(max(budgets_s) / 60)}min" if budgets_s else "")


def _range(values: Sequence[float], words: Callable[[float], str]) -> str:
    """Return the least and the largest of the settings for which a value is known."""
    if not values:
        return "unknown"
    least, most = words(min(values)), words(max(values))
    return least if least == most else f"{least} to {most}"
