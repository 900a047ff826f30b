"""Cost of one fault of a class: at its edges, however long it lasts, and for each message while it lasts."""

from dataclasses import dataclass
from typing import Any

from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import DUPLICATES, LOSSES, UNAVAILABLE, Figure
from zonelab.analysis.rates.precision import runs_needed
from zonelab.analysis.rates.samples import Estimate

_FIGURES = tuple(map(Figure.parsed, (LOSSES, DUPLICATES, UNAVAILABLE)))


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultCost:
    """``edges``: cases an event, or seconds. ``steady``: cases a message, or seconds a second, while it lasts.

    ``whole``: of one event as long as expected. ``clump``: how many cases come together, the design effect. ``runs``:
    with this fault; ``runs_needed``: for the whole within a fifth, None if that is so or nothing was seen.
    """

    fault: str
    figure: Figure
    edges: Estimate
    steady: Estimate
    whole: Estimate
    clump: float
    runs: int
    runs_needed: int | None

    def to_json(self) -> dict[str, Any]:
        values = {"edges": self.edges.to_json(), "steady": self.steady.to_json(), "whole": self.whole.to_json()}
        told_needed = {"clump": self.clump, "runs": self.runs, "runs_needed": self.runs_needed}
        return {"fault": self.fault, "figure": str(self.figure), **values, **told_needed}


def fault_costs(measured: SettingRates) -> list[FaultCost]:
    """Return the cost of every class in losses, duplicates and seconds without service, where a run shows a case."""
    found = []
    for fault in measured.year.faults:
        line = measured.year.line(fault)
        for figure in _FIGURES:
            samples = [measured.outcomes.counted(cell, figure.name) for cell in fault.cells]
            if any(float(sample.mean) for sample in samples):
                runs = sum(sample.units for sample in samples)
                messages = sum(float(measured.outcomes.messages(cell).mean) for cell in fault.cells) / len(fault.cells)
                load_s = sum(measured.year.load_s(cell) for cell in fault.cells) / len(fault.cells)
                a_second = 1.0 if figure.name == UNAVAILABLE else messages / load_s
                whole = measured.summed(figure, line.weights)
                steady = _divided(measured.summed(figure, line.steady), a_second)
                found.append(
                    FaultCost(
                        fault=fault.name,
                        figure=figure,
                        edges=measured.summed(figure, line.edges),
                        steady=steady.of_messages() if figure.is_part_of_messages else steady,
                        whole=whole,
                        clump=max(float(sample.clump) for sample in samples),
                        runs=runs,
                        runs_needed=runs_needed(whole, runs),
                    )
                )
    return found


def _divided(estimate: Estimate, by: float) -> Estimate:
    return Estimate(estimate.value / by, estimate.low / by, estimate.high / by)
