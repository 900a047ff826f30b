"""Hunting: many seeds of one scenario, each run in simulation, in as many processes as wanted.

What a seed shows depends on the seed alone, so it does not matter which process runs it, nor in which order.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Self

from cluster.sim.trace import first_difference
from scenarios.fault_draws.swarm import drawn
from scenarios.parallel import results
from scenarios.queues.catalogue import MakeQueue, queue_under_test
from scenarios.run.trial import Judged, Trial, attempt, attempt_accesses
from scenarios.run_files.directory import program_fingerprint
from scenarios.spec.reading import dump_scenario
from scenarios.spec.scenario import Scenario

REPEAT_EVERY = 20
"""One seed in so many, beginning with 1, is run twice, and the two runs are compared: 5 %."""

MESSAGES = 100
STATE_NAME = "outcomes.jsonl"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What the run of one seed showed.

    ``violated``: cases by forbidden class. ``valid``: as in a verdict; None if the lab failed, and ``error`` says why.
    ``difference``: the first event in which a second run of the seed differed, if it was run twice and did.
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
    def from_json(cls, text: str) -> Self:
        return cls(**json.loads(text))

    def to_json(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, kw_only=True, slots=True)
class HuntTarget:
    """What a hunt runs with every seed: a scenario, how many messages each run pushes, and the queue."""

    scenario: Scenario
    messages: int = MESSAGES
    make_queue: MakeQueue = queue_under_test

    def fingerprint(self) -> str:
        """Differs whenever a seed could show something else."""
        queue = f"{self.make_queue.__module__}.{getattr(self.make_queue, '__qualname__', self.make_queue)}"
        program = program_fingerprint(factory=self.scenario.queue.factory)
        text = f"{program}\n{queue}\n{self.messages}\n{dump_scenario(self.scenario)}"
        return sha256(text.encode()).hexdigest()[:12]

    def run_of(self, seed: int) -> Scenario:
        return drawn(self.scenario, seed=seed, messages=self.messages)


def hunt_seed(target: HuntTarget, seed: int) -> Outcome:
    scenario = target.run_of(seed)
    repeat = seed % REPEAT_EVERY == 1
    if scenario.workload is not None:
        return _outcome(seed, *_twice(partial(attempt_accesses, scenario), repeat=repeat))
    return _outcome(seed, *_twice(partial(attempt, scenario, make_queue=target.make_queue), repeat=repeat))


def _twice(run: Callable[..., Trial[Judged]], *, repeat: bool) -> tuple[Trial[Judged], str | None, bool]:
    """A run, how it differed from itself if it did, and whether it was repeated to see that."""
    trial = run(keep_trace=repeat)
    difference = None
    if repeat:
        again = run(keep_trace=True)
        if not trial.equals(again):
            difference = first_difference(trial.run.trace, again.run.trace) or "the histories differ, the events do not"
    return trial, difference, repeat


def _outcome(seed: int, trial: Trial[Judged], difference: str | None, repeat: bool) -> Outcome:  # noqa: FBT001
    scenario, verdict, record = trial.scenario, trial.verdict, trial.run.record
    return Outcome(
        seed=seed,
        valid=None if verdict is None else verdict.valid,
        violated={} if verdict is None else {str(name): verdict.counts[name] for name in verdict.violated},
        faults=len(scenario.faults),
        pushed=0 if verdict is None else verdict.begun,
        virtual_ns=max((end for _, end in record.phases.values()), default=0),
        events=trial.run.trace.events,
        trace_hash=trial.run.trace_hash,
        repeated=repeat,
        difference=difference,
        error=record.error,
    )


class HuntState:
    """The outcomes so far, one line of JSON each, so that a hunt that was broken off goes on where it was."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / STATE_NAME
        self.outcomes = {outcome.seed: outcome for outcome in self._read()}

    def add(self, outcome: Outcome) -> None:
        self.outcomes[outcome.seed] = outcome
        with self._path.open("a", encoding="utf-8") as file:
            file.write(outcome.to_json() + "\n")

    def _read(self) -> Iterator[Outcome]:
        """What was written whole; a last line without its end is of a seed that is run again."""
        if not self._path.exists():
            return
        whole = self._path.read_bytes().rpartition(b"\n")[0]
        self._path.write_bytes(whole + b"\n" if whole else b"")
        yield from map(Outcome.from_json, whole.decode().splitlines())


def hunt(
    target: HuntTarget, seeds: Sequence[int], *, jobs: int, state: HuntState, on_outcome: Callable[[Outcome], None]
) -> bool:
    """Run every seed that ``state`` does not have yet and call ``on_outcome`` with what it showed.

    False if Ctrl-C ended it before the last seed.
    """
    missing = [seed for seed in seeds if seed not in state.outcomes]
    with results(partial(hunt_seed, target), missing, jobs=jobs) as outcomes:
        try:
            for outcome in outcomes:
                state.add(outcome)
                on_outcome(outcome)
        except KeyboardInterrupt:
            return False
    return all(seed in state.outcomes for seed in seeds)
