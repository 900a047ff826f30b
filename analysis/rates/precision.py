"""Precision of the share of messages that a class of faults hits: half-width, design effect, runs for a fifth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any

from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import CASES, DUPLICATES, LOSSES, Figure
from zonelab.analysis.rates.samples import Estimate, Sample, finite
from zonelab.analysis.rates.year import YearlyFaults

PRECISION = 0.2
"""A figure is known well if half of its interval is so much of it at most."""

RATE_LEAST = 0.01
DESIGN_EFFECT_MAX = 2.0
"""From this rate on, and up to this effect, five minutes are to be enough for ``PRECISION``."""

_FIGURES = (LOSSES, *CASES[LOSSES], DUPLICATES, *CASES[DUPLICATES])


@dataclass(frozen=True, kw_only=True, slots=True)
class RateGivenFault:
    """``rate``: cases a message in runs with ``fault``, its three lengths alike.

    ``design_effect``: variance of a run's cases over their mean, which is 1 if each comes by itself; None if a length
    has a single run. ``runs_needed``: for ``PRECISION``; None if that is so, or if there are too few to tell.
    """

    fault: str
    figure: str
    rate: Estimate
    design_effect: float | None
    runs: int
    runs_needed: int | None

    @property
    def half_width(self) -> float:
        return half_width(self.rate)

    @property
    def is_known(self) -> bool:
        """To ``PRECISION``; of a single run of a kind nothing is."""
        return self.half_width <= PRECISION

    @property
    def is_wanted(self) -> bool:
        """It is frequent, and its cases are no clumps, so it is to be known well."""
        effect = self.design_effect
        return float(self.rate.value) >= RATE_LEAST and effect is not None and effect <= DESIGN_EFFECT_MAX

    def to_json(self) -> dict[str, Any]:
        return {
            "fault": self.fault,
            "figure": self.figure,
            **self.rate.to_json(),
            "known": self.is_known,
            "half_width": finite(self.half_width),
            "design_effect": self.design_effect,
            "runs": self.runs,
            "runs_needed": self.runs_needed,
        }


def half_width(estimate: Estimate) -> float:
    """Return the half-width of the interval, as a part of the value."""
    value = float(estimate.value)
    return (float(estimate.high) - float(estimate.low)) / 2 / value if value else float("inf")


def runs_needed(estimate: Estimate, runs: int) -> int | None:
    """For ``PRECISION``, as intervals shrink with the root of the runs; None if that is so, or nothing was seen."""
    width = half_width(estimate)
    return None if width <= PRECISION or not isfinite(width) else ceil(runs * (width / PRECISION) ** 2)


def rates_given_faults(measured: SettingRates) -> list[RateGivenFault]:
    """Return for every class of faults the losses and duplicates that runs show, by class; a sum if it has several."""
    return [found for fault in measured.year.faults for found in _of(measured, fault)]


def _of(measured: SettingRates, fault: YearlyFaults) -> Iterator[RateGivenFault]:
    each = dict.fromkeys(fault.cells, 1 / len(fault.cells))
    messages = sum(float(measured.outcomes.messages(cell).mean) for cell in fault.cells) / len(fault.cells)
    every = [run.counts for cell in fault.cells for run in measured.outcomes.runs[cell].values()]
    seen = {name for cases in every for name, count in cases.items() if count}
    for name in _FIGURES:
        if len(seen.intersection(CASES[name])) < (2 if len(CASES[name]) > 1 else 1):
            continue
        samples = [measured.outcomes.counted(cell, name) for cell in fault.cells]
        figure, runs = Figure.parsed(name), sum(sample.units for sample in samples)
        cases = measured.summed(figure, each)
        rate = Estimate(cases.value / messages, cases.low / messages, cases.high / messages)
        yield RateGivenFault(
            fault=fault.name,
            figure=name,
            rate=rate.of_messages() if figure.is_part_of_messages else rate,
            design_effect=_design_effect(samples),
            runs=runs,
            runs_needed=runs_needed(rate, runs),
        )


def _design_effect(samples: Sequence[Sample]) -> float | None:
    if min(sample.units for sample in samples) < 2:
        return None
    return sum(float(one.variance) for one in samples) / sum(float(one.mean) for one in samples)
