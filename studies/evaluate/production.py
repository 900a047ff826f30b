"""Figures of a rollout in production, such as an evaluation predicts, of the lab's own run directories."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from zonelab.analysis.observation import Observation
from zonelab.analysis.rates.objectives import CASES, COMMANDS, UNAVAILABLE, Figure
from zonelab.analysis.rates.outcomes import times_s
from zonelab.analysis.rates.prediction import quantile_s
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.stages import Stage, made_in_turn, unheard
from zonelab.scenarios.errors import NotAccepted
from zonelab.scenarios.spec.reading import RESOLVED_NAME, load_scenario
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.traces import by_content
from zonelab.studies.evaluate.one_run import measured_run
from zonelab.studies.evaluate.rollout import Rollout

ALWAYS = ("p50(push)", "p99(push)", "p50(lease)", "p99(lease)", "p50(ack)", "p99(ack)", "losses", "duplicates")
"""Figures that are compared whatever the objectives are."""

_FREE = ("name", "about", "arm", "seed", "faults", "found", "evaluate", "drain", "checks", "simulation")
"""Parts of a scenario that may be others than in the rollout."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenFigure:
    """The figure was between ``low`` and ``high``, in seconds or cases a message, of ``size`` messages or operations.

    The two differ where a histogram knows no better. ``lacking``: why there is none.
    """

    low: float = 0.0
    high: float = 0.0
    size: float = 0.0
    lacking: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Production:
    """``seconds``: how long the stretch of time was. ``setting``: which one was there, by its name."""

    setting: str
    seconds: float
    seen: Mapping[Figure, SeenFigure]


def comparable(rollout: Rollout) -> list[Figure]:
    """Return the figures that a history and a prediction both have, those of the objectives among them."""
    evaluate = rollout.evaluate
    wanted = [one.figure for one in evaluate.objectives if one.condition is None]
    figures = dict.fromkeys([*map(Figure.parsed, ALWAYS), Figure.parsed(UNAVAILABLE), *wanted, *evaluate.prefer])
    return [one for one in figures if is_comparable(one)]


def is_comparable(figure: Figure) -> bool:
    """Return whether it is one of any stretch of time, and not of a year or a mean."""
    of_time = not figure.as_share and not figure.a_year
    return figure.percentile is not None or (of_time and figure.name in (*CASES, UNAVAILABLE, COMMANDS))


def of_histories(rollout: Rollout, directories: Sequence[Path], *, stage: Stage = unheard) -> Production:
    """Return what these runs show together. Raises ``RunError``, or ``NotAccepted`` if one is of another rollout."""
    settings = {_setting_of(rollout, one) for one in directories}
    if len(settings) > 1:
        raise NotAccepted(f"--history: got runs of {', '.join(sorted(settings))}; accepted: of one setting")
    runs = made_in_turn(stage, "runs", [partial(measured_run, one) for one in directories])
    return Production(
        setting=settings.pop(),
        seconds=sum(_load_s(one) for one in directories),
        seen={figure: _seen(figure, runs) for figure in comparable(rollout)},
    )


def _load_s(directory: Path) -> float:
    begin_ns, end_ns = RunDirectory.open(directory).info.phases["load"]
    return (end_ns - begin_ns) / 1e9


def _seen(figure: Figure, runs: Sequence[Observation]) -> SeenFigure:
    if figure.operation is not None:
        times = np.concatenate([times_s(run, figure.operation) for run in runs])
        if not times.size:
            return SeenFigure(lacking="no run has one")
        value, size = quantile_s(times, figure.percentile or 0.0), float(times.size)
    else:
        names = CASES.get(figure.name, ())
        cases = sum(sum(run.counts.get(name, 0) for name in names) + run.numbers.get(figure.name, 0.0) for run in runs)
        size = float(sum(run.begun for run in runs))
        if not size:
            return SeenFigure(lacking="no message was pushed")
        value = cases if figure.name == UNAVAILABLE else cases / size
    return SeenFigure(low=value, high=value, size=size)


def _setting_of(rollout: Rollout, directory: Path) -> str:
    run = _plain(load_scenario(str(directory / RESOLVED_NAME)))
    differences = {one.name: list(_differences(run, _plain(one.scenario))) for one in rollout.settings}
    nearest = min(differences, key=lambda name: len(differences[name]))
    if differences[nearest]:
        raise NotAccepted(f"{directory}: of another rollout: {differences[nearest][0]}")
    return nearest


def _plain(scenario: Scenario) -> dict[str, Any]:
    document = by_content(scenario.model_dump(mode="json", exclude=set(_FREE)))
    del document["load"]["duration_s"]
    return dict(document)


def _differences(run: Any, own: Any, path: str = "") -> Iterator[str]:
    if isinstance(run, dict) and isinstance(own, dict):
        for name in run | own:
            yield from _differences(run.get(name), own.get(name), f"{path}.{name}" if path else str(name))
    elif run != own:
        yield f"{path} is {run}, in the file {own}"
