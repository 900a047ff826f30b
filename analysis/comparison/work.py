"""Work on a command that explains by how much real medians exceed simulated ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zonelab.analysis.number_text import estimate
from zonelab.analysis.proportions import Interval
from zonelab.analysis.statistics import mean_interval

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class CommandWork:
    """Milliseconds a command: the mean over ``runs`` runs, with Student's 95 % interval; None for a single run."""

    value_ms: float
    interval_ms: Interval | None
    runs: int

    def __str__(self) -> str:
        return f"{estimate(self.value_ms, self.interval_ms)} ms"


def fitted(
    without_ms: Mapping[str, float], with_unit_ms: Mapping[str, float], measured_ms: Sequence[Mapping[str, float]]
) -> CommandWork:
    """Least squares of the relative differences, run by run; never below 0.

    ``without_ms``, ``with_unit_ms``: medians by operation that are simulated with no work and with 1 ms of it, which
    is how many times in a row an operation waits for it. ``measured_ms``: those of each real run. Operations that
    one of them lacks are left out. Raises ``ValueError`` if none is left.
    """
    found = [_of_run(without_ms, with_unit_ms, run) for run in measured_ms]
    if not found:
        raise ValueError("no run was measured")
    around = mean_interval(found, confidence=_CONFIDENCE)
    return CommandWork(max(0.0, float(np.mean(found))), around, len(found))


def _of_run(without_ms: Mapping[str, float], with_unit_ms: Mapping[str, float], run: Mapping[str, float]) -> float:
    names = [name for name in without_ms if name in with_unit_ms and name in run]
    without, with_unit, measured = (
        np.array([times_ms[name] for name in names]) for times_ms in (without_ms, with_unit_ms, run)
    )
    slope = (with_unit - without) / without
    if not slope.any():
        raise ValueError(f"no operation takes longer with more work: {', '.join(names) or 'none was measured'}")
    return float(slope @ ((measured - without) / without) / (slope @ slope))
