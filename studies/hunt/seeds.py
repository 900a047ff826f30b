"""Hunting: many seeds of one scenario, each run in simulation, in as many processes as wanted.

What a seed shows depends on the seed alone, so it does not matter which process runs it, nor in which order.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

from zonelab.cluster.sim.trace import first_difference
from zonelab.scenarios.fault_draws.swarm import drawn
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.trial import Judged, Trial, attempt, attempt_accesses
from zonelab.scenarios.spec.reading import identity_of
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.many_runs.environment import Environment
from zonelab.studies.many_runs.run_all import IN_THIS_PROCESS, run_all
from zonelab.studies.many_runs.state import Codec, RunState
from zonelab.studies.many_runs.task import Finished, Task, Workers

REPEAT_EVERY = 20
"""One seed in so many, beginning with 1, is run twice, and the two runs are compared: 5 %."""

MESSAGES = 100
STATE_NAME = "outcomes.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What the run of one seed showed.

    ``violated``: cases by forbidden class. ``valid``: as in a verdict; None if the lab failed, and ``error`` says why.
    ``difference``: the first event in which a second run of the seed differed, if it was run twice (``repeated``) and
    did. ``faults``, ``pushed``, ``events``: how many there were; ``virtual_ns``: how long the run was, in ns of its
    time. ``trace_hash`` is the same of two runs that did the same.

    Example::

        outcome = hunt("steady", runs=2, messages=5).outcomes[0]
        print(outcome.seed, outcome.valid, dict(outcome.violated), outcome.repeated)  # 1 True {} True
    """

    seed: int
    valid: bool | str | None
    violated: Mapping[str, int]
    faults: int
    pushed: int
    virtual_ns: int
    events: int
    trace_hash: str
    repeated: bool = False
    difference: str | None = None
    error: str | None = None

    @classmethod
    def of(cls, seed: int, trial: Trial[Judged]) -> "Outcome":
        """Returns what ``trial``, the run of ``seed``, showed."""
        scenario, verdict, record = trial.scenario, trial.verdict, trial.run.record
        return cls(
            seed=seed,
            valid=None if verdict is None else verdict.valid,
            violated={} if verdict is None else {str(name): verdict.counts[name] for name in verdict.violated},
            faults=len(scenario.faults),
            pushed=0 if verdict is None else verdict.begun,
            virtual_ns=max((end for _, end in record.phases.values()), default=0),
            events=trial.run.trace.events,
            trace_hash=trial.run.trace_hash,
            error=record.error,
        )

    @classmethod
    def failed(cls, seed: int, error: str) -> "Outcome":
        """Returns the outcome of a ``seed`` that could not be run to its end; ``error`` says why."""
        return cls(
            seed=seed, valid=None, violated={}, faults=0, pushed=0, virtual_ns=0, events=0, trace_hash="", error=error
        )


OUTCOMES = Codec(to_json=asdict, from_json=lambda told: Outcome(**told))
"""How outcomes are kept in a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HuntTarget:
    """What a hunt runs with every seed: a scenario, how many messages each run pushes, and the queue."""

    scenario: Scenario
    messages: int = MESSAGES
    make_queue: MakeQueue = queue_under_test

    def environment(self) -> Environment:
        return Environment.here(factories=self.scenario.own_functions)

    def experiment(self) -> str:
        """Differs whenever a seed could show something else in the same environment."""
        queue = f"{self.make_queue.__module__}.{getattr(self.make_queue, '__qualname__', self.make_queue)}"
        return sha256(f"{queue}\n{self.messages}\n{identity_of(self.scenario)}".encode()).hexdigest()[:16]

    def fingerprint(self) -> str:
        """Differs whenever a seed could show something else."""
        return self.environment().naming(self.experiment())

    def run_of(self, seed: int) -> Scenario:
        return drawn(self.scenario, seed=seed, messages=self.messages)


def hunt_seed(target: HuntTarget, seed: int) -> Outcome:
    """Make the run of ``seed``, some of them twice, and tell what it showed."""
    scenario = target.run_of(seed)
    if scenario.workload is not None:
        return _hunted(seed, partial(attempt_accesses, scenario))
    return _hunted(seed, partial(attempt, scenario, make_queue=target.make_queue))


def _hunted(seed: int, run: Callable[..., Trial[Judged]]) -> Outcome:
    repeated = seed % REPEAT_EVERY == 1
    trial = run(keep_trace=repeated)
    outcome = Outcome.of(seed, trial)
    if not repeated:
        return outcome
    difference, again = None, run(keep_trace=True)
    if not trial.equals(again):
        difference = first_difference(trial.run.trace, again.run.trace) or "the histories differ, the events do not"
    return replace(outcome, repeated=True, difference=difference)


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunted:
    """The outcomes, by seed. ``complete`` is False if Ctrl-C ended it; ``known``: so many were there before."""

    outcomes: tuple[Outcome, ...]
    complete: bool
    known: int


def hunt_state(target: HuntTarget, directory: Path) -> RunState[Outcome]:
    """The outcomes so far, in ``directory``. Raises ``OSError``, or ``NotAccepted`` if another hunt writes there."""
    return RunState(directory / STATE_NAME, OUTCOMES, environment=target.environment(), experiment=target.experiment())


def hunt(
    target: HuntTarget,
    seeds: Sequence[int],
    *,
    state: RunState[Outcome],
    workers: Workers = IN_THIS_PROCESS,
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> Hunted:
    """Run every seed that ``state`` does not have yet, and call ``on_outcome`` with what it showed.

    Raises ``ManyRunsFailed``.
    """
    done = run_all(
        partial(hunt_seed, target),
        [Task(target.scenario.name, seed, seed) for seed in seeds],
        workers=workers,
        environment=target.environment(),
        state=state,
        on_finished=lambda finished: on_outcome(_outcome_of(finished)),
    )
    failed = [Outcome.failed(seed, error) for (_, seed), error in done.failures.items()]
    ordered = sorted([*done.results.values(), *failed], key=lambda outcome: outcome.seed)
    return Hunted(outcomes=tuple(ordered), complete=done.complete, known=done.known)


def _outcome_of(finished: Finished[Outcome]) -> Outcome:
    return finished.result or Outcome.failed(finished.key[1], finished.error or "")
