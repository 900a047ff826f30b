"""Draws of everything that the file gives as an interval: how often a setting does, and which is regretted least."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zonelab.analysis.rates.rollout_question import RolloutQuestion, WeightInput, weight_inputs

DRAWS = 1_000
_SEED = 40
_ENDLESS = 1e300


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingShare:
    """Shares of the draws in which a setting meets all objectives, and in which it does not but another one does.

    ``excess``: by how much its first preferred figure is above that of the best, as a share of it, the mean of the
    draws in which it meets all; 0 without such draws.
    """

    setting: str
    meets: float
    regretted: float
    excess: float

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("setting", "meets", "regretted", "excess")}


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnInputs:
    """``inputs``: what is drawn and between which ends. ``none``: the share of draws in which no setting does."""

    draws: int
    inputs: tuple[str, ...]
    shares: tuple[SettingShare, ...]
    none: float

    @property
    def least_regret(self) -> str | None:
        """Return the setting that least often fails where another does not, then the best; None if none meets all."""
        doing = [one for one in self.shares if one.meets]
        return min(doing, key=lambda one: (one.regretted, one.excess)).setting if doing else None

    def to_json(self) -> dict[str, Any]:
        return {
            "draws": self.draws,
            "inputs": list(self.inputs),
            "none": self.none,
            "least_regret": self.least_regret,
            "settings": [one.to_json() for one in self.shares],
        }


def drawn_inputs(question: RolloutQuestion, *, draws: int = DRAWS) -> DrawnInputs | None:
    """Return what the estimates say of so many sets of inputs, each between its ends; None if all are known."""
    spread = [one for one in weight_inputs(question) if one.span is not None and not one.span.is_known]
    if not spread:
        return None
    names = list(question.settings)
    values = np.array([_values(drawn, names) for drawn in _drawn(question, spread, draws)]).reshape(-1, len(names))
    meets = np.isfinite(values)
    some = meets.any(axis=1, keepdims=True)
    best = np.where(meets, values, np.inf).min(axis=1, keepdims=True)
    compared = meets & (best > 0)
    excess = np.subtract(values, best, out=np.zeros_like(values), where=compared)
    above = np.divide(excess, best, out=excess, where=compared)
    return DrawnInputs(
        draws=len(values),
        inputs=tuple(
            f"{one.what}: {one.told(one.span.low)} to {one.told(one.span.high)}" for one in spread if one.span
        ),
        shares=tuple(
            SettingShare(
                setting=name,
                meets=float(meets[:, place].mean()),
                regretted=float((some[:, 0] & ~meets[:, place]).mean()),
                excess=float(above[meets[:, place], place].mean()) if meets[:, place].any() else 0.0,
            )
            for place, name in enumerate(names)
        ),
        none=float(1 - some.mean()),
    )


def stratified(inputs: int, draws: int) -> NDArray[np.float64]:
    """Return a row a draw and a column an input: parts from 0 to 1, one in each of ``draws`` equal parts."""
    rng = np.random.default_rng(_SEED)
    return np.stack([(rng.permutation(draws) + rng.random(draws)) / draws for _ in range(inputs)], axis=1)


def _drawn(question: RolloutQuestion, spread: list[WeightInput], draws: int) -> Iterator[RolloutQuestion]:
    """Each input is drawn once from each of ``draws`` equally likely parts of its interval, whatever the others are."""
    for row in stratified(len(spread), draws):
        asked: RolloutQuestion | None = question
        for one, part in zip(spread, row, strict=True):
            if asked is not None and one.span is not None:
                asked = one.at(asked, one.span.at(float(part)))
        if asked is not None:
            yield asked


def _values(asked: RolloutQuestion, names: list[str]) -> list[float]:
    """Return the first preferred figure of each setting; infinite where it misses an objective."""
    figure, missed = asked.prefer[0], float("inf")
    return [min(asked.settings[name].estimate(figure), _ENDLESS) if asked.meets(name) else missed for name in names]
