"""Confirmation of simulation by real zones: the medians of runs in both arms, and what follows for a setting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from zonelab.analysis.comparison.metrics import WITHIN, Agreement
from zonelab.analysis.comparison.samples import dithered
from zonelab.analysis.number_text import estimate, percent
from zonelab.analysis.observation import Observation
from zonelab.analysis.proportions import Interval
from zonelab.analysis.rates.objectives import TimedOperation
from zonelab.analysis.rates.outcomes import times_s
from zonelab.analysis.statistics import mean_difference_interval, mean_interval

OPERATIONS = (TimedOperation.PUSH, TimedOperation.LEASE, TimedOperation.ACK)
"""Operations that are compared; lateness depends on the consumers, too."""

WHOLE_MS = 1.0
"""The lease step is measured in whole milliseconds: below one, nothing is known of it."""

_CONFIDENCE = 0.95


class ConfirmationStatus(StrEnum):
    CONFIRMED = "confirmed"
    NOT = "not confirmed"
    UNDECIDED = "not decided"
    NOT_CONFIRMABLE = "not confirmable"
    """Only simulation can do it."""


def medians_ms(run: Observation) -> dict[str, float]:
    """By operation, of those that were confirmed, as ``zonelab compare`` takes them."""
    found = {}
    for operation in OPERATIONS:
        seconds = times_s(run, operation)
        values_ms = seconds[np.isfinite(seconds)] * 1e3
        if values_ms.size:
            found[str(operation)] = float(
                np.median(dithered(values_ms) if operation is TimedOperation.LEASE else values_ms)
            )
    return found


@dataclass(frozen=True, slots=True)
class Typical:
    """The geometric mean of the medians of ``runs`` runs, with the 95 % interval of Student; None for a single run."""

    value_ms: float
    interval_ms: Interval | None
    runs: int

    @classmethod
    def of(cls, medians_ms: Sequence[float]) -> "Typical":
        """The geometric mean of runs' medians, with an interval if there are enough runs for one."""
        logs = np.log(np.asarray(medians_ms, dtype=np.float64))
        around = mean_interval(logs, confidence=_CONFIDENCE)
        interval = None if around is None else Interval(float(np.exp(around.low)), float(np.exp(around.high)))
        return cls(float(np.exp(logs.mean())), interval, len(logs))

    def to_json(self) -> dict[str, Any]:
        ends = {} if self.interval_ms is None else {"low": self.interval_ms.low, "high": self.interval_ms.high}
        return {"value": self.value_ms, "low": None, "high": None, **ends, "runs": self.runs}

    def __str__(self) -> str:
        return estimate(self.value_ms, self.interval_ms)


@dataclass(frozen=True, kw_only=True, slots=True)
class MedianPair:
    """One operation in both arms. ``relative``: by which part the measured median is above the predicted one."""

    operation: TimedOperation
    predicted: Typical
    measured: Typical
    relative: float
    interval: Interval | None

    @classmethod
    def of(cls, operation: TimedOperation, predicted_ms: Sequence[float], measured_ms: Sequence[float]) -> "MedianPair":
        """By Welch's interval of the logarithms: runs, not operations, are what is independent."""
        predicted, measured = Typical.of(predicted_ms), Typical.of(measured_ms)
        apart = mean_difference_interval(np.log(predicted_ms), np.log(measured_ms), confidence=_CONFIDENCE)
        return cls(
            operation=operation,
            predicted=predicted,
            measured=measured,
            relative=measured.value_ms / predicted.value_ms - 1,
            interval=None if apart is None else Interval(*(float(np.expm1(end)) for end in (apart.low, apart.high))),
        )

    def agree(self, within: float = WITHIN) -> Agreement:
        """Return whether the medians surely differ by at most ``within`` of the prediction, surely by more,
        or neither.
        """
        if self.interval is None:
            return "undecided"
        if -within <= self.interval.low and self.interval.high <= within:
            return "yes"
        return "no" if self.interval.low > within or self.interval.high < -within else "undecided"

    def to_json(self) -> dict[str, Any]:
        ends = {} if self.interval is None else {"low": self.interval.low, "high": self.interval.high}
        return {
            "operation": str(self.operation),
            "predicted_ms": self.predicted.to_json(),
            "measured_ms": self.measured.to_json(),
            "difference": {"value": self.relative, "low": None, "high": None, **ends},
            "agree": self.agree(),
            "told": [str(self.predicted), str(self.measured), self.difference],
        }

    @property
    def difference(self) -> str:
        """Return the difference of the real median from the simulated one, in per cent, as a report shows it."""
        return estimate(self.relative, self.interval, partial(percent, signed=True))


def pairs_of(
    predicted: Sequence[Mapping[str, float]], measured: Sequence[Mapping[str, float]]
) -> tuple[MedianPair, ...]:
    """A pair for each operation whose medians are known in both arms, given run by run."""
    found = []
    for operation in OPERATIONS:
        arms = [[run[operation] for run in runs if operation in run] for runs in (predicted, measured)]
        if all(arms) and all(min(values) >= _least(operation) for values in arms):
            found.append(MedianPair.of(operation, *arms))
    return tuple(found)


def decided(pairs: Sequence[MedianPair], *, busy: bool, within: float = WITHIN) -> tuple[ConfirmationStatus, str]:
    """Return whether a setting is confirmed, and why if not. ``busy``: the machine kept the lab from running.

    A busy machine makes operations slower and never quicker, so what was measured below the prediction is not its work.
    """
    found = {pair: pair.agree(within) for pair in pairs}
    apart = [pair for pair, agrees in found.items() if agrees == "no"]
    if [pair for pair in apart if pair.relative < 0 or not busy]:
        return ConfirmationStatus.NOT, "; ".join(f"{pair.operation} {pair.difference}" for pair in apart)
    if busy:
        return ConfirmationStatus.UNDECIDED, "machine was busy"
    if not pairs:
        return ConfirmationStatus.UNDECIDED, "no median is known in both arms"
    wide = [pair for pair, agrees in found.items() if agrees == "undecided"]
    if wide:
        real, simulated = min(pair.measured.runs for pair in wide), min(pair.predicted.runs for pair in wide)
        return ConfirmationStatus.UNDECIDED, f"{real} real runs, or {simulated} simulated ones, are too few"
    return ConfirmationStatus.CONFIRMED, ""


def _least(operation: TimedOperation) -> float:
    return WHOLE_MS if operation is TimedOperation.LEASE else 1e-6
