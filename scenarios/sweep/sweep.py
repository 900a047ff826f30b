"""A sweep: every setting with every seed, going on with what is there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from scenarios.many_runs.environment import Environment
from scenarios.many_runs.run_all import IN_THIS_PROCESS, AllRuns, run_all
from scenarios.many_runs.state import Codec, RunState
from scenarios.many_runs.task import Task, Workers
from scenarios.spec.reading import dump_scenario
from scenarios.sweep.one_run import Sweeping, SweptRun
from scenarios.sweep.rows import Row, row_of
from scenarios.sweep.settings import Setting

RESULTS_NAME = "results.jsonl"

_CODEC = Codec(to_json=asdict, from_json=lambda told: SweptRun(**told))


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """``messages``: each seed draws its faults and more, as in a hunt, and pushes about so many; None: none draws."""

    settings: tuple[Setting, ...]
    messages: int | None = None

    @property
    def scenario(self) -> str:
        return self.settings[0].scenario.name

    def environment(self) -> Environment:
        own = (name for setting in self.settings for name in setting.scenario.own_functions)
        return Environment.here(factories=list(own))

    def experiment(self) -> str:
        """Differs whenever a setting or what it does with a seed does."""
        texts = [f"{setting.name}\n{dump_scenario(setting.scenario)}" for setting in self.settings]
        return sha256("\n".join([str(self.messages), *texts]).encode()).hexdigest()[:16]

    def fingerprint(self, environment: Environment) -> str:
        return sha256(f"{environment.fingerprint}\n{self.experiment()}".encode()).hexdigest()[:12]

    def state(self, directory: Path, environment: Environment) -> RunState[SweptRun]:
        """Raises ``OSError``, or ``NotAccepted`` if another sweep writes there."""
        return RunState(directory / RESULTS_NAME, _CODEC, environment=environment, experiment=self.experiment())

    def run(
        self,
        seeds: Sequence[int],
        *,
        environment: Environment,
        state: RunState[SweptRun],
        workers: Workers = IN_THIS_PROCESS,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> AllRuns[SweptRun]:
        """Every setting with each of ``seeds`` that ``state`` does not have yet. Raises ``ManyRunsFailed``."""
        scenarios = tuple(setting.scenario for setting in self.settings)
        tasks = [
            Task(setting.name, seed, (index, seed)) for seed in seeds for index, setting in enumerate(self.settings)
        ]
        sweeping = Sweeping(scenarios=scenarios, messages=self.messages)
        return run_all(sweeping, tasks, workers=workers, environment=environment, state=state, progress=progress)

    def rows(self, done: AllRuns[SweptRun]) -> tuple[Row, ...]:
        """The results by setting, each compared with the first pair by pair."""
        first = _of(done.results, self.settings[0])
        return tuple(
            row_of(
                setting.name,
                _of(done.results, setting),
                _of(done.failures, setting),
                first=first if setting is not self.settings[0] else None,
            )
            for setting in self.settings
        )


def _of(by_key: Mapping[tuple[str, int], Any], setting: Setting) -> dict[int, Any]:
    return {seed: value for (name, seed), value in sorted(by_key.items()) if name == setting.name}
