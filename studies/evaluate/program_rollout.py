"""A rollout whose load is programs of the user's own: the scenario of every setting and kind of run on real servers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from zonelab.analysis.rates.year import NO_FAULT, RunKind, Year
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.spec.evaluate import ExpectedFaults, LoadTimes
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.evaluate.rollout import RolloutSettings, placed

SIMULATES_NONE = "programs: cannot be simulated, so they are evaluated on real servers only: --on process"


@dataclass(frozen=True)
class ProgramRollout(RolloutSettings):
    """A class of faults is run at the one length that it has in a year, which has to fit into the load."""

    @classmethod
    def load(cls, source: str, *, overrides: Sequence[str] = ()) -> "ProgramRollout":
        """Return the rollout in ``source``, a scenario that has programs.

        Raises ``ScenarioError`` if a setting or a fault is no valid scenario, ``NotAccepted`` if a fault is too long.
        """
        rollout = cls._read(source, overrides, Arm.REAL)
        rollout._check(source)
        return rollout

    @cached_property
    def year(self) -> Year:
        """Return the year, each class of whose faults has one length."""
        times = LoadTimes(run_s=self.scenario.load.duration_s, grows=False)
        faults = tuple(_of_one_length(one).yearly(name, times) for name, one in self.evaluate.faults.items())
        return Year(run_s=times.run_s, faults=faults)

    def run(self, setting: int, kind: RunKind, seed: int) -> Scenario:
        """Return the scenario of one run, its fault where ``seed`` says. Raises ``ScenarioError``."""
        base = self.settings[setting].scenario.model_copy(update={"seed": seed})
        if kind == NO_FAULT:
            return base
        begin_s = LoadTimes(run_s=base.load.duration_s).begin_s
        parts = _of_one_length(self.evaluate.faults[kind.fault or ""]).fault
        faults: list[dict[str, Any]] = [
            {**placed(part.fault, base, seed), "at_s": round(begin_s + part.after_s, 3), "for_s": part.for_s}
            for part in parts
        ]
        document = {**base.model_dump(mode="json", exclude={"evaluate"}), "faults": faults}
        return scenario_of(document, source=f"evaluate.faults.{kind.fault}")

    def _check(self, source: str) -> None:
        times = LoadTimes(run_s=self.scenario.load.duration_s, grows=False)
        for kind in self.year.cells:
            if kind.length_s > times.longest_s:
                name = f"{source}: evaluate.faults.{kind.fault}.lasts_s"
                raise NotAccepted(
                    f"{name}: got {kind.length_s:g}; accepted: up to {times.longest_s:g}, 3/4 of the load"
                )
            for place in range(len(self.settings)):
                self.run(place, kind, 0)


def _of_one_length(faults: ExpectedFaults) -> ExpectedFaults:
    """Return a class each of whose parts has a length of its own."""
    if faults.own_s is not None:
        return faults
    ends_s = faults.event_s
    parts = tuple(
        part if part.for_s is not None else part.model_copy(update={"for_s": ends_s - part.after_s})
        for part in faults.fault
    )
    return faults.model_copy(update={"fault": parts, "lasts_s": None, "lengths_s": None})
