"""Time that a prediction of staleness takes, beside sorting as many numbers as it draws.

``python benchmarks/pbs.py [--trials 1000000] [--turns 5]`` draws a million writes and reads on three replicas for each
model of the paper. It prints medians of seconds, by the clock and of a processor, for one quorum and for all nine with
Dynomite's levels and Elasticsearch beside them, each with its quantiles, and the ratio to ``numpy.sort`` of as many
floats as delays are drawn (twelve a trial).
"""

import argparse
import json
import os
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter, process_time

import numpy as np
from environment import environment

from zonelab.analysis.pbs.messages import Model
from zonelab.analysis.pbs.models import MODELS
from zonelab.analysis.pbs.prediction import predict, rules_of
from zonelab.analysis.pbs.published import PROBABILITY, REPLICAS, STEPS_MS
from zonelab.analysis.pbs.rules import Quorum, ReplicaRule

LEGS = 4


def took_s(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock, and of a processor, which a busy machine leaves nearly alone."""
    clock, processor = perf_counter(), process_time()
    work()
    return perf_counter() - clock, process_time() - processor


def prediction(model: Model, rules: Sequence[ReplicaRule], trials: int, seed: int) -> None:
    predict(
        model,
        rules,
        replicas=REPLICAS,
        at_ms=[0.0],
        probability=PROBABILITY,
        step_ms=STEPS_MS[model.name],
        trials=trials,
        seed=seed,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    print(json.dumps(environment()))
    every = range(1, REPLICAS + 1)
    wanted: dict[str, list[ReplicaRule]] = {
        "R=W=1": [Quorum(1, 1)],
        "all settings": rules_of([Quorum(r, w) for r in every for w in every], replicas=REPLICAS),
    }
    numbers = np.random.default_rng(1).random(LEGS * REPLICAS * options.trials)
    times: dict[str, list[tuple[float, float]]] = {}
    for turn in range(options.turns):
        times.setdefault("numpy.sort", []).append(took_s(lambda: np.sort(numbers)))
        for name, model in MODELS.items():
            for what, rules in wanted.items():
                took = took_s(lambda m=model, r=rules, s=turn: prediction(m, r, options.trials, s))
                times.setdefault(f"{name}, {what}", []).append(took)
    sorting_s = statistics.median(processor_s for _, processor_s in times["numpy.sort"])
    for name, found in times.items():
        clock_s, processor_s = (statistics.median(each) for each in zip(*found, strict=True))
        print(
            f"{name:<24} {clock_s:6.2f} s, {processor_s:6.2f} s processor, {processor_s / sorting_s:5.2f} x numpy.sort"
        )
    print("load average", *(f"{load:.1f}" for load in os.getloadavg()))


if __name__ == "__main__":
    main()
