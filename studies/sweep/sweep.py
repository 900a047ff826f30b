"""A sweep: every setting with every seed, going on with what is there."""

from dataclasses import dataclass

from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.reporting.forecast import forecast
from zonelab.studies.sweep.every_setting import EverySetting
from zonelab.studies.sweep.one_run import Sweeping
from zonelab.studies.sweep.result import SweepResult
from zonelab.studies.sweep.rows import Row, row_of


@dataclass(frozen=True, kw_only=True)
class Sweep(EverySetting[SweepResult]):
    """``messages``: each seed draws its faults and more, as in a hunt, and pushes about so many; None: none draws."""

    verb, unit, found = "sweep", "runs", SweepResult
    messages: int | None = None

    @property
    def made(self) -> Sweeping:
        return Sweeping(scenarios=tuple(setting.scenario for setting in self.settings), messages=self.messages)

    @property
    def beside(self) -> str:
        return str(self.messages)

    def forecast(self, seeds: int) -> str | None:
        """Of runs that are drawn nothing is known beforehand."""
        return None if self.messages is not None else forecast([one.scenario for one in self.settings], each=seeds)

    def rows(self, done: AllRuns) -> tuple[Row, ...]:
        """Return the results by setting, each compared with the first pair by pair."""
        found = done.by_setting()
        runs = [found.get(setting.name, {}) for setting in self.settings]
        return tuple(
            row_of(setting.name, mine, first=runs[0] if place else None)
            for place, (setting, mine) in enumerate(zip(self.settings, runs, strict=True))
        )
