"""Figures of the year of every setting, as tables and as text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isinf

from zonelab.analysis.number_text import estimate, plain
from zonelab.analysis.proportions import Interval
from zonelab.analysis.rates.case_parts import CaseParts, seen_low
from zonelab.analysis.rates.decisions import no_run_with
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import (
    CASES,
    COMMANDS,
    DUPLICATES,
    LOSSES,
    UNAVAILABLE,
    Figure,
    TimedOperation,
    told,
)
from zonelab.analysis.rates.samples import Estimate
from zonelab.studies.reporting.report_table import Column, ReportTable
from zonelab.studies.sweep.settings import lines_of

PERCENTILES = ("p50", "p99", "p99.9")
OF_CASES = (LOSSES, *CASES[LOSSES], DUPLICATES, *CASES[DUPLICATES])
FIGURES = tuple(
    Figure.parsed(name)
    for name in (
        *(f"{percentile}({operation})" for operation in TimedOperation for percentile in PERCENTILES),
        *OF_CASES,
        UNAVAILABLE,
        COMMANDS,
    )
)

YEAR_MEANS = "Endless: so many operations are never confirmed. Unbounded: too few runs to say how much it may be."
NONE_SEEN = "none"
"""Text for an operation that no run has, such as a lease of ordered messages."""

WHOLE_MS = (TimedOperation.LEASE, TimedOperation.LATE)
"""Operations whose times are known in whole milliseconds."""

_MILLION = 1e6


@dataclass(frozen=True, kw_only=True, slots=True)
class YearTables:
    """``names``: of the settings, in the order of the rows. ``values``: by setting and figure, of the year."""

    names: Sequence[str]
    measured: Mapping[str, SettingRates]
    values: Mapping[str, Mapping[Figure, Estimate]]

    @property
    def times(self) -> ReportTable[tuple[str, TimedOperation]]:
        """A row an operation; the first one names the setting."""

        def cell(row: tuple[str, TimedOperation], percentile: str) -> str:
            return self._cell(row[0], Figure.parsed(f"{percentile}({row[1]})"), _in_ms)

        return ReportTable(
            columns=[
                Column("setting", lambda row: row[0] if row[1] is TimedOperation.PUSH else ""),
                Column("", lambda row: row[1]),
                *(Column(name, partial(cell, percentile=name)) for name in PERCENTILES),
            ],
            rows=[(name, operation) for name in self.names for operation in TimedOperation],
            names=2,
        )

    @property
    def counts(self) -> ReportTable[str]:
        """A row a setting: losses and duplicates, time without service, commands."""

        def cases(setting: str, whole: str) -> str:
            values = {one: float(self._value(setting, one).value) * _MILLION for one in CASES[whole]}
            parts = [f"{one} {plain(value)}" for one, value in values.items() if value]
            told = [] if whole != LOSSES else self._loss_parts(setting)
            return "\n".join([between(setting, whole), *parts, *told])

        def between(setting: str, figure: str) -> str:
            return self._cell(setting, Figure.parsed(figure), _between)

        return ReportTable(
            columns=[
                Column("setting", lines_of),
                Column("losses a million", partial(cases, whole=LOSSES)),
                Column("duplicates a million", partial(cases, whole=DUPLICATES)),
                Column(UNAVAILABLE, partial(between, figure=UNAVAILABLE)),
                Column("commands a message", partial(between, figure=COMMANDS)),
            ],
            rows=self.names,
        )

    def _loss_parts(self, setting: str) -> list[str]:
        parts = CaseParts.of(self.measured[setting], Figure.parsed(LOSSES))
        return [] if parts is None else [text for text in (parts.told_by_faults, parts.told_calm) if text]

    def _value(self, setting: str, figure: str) -> Estimate:
        return self.values[setting][Figure.parsed(figure)]

    def told(self, name: str, figure: Figure) -> str:
        """Return a figure of a setting with its interval, and that there is no run of a class of faults."""
        return self._cell(name, figure, _between)

    def _cell(self, name: str, figure: Figure, words: Callable[[Figure, Estimate], str]) -> str:
        measured, value = self.measured[name], self.values[name][figure]
        if figure.operation is not None and not measured.outcomes.has(figure.operation):
            return NONE_SEEN
        lacking = measured.lacking(figure, None)
        if not lacking:
            return words(figure, value)
        return "; ".join([*([words(figure, value)] if value.value else []), no_run_with(lacking)])


def of_year(measured: Mapping[str, SettingRates], *, prefer: Iterable[Figure]) -> dict[str, dict[Figure, Estimate]]:
    figures = dict.fromkeys((*FIGURES, *prefer))
    return {name: {figure: one.value(figure) for figure in figures} for name, one in measured.items()}


def _between(figure: Figure, value: Estimate) -> str:
    """Return the estimate and its interval; figures that count cases are per million messages."""
    scale = _MILLION if figure.counts_cases else 1.0

    def words(end: float) -> str:
        if figure.counts_cases:
            return plain(end)
        return told(figure, end).removesuffix("/year")

    return _with_ends(figure, value, scale, words, unit="" if figure.operation is None else "ms")


def _in_ms(figure: Figure, value: Estimate) -> str:
    return _with_ends(figure, value, 1e3, lambda end: "endless" if isinf(end) else plain(end), unit="")


def _with_ends(figure: Figure, value: Estimate, scale: float, words: Callable[[float], str], *, unit: str) -> str:
    """Return an estimate and its interval; alone where both ends are the same.

    An upper end that nothing bounds yet is unbounded. A time in whole milliseconds is below one, and not nothing.
    """
    seen, low, high = (float(end) * scale for end in (value.value, value.low, value.high))

    def end_in_words(end: float) -> str:
        if figure.operation in WHOLE_MS and not end:
            return f"below 1{unit}"
        return "unbounded" if isinf(end) and not isinf(seen) else words(end)

    if low == seen == high:
        return end_in_words(seen)
    if not seen and isinf(high):
        return f"{end_in_words(seen)} (unbounded)"
    return estimate(seen, Interval(seen_low(seen, low), high), end_in_words)
