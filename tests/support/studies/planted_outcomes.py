"""Outcomes of an evaluation that are made up, in place of those of simulated runs, and come by the same door."""

from dataclasses import dataclass, field

import numpy as np

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.year import RunKind
from zonelab.studies.many_runs.task import FinishedTask


@dataclass
class Planted:
    """In place of processes: outcomes by the name of the setting. ``until``: Ctrl-C comes after so many."""

    make: object
    until: int | None = None
    made: list[tuple[str, RunKind, int]] = field(default_factory=list)
    jobs: int = 1

    def finished(self, run, tasks, here):
        for task in tasks:
            if self.until is not None and len(self.made) >= self.until:
                raise KeyboardInterrupt
            setting = task.setting.partition(",")[0]
            self.made.append((setting, task.subject[1], task.seed))
            yield FinishedTask(key=task.key, result=self.make(setting, task.subject[1], task.seed))


def outcome(setting: str, cell: RunKind, seed: int) -> Observation:
    """At DC_ONE a third of the faults loses messages; a push takes 1 ms there and 5 ms with a quorum."""
    rng = np.random.default_rng(seed)
    one = setting == "level=DC_ONE"
    times = np.rint((1000 if one else 5000) * (0.8 + rng.exponential(0.2, 40))).astype(int)
    lost = {"lost": 2} if one and cell.fault and seed % 3 == 0 else {}
    return Observation(
        begun=40, counts=lost, numbers={"commands": 400}, samples={"push": times.tolist(), "lease": [500] * 40}
    )
