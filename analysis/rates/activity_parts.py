"""Commands, or bytes between zones, in two parts: those of a message, and those of programs that wait for one."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from zonelab.analysis.rates.objectives import BYTES, COMMANDS
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.samples import finite

WAITED_S = "waited_s"
"""Measure of a run: seconds in which programs waited for a message, all of them together."""

_ALIKE = 30.0
"""Condition number beyond which runs wait for so much alike a message that the parts are not told apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ActivityParts:
    """``a_message``: what a message takes. ``a_waiting_s``: what a program takes in a second of waiting for one."""

    a_message: float
    a_waiting_s: float

    @classmethod
    def of(cls, outcomes: Outcomes, name: str) -> Self | None:
        """Return the parts of ``COMMANDS`` or ``BYTES`` of runs without a fault, by least squares.

        Thinned runs last longer a message, so that their programs wait more. None if no two kinds of runs do.
        """
        assert name in (COMMANDS, BYTES)
        runs = [run for cell, by_seed in outcomes.runs.items() if cell.fault is None for run in by_seed.values()]
        shown = [(run.begun, run.numbers.get(WAITED_S, 0.0), run.numbers.get(name, 0.0)) for run in runs]
        rows = np.array([one for one in shown if one[2]], dtype=np.float64).reshape(-1, 3)
        parts, whole = rows[:, :2], rows[:, 2]
        if len(rows) < 2 or not parts.all(axis=0).all():
            return None
        shares = parts / whole[:, None]
        scale = shares.mean(axis=0)
        if np.linalg.cond(shares / scale) > _ALIKE:
            return None
        found = np.linalg.lstsq(shares / scale, np.ones(len(rows)), rcond=None)[0] / scale
        return cls(a_message=float(found[0]), a_waiting_s=float(found[1])) if (found > 0).all() else None

    def total(self, messages: float, waited_s: float) -> float:
        """Return what so many messages take, and programs that wait for so long."""
        return self.a_message * messages + self.a_waiting_s * waited_s

    def to_json(self) -> dict[str, Any]:
        return {"a_message": finite(self.a_message), "a_waiting_s": finite(self.a_waiting_s)}
