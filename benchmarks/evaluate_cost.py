"""What ``zonelab evaluate`` costs beside as many bare hunted runs, in processor time of one process, in turns.

    python benchmarks/evaluate_cost.py [--turns 5] [--runs 104] [--file benchmarks/rollout.yaml]

A turn evaluates a rollout with so many runs of each setting, from nothing to its page, and then makes each of these
runs with the same scenario and seed as a hunt makes it: run, judged in memory, its outcome kept in a file. At most 1.15
times as much is wanted. A ratio within a turn hardly depends on what else the machine does.
"""

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from zonelab.analysis.observation import Observation
from zonelab.app.verbs.evaluate import run_evaluation
from zonelab.scenarios.run.trial import attempt
from zonelab.studies.evaluate.budget import Budget
from zonelab.studies.evaluate.evaluation import Evaluation
from zonelab.studies.evaluate.rollout import Rollout
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.run_all import run_all
from zonelab.studies.many_runs.state import RunState
from zonelab.studies.many_runs.task import Key, RunTask


@dataclass(frozen=True)
class Bare:
    """A run as ``hunt_seed`` makes one that is not repeated."""

    rollout: Rollout

    def __call__(self, which: tuple) -> Observation:
        setting, cell, seed = which
        return attempt(self.rollout.run(setting, cell, seed)).observation()


def made(rollout: Rollout, runs: int, first: int, folder: Path) -> list[Key]:
    """Evaluate, and tell which runs that took."""
    done = run_evaluation(rollout, budget=Budget(runs=runs), first_seed=first, runs=folder, command="evaluate_cost")
    evaluation = Evaluation(rollout, first_seed=first)
    with evaluation.experiment.state(done.directory) as state:
        return list(state.results)


def bare(rollout: Rollout, keys: list[Key], folder: Path) -> None:
    cells = {
        f"{setting.name}, {cell}": (index, cell)
        for index, setting in enumerate(rollout.settings)
        for cell in rollout.year.cells
    }
    tasks = [RunTask(name, seed, (*cells[name], seed)) for name, seed in keys]
    here = Environment.here()
    with RunState(folder / "bare.jsonl", environment=here) as state:
        run_all(Bare(rollout), tasks, environment=here, state=state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--runs", type=int, default=104, help="of each setting")
    parser.add_argument("--file", default=str(Path(__file__).with_name("rollout.yaml")))
    asked = parser.parse_args()
    rollout = Rollout.load(asked.file)
    ratios = []
    for turn in range(asked.turns):
        with TemporaryDirectory(prefix="zonelab-cost-") as folder:
            begin_s = time.process_time()
            keys = made(rollout, asked.runs, 1 + 10_000 * turn, Path(folder))
            middle_s = time.process_time()
            bare(rollout, keys, Path(folder))
            ours, theirs = middle_s - begin_s, time.process_time() - middle_s
        ratios.append(ours / theirs)
        print(
            f"turn {turn + 1}: {len(keys):,} runs, {ours:.1f} s and {theirs:.1f} s bare: {ratios[-1]:.3f}", flush=True
        )
    print(f"median {statistics.median(ratios):.3f} times ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
