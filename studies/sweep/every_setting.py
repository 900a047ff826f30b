"""Every setting with each of the same seeds: what sweeps and searches for limits have in common."""

from collections.abc import Callable, Sequence

from zonelab.analysis.observation import Observation
from zonelab.studies.many_runs.experiment import Experiment, Note, failures
from zonelab.studies.many_runs.task import RunTask
from zonelab.studies.sweep.settings import Setting, identities, own_functions


def every_setting(
    settings: Sequence[Setting],
    seeds: Sequence[int],
    *,
    verb: str,
    measure: Callable[[tuple[int, int]], Observation],
    beside: str,
    forecast: str | None,
    unit: str = "runs",
    note: Note = failures,
) -> Experiment[tuple[int, int]]:
    """Return the experiment that makes every setting with each of ``seeds``.

    ``measure`` gets the number of a setting and a seed. ``beside``: what decides results besides the settings.
    """
    return Experiment(
        verb=verb,
        name=settings[0].scenario.name,
        measure=measure,
        tasks=[RunTask(setting.name, seed, (index, seed)) for seed in seeds for index, setting in enumerate(settings)],
        decided_by=(*identities(settings), beside),
        factories=own_functions(settings),
        forecast=forecast,
        unit=unit,
        note=note,
    )
