"""Throughput limits of any settings, each with the same seeds, and what they say beside each other."""

from dataclasses import dataclass

from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.limit.result import LimitResult
from zonelab.studies.limit.rows import LimitRow, row_of
from zonelab.studies.limit.search import RUNS_ABOUT, Searching
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.reporting.forecast import forecast
from zonelab.studies.sweep.every_setting import EverySetting
from zonelab.studies.sweep.settings import Setting


@dataclass(frozen=True, kw_only=True)
class Limits(EverySetting[LimitResult]):
    """The search for every setting. Raises ``NotAccepted`` if a load cannot be scaled."""

    verb, unit, found = "limit", "searches", LimitResult

    def __post_init__(self) -> None:
        for setting in self.settings:
            if not _given_per_s(setting):
                raise NotAccepted(f"{setting.name}: load.rate_per_s: got 0; accepted: a rate, which the search changes")

    @property
    def made(self) -> Searching:
        return Searching(tuple(setting.scenario for setting in self.settings))

    @property
    def beside(self) -> str:
        return self.verb

    def forecast(self, seeds: int) -> str | None:
        return forecast([one.scenario for one in self.settings], each=seeds, of_search=RUNS_ABOUT)

    def rows(self, done: AllRuns) -> tuple[LimitRow, ...]:
        found = done.by_setting()
        return tuple(
            row_of(setting.name, found.get(setting.name, {}), given_per_s=_given_per_s(setting))
            for setting in self.settings
        )


def _given_per_s(setting: Setting) -> float:
    return sum(setting.scenario.load.rate_of(zone) for zone in setting.scenario.zones)
