"""Allotment of runs: what open objectives need first, the cheapest before the others, then where intervals are wide."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, floor

from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import Objective
from zonelab.analysis.rates.precision import rates_given_faults
from zonelab.analysis.rates.recommendation import SettingChoice
from zonelab.analysis.rates.year import RunKind, Year

FLOOR = 1.0
"""Weight, in objectives, that all kinds share evenly, however little they seem to matter.

Which kind matters is itself an estimate from few runs: without it, a kind whose first runs show no case gets no more.
"""

KNOWN_PART = 2 / 3
"""Largest part of the runs that is spent on knowing rates given a fault well.

Rare faults would take any budget; the rest is left for deciding the objectives, which is what was asked.
"""

Counts = Mapping[RunKind, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCosts:
    """``each``: by kind, what a run of every setting that goes on costs together; runs, or seconds of processors."""

    each: Mapping[RunKind, float]

    def of(self, wanted: Counts, counts: Counts) -> float:
        """Return what is to be paid for ``wanted`` where ``counts`` are there."""
        return sum(max(0, count - counts.get(cell, 0)) * self.each[cell] for cell, count in wanted.items())

    def unthinned_s(self, cells: Iterable[RunKind], needs: Counts, *, least: int) -> float:
        """Return what runs of ``cells`` that are not thinned cost: as many messages as ``needs`` have, ``least`` runs
        at least.
        """
        return sum(max(least * one.thinning, needs.get(one, 0)) * self.each[one] for one in cells if one.thinning > 1)


def for_needs(
    needs: Iterable[Counts], counts: Counts, costs: RunCosts, *, purse: float
) -> tuple[dict[RunKind, int], float]:
    """Return runs of each kind for as many of ``needs`` as ``purse`` pays for, and what is left of it."""
    wanted = dict(counts)
    for need in sorted(needs, key=lambda one: costs.of(one, counts)):
        price = costs.of(need, wanted)
        part = min(1.0, purse / price) if price else 0.0
        for cell, count in need.items():
            missing = max(0, count - wanted.get(cell, 0))
            wanted[cell] = wanted.get(cell, 0) + floor(missing * part)
        purse -= price * part
    return wanted, purse


def has_badly_known(counts: Counts, measured: Mapping[str, SettingRates]) -> bool:
    """Return whether a rate given a fault that is to be known well takes more runs."""
    return any(count > counts[cell] for cell, count in _known(counts, measured).items())


def by_spread(
    counts: Counts,
    measured: Mapping[str, SettingRates],
    rows: Iterable[SettingChoice],
    costs: RunCosts,
    *,
    purse: float,
) -> dict[RunKind, int]:
    """Return runs of each kind for all of ``purse``: first where rates given a fault are known badly.

    The rest goes by weight and spread (Neyman 1934) over objectives that are open; for all settings the same, so
    their runs are pairs.
    """
    year = next(iter(measured.values())).year
    shares, known = _shares(year, measured, rows), _known(counts, measured)
    a_run = sum(share * costs.each[cell] for cell, share in shares.items())
    total = sum(counts.values()) + purse / a_run
    part = min(1.0, total * KNOWN_PART / max(1, sum(known.values())))
    rest = total - part * sum(known.values())
    open_ = {cell: max(0.0, known.get(cell, 0) * part + rest * share - counts[cell]) for cell, share in shares.items()}
    price = sum(more * costs.each[cell] for cell, more in open_.items())
    return {cell: counts[cell] + round(more * purse / max(price, 1e-300)) for cell, more in open_.items()}


def _known(counts: Counts, measured: Mapping[str, SettingRates]) -> Counts:
    """Return how many runs of a kind let every setting know its rates, of those that are to be known well."""
    needed: dict[RunKind, int] = {}
    for one in measured.values():
        for rate in rates_given_faults(one):
            if rate.is_wanted and rate.runs_needed is not None:
                for cell in one.year.fault(rate.fault).cells:
                    needed[cell] = max(needed.get(cell, 0), ceil(counts[cell] * rate.runs_needed / rate.runs))
    return needed


def _shares(year: Year, measured: Mapping[str, SettingRates], rows: Iterable[SettingChoice]) -> dict[RunKind, float]:
    """Every objective of a setting that is open has the same say."""
    shares = dict.fromkeys(year.cells, FLOOR / len(year.cells))
    for row in rows:
        for one in row.judged:
            if one.is_open:
                parts = _parts(measured[row.setting], one.objective)
                for cell, part in parts.items():
                    shares[cell] += part / max(sum(parts.values()), 1e-300)
    for fault in year.faults:
        for middle in fault.cells[1:-1]:
            shares[middle] = max(shares[middle], (shares[fault.cells[0]] + shares[fault.cells[-1]]) / 4)
    return {cell: share / sum(shares.values()) for cell, share in shares.items()}


def _parts(measured: SettingRates, objective: Objective) -> Mapping[RunKind, float]:
    """Return what each kind of run adds to the uncertainty of an objective; of a zero all that may show a case."""
    if objective.is_zero:
        return {cell: 1.0 for cell in measured.year.cells if objective.condition in (None, cell.fault)}
    at_s = 0.0 if objective.figure.percentile is None else objective.bound
    return measured.spread(objective.figure, objective.condition, at_s=at_s)
