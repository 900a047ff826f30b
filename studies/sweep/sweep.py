"""A sweep: every setting with every seed, each setting compared with the first."""

from collections.abc import Sequence
from pathlib import Path

from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.run_all import AllRuns
from zonelab.studies.many_runs.where import HERE, Where
from zonelab.studies.reporting.forecast import forecast
from zonelab.studies.sweep.every_setting import every_setting
from zonelab.studies.sweep.one_run import SweepMeasure
from zonelab.studies.sweep.result import SweepResult
from zonelab.studies.sweep.rows import SweepRow, row_of
from zonelab.studies.sweep.settings import Setting


def sweep_of(
    settings: Sequence[Setting], seeds: Sequence[int], *, messages: int | None = None
) -> Experiment[tuple[int, int]]:
    """Return the experiment. ``messages``: each seed draws its faults and more, as in a hunt, and pushes about so many.

    Of runs that are drawn no forecast is known.
    """
    scenarios = tuple(setting.scenario for setting in settings)
    return every_setting(
        settings,
        seeds,
        verb="sweep",
        measure=SweepMeasure(scenarios=scenarios, messages=messages),
        beside=str(messages),
        forecast=None if messages is not None else forecast(scenarios, each=len(seeds)),
    )


def sweep_rows(settings: Sequence[Setting], done: AllRuns) -> tuple[SweepRow, ...]:
    """Return the results by setting, each compared with the first pair by pair."""
    found = done.by_setting()
    runs = [found.get(setting.name, {}) for setting in settings]
    return tuple(
        row_of(setting.name, mine, first=runs[0] if place else None)
        for place, (setting, mine) in enumerate(zip(settings, runs, strict=True))
    )


def run_sweep(
    settings: Sequence[Setting], *, seeds: range, messages: int | None, runs: Path, command: str, where: Where = HERE
) -> SweepResult:
    """Make the runs of a sweep. Raises as ``Experiment.conduct``."""
    return SweepResult.of(
        sweep_of(settings, seeds, messages=messages),
        lambda done, _: {"rows": sweep_rows(settings, done)},
        runs=runs,
        command=command,
        where=where,
    )
