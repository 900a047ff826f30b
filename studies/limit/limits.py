"""Throughput limits of any settings, each with the same seeds, compared with the first."""

from collections.abc import Sequence
from pathlib import Path

from zonelab.analysis.number_text import digits
from zonelab.analysis.observation import Observation
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.limit.result import LimitResult
from zonelab.studies.limit.rows import LimitRow, row_of
from zonelab.studies.limit.search import KEPT, RUNS_ABOUT, LimitSearch, value_per_s
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.forecast import forecast
from zonelab.studies.sweep.every_setting import every_setting
from zonelab.studies.sweep.settings import Setting


def limits_of(settings: Sequence[Setting], seeds: Sequence[int]) -> Experiment[tuple[int, int]]:
    """Return the search of every setting with each of ``seeds``. Raises ``NotAccepted`` if a load cannot be scaled."""
    for setting in settings:
        if not _given_per_s(setting):
            raise NotAccepted(f"{setting.name}: load.rate_per_s: got 0; accepted: a rate, which the search changes")
    scenarios = tuple(setting.scenario for setting in settings)
    return every_setting(
        settings,
        seeds,
        verb="limit",
        measure=LimitSearch(scenarios),
        beside="limit",
        forecast=forecast(scenarios, each=len(seeds), of_search=RUNS_ABOUT),
        unit="searches",
        note=interim_rate,
    )


def interim_rate(failed: int, last: Observation | None) -> str:
    """Return the rate that the last search found, of all zones together."""
    return "no rate yet" if last is None or KEPT not in last.numbers else f"last: {digits(value_per_s(last))} a second"


def limit_rows(settings: Sequence[Setting], done: AllRuns) -> tuple[LimitRow, ...]:
    """Return what was found of each setting."""
    found = done.by_setting()
    return tuple(row_of(one.name, found.get(one.name, {}), given_per_s=_given_per_s(one)) for one in settings)


def run_limits(
    settings: Sequence[Setting], *, seeds: range, runs: Path, command: str, where: Where = HERE
) -> LimitResult:
    """Search the limit of each setting. Raises as ``Experiment.conduct``."""
    return LimitResult.of(
        limits_of(settings, seeds),
        lambda done, _: {"rows": limit_rows(settings, done)},
        runs=runs,
        command=command,
        where=where,
    )


def _given_per_s(setting: Setting) -> float:
    return sum(setting.scenario.load.rate_of(zone) for zone in setting.scenario.zones)
