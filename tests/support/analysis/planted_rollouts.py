"""Rollouts whose right answer is known by construction: made-up outcomes that go through the door of real runs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.figures import SettingRates
from zonelab.analysis.rates.objectives import PREFER_DEFAULT, Figure, Objective
from zonelab.analysis.rates.outcomes import Outcomes
from zonelab.analysis.rates.recommendation import Recommendation, recommend
from zonelab.analysis.rates.year import NO_FAULT, RunKind, Year, YearlyFaults

DOWN = "one zone down"
MESSAGES = 60


@dataclass(frozen=True, kw_only=True)
class Setting:
    """``push_ms``: the median of its pushes; a fault makes them ``slower`` times as slow while it lasts.

    ``lost``, ``duplicated``: cases an event. ``outage_s``: a second of the fault; ``noticed_s``: an event, beside that.
    """

    push_ms: float = 5.0
    slower: float = 1.0
    lost: float = 0.0
    duplicated: float = 0.0
    outage_s: float = 0.0
    noticed_s: float = 0.0
    commands: int = 500


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """``binding``: of each rejected setting the figure whose objective rejects it.

    ``any_first``: chance decides which of those that are tied comes first.
    """

    settings: Mapping[str, Setting]
    objectives: tuple[str, ...]
    recommended: str | None
    binding: Mapping[str, str] = field(default_factory=dict)
    tied: tuple[str, ...] = ()
    any_first: bool = False
    per_year: float = 12.0
    lasts_s: float = 60.0

    @property
    def year(self) -> Year:
        down = YearlyFaults(name=DOWN, per_year=self.per_year, lasts_s=self.lasts_s, lengths_s=(1.0, 2.0, 4.0))
        return Year(run_s=8.0, faults=(down,))

    def measured(self, seed: int, *, runs: int = 60) -> dict[str, SettingRates]:
        return {
            name: self._of(setting, place, seed, runs) for place, (name, setting) in enumerate(self.settings.items())
        }

    def decided(self, seed: int) -> Recommendation:
        objectives = [Objective.parsed(text) for text in self.objectives]
        return recommend(self.measured(seed), objectives, prefer=[Figure.parsed(text) for text in PREFER_DEFAULT])

    def is_right(self, found: Recommendation) -> bool:
        binding = {row.setting: row.binding.objective.figure.name for row in found.rows if row.binding is not None}
        if self.tied:
            best = {found.recommended, *found.tied}
            first = found.recommended == self.recommended or self.any_first
            return first and best == {self.recommended, *self.tied} and binding == dict(self.binding)
        return found.recommended == self.recommended and not found.tied and binding == dict(self.binding)

    def _of(self, setting: Setting, place: int, seed: int, runs: int) -> SettingRates:
        drawn = {}
        for number, cell in enumerate(self.year.cells):
            count = runs * (3 if cell == NO_FAULT else 1)
            drawn[cell] = {one: _run(setting, cell, (seed, place, number, one)) for one in range(count)}
        return SettingRates(Outcomes(drawn), self.year)


def _run(setting: Setting, cell: RunKind, seed: tuple[int, int, int, int]) -> Observation:
    place, of_setting = np.random.default_rng([seed[0], *seed[2:]]), np.random.default_rng(seed)
    common = place.exponential(1.0, MESSAGES)  # what the seed decides is the same for every setting
    during = np.arange(MESSAGES) < MESSAGES * cell.length_s / 8
    times_ms = setting.push_ms * (0.7 + common * 0.45) * np.where(during, setting.slower, 1.0)
    lost, duplicated = (
        int(of_setting.poisson(rate)) if cell.fault else 0 for rate in (setting.lost, setting.duplicated)
    )
    return Observation(
        begun=MESSAGES,
        counts={"lost": lost, "redelivered": duplicated},
        numbers={
            "unavailable": (setting.outage_s * cell.length_s + setting.noticed_s * (cell.fault is not None))
            * of_setting.uniform(0.9, 1.1),
            "commands": setting.commands + int(place.integers(20)),
        },
        samples={"push": np.rint(times_ms * 1000).astype(int).tolist(), "lease": [500] * MESSAGES},
    )


_ONE = Setting(push_ms=1.0, lost=0.5, outage_s=0.3)
_QUORUM = Setting(push_ms=5.0)
_SAFE = Setting(push_ms=9.0, duplicated=0.2)

ROLLOUTS: Mapping[str, Rollout] = {
    "the cheapest does": Rollout(
        settings={"one": Setting(push_ms=1.0), "quorum": _QUORUM},
        objectives=("p99(push) < 20ms", "duplicates < 1e-2"),
        recommended="one",
    ),
    "none qualifies": Rollout(
        settings={"one": _ONE, "quorum": _QUORUM},
        objectives=("p99(push) < 2ms", f"lost == 0 with {DOWN}"),
        recommended=None,
        binding={"one": "lost", "quorum": "p99(push)"},
    ),
    "loss decides": Rollout(
        settings={"one": _ONE, "quorum": _QUORUM, "safe": _SAFE},
        objectives=(f"lost == 0 with {DOWN}", "p99(push) < 30ms"),
        recommended="quorum",
        binding={"one": "lost"},
    ),
    "outages decide": Rollout(
        settings={"one": _ONE, "quorum": _QUORUM},
        objectives=(f"unavailable < 5s with {DOWN}",),
        recommended="quorum",
        binding={"one": "unavailable"},
    ),
    "a tie": Rollout(
        settings={"quorum": _QUORUM, "twin": _QUORUM, "slow": Setting(push_ms=9.0)},
        objectives=("p99(push) < 30ms",),
        recommended="quorum",
        tied=("twin",),
        any_first=True,
    ),
    "both are far from the bound": Rollout(
        settings={"one": Setting(push_ms=1.0), "quorum": _QUORUM, "slow": Setting(push_ms=15.0)},
        objectives=("p99(push) < 100ms",),
        recommended="one",
        tied=("quorum",),
    ),
    "slow under the fault": Rollout(
        settings={"quick": Setting(push_ms=3.0, slower=20.0), "steady": _QUORUM},
        objectives=(f"p99(push) < 60ms with {DOWN}", "p99(push) < 30ms"),
        recommended="steady",
        binding={"quick": "p99(push)"},
    ),
    # A third of the pushes waits for the coordinator that is gone, or for as long as programs need to notice it.
    "failover alone decides": Rollout(
        settings={"failover=false": Setting(outage_s=1 / 3), "failover=true": Setting(noticed_s=0.3)},
        objectives=("p99(push) < 100ms", "duplicates < 1e-2", f"unavailable < 5s with {DOWN}"),
        recommended="failover=true",
        binding={"failover=false": "unavailable"},
    ),
    "rare faults are let pass": Rollout(
        settings={"one": Setting(push_ms=1.0, duplicated=3.0), "quorum": _QUORUM},
        objectives=("duplicates < 1e-2",),
        recommended="one",
    ),
    "frequent ones are not": Rollout(
        settings={"one": Setting(push_ms=1.0, duplicated=3.0), "quorum": _QUORUM},
        objectives=("duplicates < 1e-2",),
        recommended="quorum",
        binding={"one": "duplicates"},
        per_year=2_000_000.0,
        lasts_s=6.0,
    ),
}
