"""Every mutant against tests and simulated runs: first what is known to kill it, then what may."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mutants.copies import Copy, SuiteError
from mutants.mutant import Mutant
from mutants.reach import Reach, kept, measure
from mutants.simulated import RUN, Simulations
from mutants.trials import INSIDE, run_tests

TESTS_S = 20.0
"""Time for the covering tests of one mutant, within limits."""

CHOSEN_S = 12.0
"""They are chosen until they take so long without a mutant; what is not over after ``TESTS_S`` may hang."""

SLOWER = 5
"""A mutant may make known killers so many times slower before they count as hanging."""

CHUNK = 500
"""So many tests on a command line."""

EVERYTHING = "tests"

Attempt = Callable[[Mutant, Copy], str | None]
"""What in the copy, which has the mutant in it, notices the mutant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """``killers``: what is known to kill each mutant, by id.

    ``limited``: within the time for one mutant. Without limits every covering test is run, known killers or not, and
    for what survives every test inside. ``reach_path``: a folder that keeps which tests run which lines.
    """

    mutants: Sequence[Mutant]
    killers: Mapping[str, Sequence[str]]
    limited: bool
    reach_path: Path | None = None


class Suite:
    """One invocation, with a worker for each of ``copies``."""

    def __init__(self, plan: Plan, copies: Sequence[Copy], *, told: Callable[[str], None]) -> None:
        self._plan = plan
        self._copies = copies
        self._told = told
        self._killed: dict[str, str] = {}
        self._seconds: Mapping[str, float] = {}
        self._sound: dict[str, bool] = {}
        self._reach = Reach()
        self.simulations = Simulations()

    def killed(self) -> dict[str, str]:
        """What killed each mutant, by id; survivors are not in it. Raises ``SuiteError`` and ``CatalogueError``."""
        known = [mutant for mutant in self._plan.mutants if self._plan.killers.get(mutant.id)]
        self._check_killers(known)
        if any(killer.startswith(RUN) for mutant in known for killer in self._plan.killers[mutant.id]):
            self._prepare_runs()
        self._phase(self._by_known, known)
        wanted = [one for one in self._alive() if not (self._plan.limited and self._plan.killers.get(one.id))]
        if wanted:
            self._measure()
            self._phase(self._by_covering, wanted)
        if self._alive():
            self._prepare_runs()
            self._phase(self.simulations.noticed_by, self._alive())
        if not self._plan.limited:
            self._phase(self._by_any, self._alive())
        return self._killed

    def _alive(self) -> list[Mutant]:
        return [mutant for mutant in self._plan.mutants if mutant.id not in self._killed]

    def _phase(self, attempt: Attempt, mutants: Sequence[Mutant]) -> None:
        idle: SimpleQueue[Copy] = SimpleQueue()
        for copy in self._copies:
            idle.put(copy)

        def judge(mutant: Mutant) -> str | None:
            copy = idle.get()
            try:
                return self._judged(attempt, mutant, copy)
            finally:
                idle.put(copy)

        with ThreadPoolExecutor(len(self._copies)) as pool:
            try:
                for mutant, killer in zip(mutants, pool.map(judge, mutants), strict=True):
                    self._told(f"{mutant.id}: {killer or 'alive'}")
                    if killer is not None:
                        self._killed[mutant.id] = killer
            except BaseException:
                self._copies[0].processes.end_all()
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    def _judged(self, attempt: Attempt, mutant: Mutant, copy: Copy) -> str | None:
        while True:
            with copy.planted(mutant):
                killer = attempt(mutant, copy)
            if killer is None or killer.startswith(RUN) or killer == EVERYTHING:
                return killer
            if killer in self._seconds or self._passes(killer, copy):
                return killer

    def _passes(self, test: str, copy: Copy) -> bool:
        """Whether ``test`` passes by itself without a mutant. One that does not is not asked again."""
        if test not in self._sound:
            self._sound[test] = run_tests(copy, [test], first_failure=True).passed
            if not self._sound[test]:
                self._told(f"{test} fails by itself without a mutant, and is left out")
        return self._sound[test]

    def _check_killers(self, known: Sequence[Mutant]) -> None:
        """What kills a mutant passes without it."""
        killers = dict.fromkeys(killer for mutant in known for killer in self._plan.killers[mutant.id])
        tests = [killer for killer in killers if not killer.startswith(RUN)]
        if tests:
            self._told(f"{len(tests)} killing tests without a mutant …")
            run = run_tests(self._copies[0], tests, first_failure=False)
            if not run.passed:
                raise SuiteError(run.unsound)
            self._seconds = run.seconds

    def _prepare_runs(self) -> None:
        if not self.simulations.prepared:
            self._told("simulated runs without a mutant …")
            self.simulations.prepare(self._copies[0])

    def _measure(self) -> None:
        path = self._plan.reach_path
        reach = None if path is None else kept(path)
        if reach is None:
            self._told("which tests run which lines …")
            reach = measure(self._copies[0], jobs=len(self._copies), keep=path)
        self._reach = reach

    def _by_known(self, mutant: Mutant, copy: Copy) -> str | None:
        killers = self._plan.killers[mutant.id]
        tests = [killer for killer in killers if not killer.startswith(RUN)]
        if tests:
            unhurried_s = sum(self._seconds.get(test, 0.0) for test in tests)
            killer = _killer(copy, tests, timeout_s=TESTS_S + SLOWER * unhurried_s)
            if killer is not None:
                return killer
        runs = [killer for killer in killers if killer.startswith(RUN)]
        return self.simulations.noticed_in(runs, copy) if runs else None

    def _by_covering(self, mutant: Mutant, copy: Copy) -> str | None:
        tests = [test for test in self._reach.tests_of(mutant, copy.root) if self._sound.get(test, True)]
        if self._plan.limited:
            tests = _fastest(tests, self._reach.seconds)
        for begin in range(0, len(tests), CHUNK):
            part = tests[begin : begin + CHUNK]
            unhurried_s = 0.0 if self._plan.limited else sum(self._reach.seconds[test] for test in part)
            killer = _killer_alone(copy, part, timeout_s=TESTS_S + SLOWER * unhurried_s)
            if killer is not None:
                return killer
        return None

    def _by_any(self, mutant: Mutant, copy: Copy) -> str | None:
        left_out = [f"--deselect={test}" for test, sound in self._sound.items() if not sound]
        run = run_tests(copy, [EVERYTHING], first_failure=True, options=("-m", INSIDE, *left_out))
        return None if run.passed else next(iter(run.failed), EVERYTHING)


def _fastest(tests: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    chosen, total_s = [], 0.0
    for test in tests:
        total_s += seconds[test]
        if total_s > CHOSEN_S:
            break
        chosen.append(test)
    return chosen


def _killer_alone(copy: Copy, tests: Sequence[str], *, timeout_s: float) -> str | None:
    """As ``_killer``, but a test that fails only after others, which may be their doing, is passed over."""
    left = list(tests)
    while left and (killer := _killer(copy, left, timeout_s=timeout_s)) is not None:
        if len(left) == 1 or not run_tests(copy, [killer], first_failure=True, timeout_s=timeout_s).passed:
            return killer
        left.remove(killer)
    return None


def _killer(copy: Copy, tests: Sequence[str], *, timeout_s: float) -> str | None:
    """The test of ``tests`` that notices the mutant in ``copy``, be it that it does not end."""
    run = run_tests(copy, tests, first_failure=True, timeout_s=timeout_s)
    if run.passed:
        return None
    suspects = [name for name in (*run.failed, run.running) if name in tests]
    if suspects and run.running is None:
        return suspects[0]
    # Cut short, which may be for other reasons than the mutant; or pytest itself fails, or finds a test no more.
    for suspect in suspects or tests:
        if not run_tests(copy, [suspect], first_failure=True, timeout_s=timeout_s).passed:
            return suspect
    return None
