"""Throughput limits of any settings, each with the same seeds, and what they say beside each other."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import exp, log
from pathlib import Path
from typing import Any

from analysis.statistics import mean_interval
from scenarios.errors import NotAccepted
from scenarios.limit.search import PRECISION, Limit, Searching
from scenarios.many_runs.environment import Environment
from scenarios.many_runs.run_all import IN_THIS_PROCESS, AllRuns, run_all
from scenarios.many_runs.state import Codec, RunState
from scenarios.many_runs.task import Task, Workers
from scenarios.spec.reading import dump_scenario
from scenarios.sweep.settings import Setting

RESULTS_NAME = "results.jsonl"

_CODEC = Codec(to_json=asdict, from_json=lambda told: Limit(**told))


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitRow:
    """Of one setting, a second, all zones together. ``found``: how many seeds have a limit; of the others the largest
    run kept up. ``given_per_s``: the rate of the scenario. ``value_per_s``: None if no seed was searched.
    """

    setting: str
    seeds: int
    found: int
    given_per_s: float
    value_per_s: float | None
    low_per_s: float | None
    high_per_s: float | None
    behind: Mapping[str, int]
    failures: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "behind": dict(self.behind), "failures": list(self.failures)}

    @property
    def told(self) -> str:
        """The highest rate at which zones keep up, with its interval, as the table shows it."""
        if self.value_per_s is None:
            return "–"
        if self.found < self.seeds:
            return f"more than {_rate(self.value_per_s)}"
        return f"{_rate(self.value_per_s)} ({_rate(self.low_per_s)} to {_rate(self.high_per_s)})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The search for every setting. Raises ``NotAccepted`` if a load cannot be scaled."""

    settings: tuple[Setting, ...]

    def __post_init__(self) -> None:
        for setting in self.settings:
            load = setting.scenario.load
            if not any(load.rate_of(zone) for zone in setting.scenario.zones):
                raise NotAccepted(f"{setting.name}: load.rate_per_s: got 0; accepted: a rate, which the search changes")

    def environment(self) -> Environment:
        own = (name for setting in self.settings for name in setting.scenario.own_functions)
        return Environment.here(factories=list(own))

    def experiment(self) -> str:
        """Differs whenever a setting does."""
        texts = [f"{setting.name}\n{dump_scenario(setting.scenario)}" for setting in self.settings]
        return sha256("\n".join(["limit", *texts]).encode()).hexdigest()[:16]

    def fingerprint(self, environment: Environment) -> str:
        return sha256(f"{environment.fingerprint}\n{self.experiment()}".encode()).hexdigest()[:12]

    def state(self, directory: Path, environment: Environment, *, name: str = RESULTS_NAME) -> RunState[Limit]:
        """Raises ``OSError``, or ``NotAccepted`` if another search writes there."""
        return RunState(directory / name, _CODEC, environment=environment, experiment=self.experiment())

    def run(
        self,
        seeds: Sequence[int],
        *,
        environment: Environment,
        state: RunState[Limit],
        workers: Workers = IN_THIS_PROCESS,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> AllRuns[Limit]:
        """Every setting with each of ``seeds`` that ``state`` does not have yet. Raises ``ManyRunsFailed``."""
        tasks = [
            Task(setting.name, seed, (index, seed)) for seed in seeds for index, setting in enumerate(self.settings)
        ]
        searching = Searching(tuple(setting.scenario for setting in self.settings))
        return run_all(searching, tasks, workers=workers, environment=environment, state=state, progress=progress)

    def rows(self, done: AllRuns[Limit]) -> tuple[LimitRow, ...]:
        return tuple(self._row(setting, done) for setting in self.settings)

    def _row(self, setting: Setting, done: AllRuns[Limit]) -> LimitRow:
        scenario = setting.scenario
        limits = [limit for (name, _), limit in sorted(done.results.items()) if name == setting.name]
        value, low, high = _interval([limit.value_per_s for limit in limits])
        return LimitRow(
            setting=setting.name,
            seeds=len(limits),
            found=sum(limit.above_per_s is not None for limit in limits),
            given_per_s=sum(scenario.load.rate_of(zone) for zone in scenario.zones),
            value_per_s=value,
            low_per_s=low,
            high_per_s=high,
            behind=Counter(limit.behind for limit in limits if limit.behind is not None),
            failures=tuple(
                f"seed {seed}: {why}" for (name, seed), why in done.failures.items() if name == setting.name
            ),
        )


def _interval(values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Geometric mean and 95 % interval over seeds (Student, of logarithms), wider by half a step of the search."""
    if not values:
        return None, None, None
    logs = [log(value) for value in values]
    middle, step = sum(logs) / len(logs), log(PRECISION) / 2
    interval = mean_interval(logs)
    low, high = (middle, middle) if interval is None else (interval.low, interval.high)
    return exp(middle), exp(low - step), exp(high + step)


def _rate(per_s: float | None) -> str:
    return "–" if per_s is None else f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:.3g}"
