"""Simulated runs of the hardened engine under faults: what notices a mutant that no test does.

``python -m mutants.runs <file> <before> [kind:seed …]`` makes the runs in this process and writes a line of JSON for
each, as it ends. ``before`` is such a file of the same runs without a mutant; the first run that blames it is the last.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from zonelab.scenarios.fault_draws.swarm import drawn
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.spec.queue_settings import QueueMode
from zonelab.scenarios.spec.reading import load_scenario
from zonelab.scenarios.spec.scenario import Scenario

ANY_OF_ONE_ZONE = str(FaultClass.ANY_OF_ONE_ZONE)
EVERY_FAULT = "every-fault"
SEEDS = 50
MESSAGES = 60

TASKS = tuple(f"{kind}:{seed}" for kind in (ANY_OF_ONE_ZONE, EVERY_FAULT) for seed in range(1, SEEDS + 1))
"""100 runs: every seed once with the faults of one zone, and once with faults of every kind.

The former come first: what fails there is proof, since hardened mode withstands them. Of the latter it does not
withstand all, and a mutant may be noticed only because the run takes another course.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What one run showed. ``error``: how the lab failed, if it did."""

    task: str
    valid: bool | str | None
    violated: Mapping[str, int]
    error: str | None

    def blames(self, before: "Shown") -> str | None:
        """Why this run tells of a mutant, if ``before`` is the same run without it."""
        if self.error is not None and before.error is None:
            return f"lab error: {self.error}"
        if self.valid is False and before.valid is True:
            return ", ".join(sorted(self.violated)) or "not valid"
        return None


def scenario_of(task: str) -> Scenario:
    kind, _, seed = task.partition(":")
    if kind == EVERY_FAULT:
        base = load_scenario(EVERY_FAULT)
        queue = base.queue.model_copy(update={"mode": QueueMode.HARDENED})
        return drawn(base.model_copy(update={"queue": queue}), seed=int(seed), messages=MESSAGES)
    return scenario_of_class(FaultClass(kind), level=Level.DC_QUORUM, mode=EngineMode.HARDENED, seed=int(seed))


def shown_by(task: str) -> Shown:
    try:
        trial = attempt(scenario_of(task))
    except Exception as error:  # whatever a mutant makes of the lab is told, not raised
        return Shown(task=task, valid=None, violated={}, error=f"{type(error).__name__}: {error}")
    verdict = trial.verdict
    return Shown(
        task=task,
        valid=None if verdict is None else verdict.valid,
        violated={} if verdict is None else {str(name): verdict.counts[name] for name in trial.violated},
        error=trial.run.record.error if verdict is None else None,
    )


def read_shown(path: Path) -> dict[str, Shown]:
    """What was written whole, by task."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    found = [Shown(**json.loads(line)) for line in lines if line.endswith("}")]
    return {one.task: one for one in found}


def main(arguments: Sequence[str]) -> None:
    path, tasks = Path(arguments[0]), arguments[2:] or TASKS
    before = read_shown(Path(arguments[1]))
    with path.open("a", encoding="utf-8") as file:
        for task in tasks:
            shown = shown_by(task)
            file.write(json.dumps(asdict(shown)) + "\n")
            file.flush()
            if task in before and shown.blames(before[task]) is not None:
                return


if __name__ == "__main__":
    main(sys.argv[1:])
