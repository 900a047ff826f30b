"""Hunting: many seeds of one scenario, each run in simulation, in as many processes as wanted.

What a seed shows depends on the seed alone, so it does not matter which process runs it, nor in which order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from zonelab.analysis.observation import Observation
from zonelab.cluster.sim.trace import first_difference
from zonelab.scenarios.fault_draws.swarm import drawn
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.spec.reading import identity_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.many_runs.experiment import Experiment
from zonelab.studies.many_runs.task import RunTask

REPEAT_EVERY = 20
"""One seed in so many, beginning with 1, is run twice, and the two runs are compared: 5 %."""

MESSAGES = 100


FAULTS = "faults"
EVENTS = "events"
VIRTUAL_NS = "virtual_ns"
TWICE = "run twice"
SAME = "same twice"
"""Numbers of a run: its faults, its events, its length in ns of its own time, and 1 if it was made twice, and if both
were the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HuntTarget:
    """Target of a hunt, which runs with every seed: a scenario, how many messages each run pushes, and the queue."""

    scenario: Scenario
    messages: int = MESSAGES
    make_queue: MakeQueue = queue_under_test

    def experiment(self, seeds: Sequence[int]) -> Experiment[int]:
        """Return the experiment that runs each of ``seeds``."""
        name = self.scenario.name
        queue = f"{self.make_queue.__module__}.{getattr(self.make_queue, '__qualname__', self.make_queue)}"
        return Experiment(
            verb="hunt",
            name=name,
            measure=partial(hunt_seed, self),
            tasks=[RunTask(name, seed, seed) for seed in seeds],
            decided_by=(queue, str(self.messages), identity_of(self.scenario)),
            factories=self.scenario.own_functions,
        )

    def run_of(self, seed: int) -> Scenario:
        return drawn(self.scenario, seed=seed, messages=self.messages)


def hunt_seed(target: HuntTarget, seed: int) -> Observation:
    """Make the run of ``seed``, some of them twice, and return what it showed.

    The problem of a run that is not the same twice is the first event that differs.
    """
    scenario = target.run_of(seed)
    return _observed(seed, partial(attempt, scenario, make_queue=target.make_queue))


def is_broken(observation: Observation) -> bool:
    """Return whether the lab itself failed, or the run was not the same twice."""
    return observation.valid is None or (TWICE in observation.numbers and SAME not in observation.numbers)


def _observed(seed: int, run: Callable[..., Trial]) -> Observation:
    twice = seed % REPEAT_EVERY == 1
    trial = run(keep_trace=twice)
    observation, phases = trial.observation(), trial.run.record.phases
    numbers = {
        FAULTS: len(trial.scenario.faults),
        EVENTS: trial.run.trace.events,
        VIRTUAL_NS: max((end for _, end in phases.values()), default=0),
    }
    if not twice:
        return replace(observation, numbers=numbers)
    again = run(keep_trace=True)
    if trial.equals(again):
        return replace(observation, numbers={**numbers, TWICE: 1, SAME: 1})
    difference = first_difference(trial.run.trace, again.run.trace) or "the histories differ, the events do not"
    return replace(observation, numbers={**numbers, TWICE: 1}, problem=difference)
