"""Search of shrinking, whatever the clients use: try smaller runs, and keep what still fails in the same way.

Every candidate is a whole scenario that is run and judged like any other, so what is left is a run in its own right.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.checkers.verdict import class_named
from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.faults.fault import Changes
from zonelab.scenarios.run.trial import Trial
from zonelab.scenarios.run_files.directory import program_fingerprint
from zonelab.scenarios.spec.rules import problems
from zonelab.scenarios.spec.scenario import KnownResult, PushOperation, Scenario, ToldAccess
from zonelab.studies.shrink.ddmin import minimal_part

RUNS_MAX = 1_000
"""A shrink ends after so many runs with what it has."""

_SHORTEST_S = 0.001

Value = TypeVar("Value")


class NotFailing(Exception):
    """There is nothing to shrink, for the reason in the message."""


OnSmaller = Callable[[int, Scenario], None]
"""Called at each success with how many runs were made so far, and what is left."""


def ignore(runs: int, scenario: Scenario) -> None:
    """An ``OnSmaller`` that does nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shrunk:
    """``trial`` is the smallest run found. ``bounded``: the search ended at its limit, there may be a smaller run."""

    trial: Trial
    violation: CaseClass
    runs: int
    bounded: bool

    @property
    def scenario(self) -> Scenario:
        """Return the scenario of the run for replays, with its violations and trace hash recorded in it."""
        violated = tuple(map(class_named, self.trial.violated))
        program = program_fingerprint(own=self.trial.scenario.own_functions)
        found = KnownResult(trace_hash=self.trial.run.trace_hash, violated=violated, program=program)
        return self.trial.scenario.model_copy(update={"found": found})


class Reduction:
    """The search: ``best`` is the smallest failing run so far. Raises ``NotFailing`` if the first does not fail."""

    def __init__(
        self,
        scenario: Scenario,
        violation: CaseClass,
        *,
        attempt: Callable[[Scenario], Trial],
        runs_max: int,
        on_smaller: OnSmaller,
    ) -> None:
        self.violation = violation
        self._attempt = attempt
        self._runs_max = runs_max
        self._on_smaller = on_smaller
        self._seen: dict[str, None] = {}
        self.runs = 1
        self.bounded = False
        self.best = attempt(scenario)
        if violation not in self.best.violated:
            shown = ", ".join(self.best.violated) or "nothing"
            raise NotFailing(f"the run violates {shown}, not {violation}")

    @property
    def scenario(self) -> Scenario:
        return self.best.scenario

    @property
    def shrunk(self) -> Shrunk:
        return Shrunk(trial=self.best, violation=self.violation, runs=self.runs, bounded=self.bounded)

    def repeat(self, *passes: Callable[[], None]) -> None:
        """Pass after pass, until none of them makes the run any smaller."""
        before = None
        while before != self.scenario and not self.bounded:
            before = self.scenario
            for one in passes:
                one()

    def fewer_faults(self) -> None:
        minimal_part(self.scenario.faults, lambda faults: self.holds(changed(self.scenario, faults=faults)))

    def fewer_operations(self) -> None:
        minimal_part(operations_of(self.scenario), lambda kept: self.holds(with_operations(self.scenario, kept)))

    def settle(self, candidates: Callable[[Scenario], Iterator[Scenario]]) -> None:
        """Take the first candidate that still fails, again and again, until none does."""
        while any(self.holds(candidate) for candidate in candidates(self.scenario)):
            pass

    def holds(self, candidate: Scenario) -> bool:
        """Return whether the candidate fails in the same way; if so it is the best from now on."""
        key = candidate.model_dump_json()
        if candidate == self.scenario or key in self._seen or problems(candidate):
            return False
        if self.runs >= self._runs_max:
            self.bounded = True
            return False
        self.runs += 1
        trial = self._attempt(candidate)
        self._seen[key] = None
        holds = self.violation in trial.violated
        if holds:
            self.best = trial
            self._on_smaller(self.runs, candidate)
        return holds


def operations_of(scenario: Scenario) -> tuple[Any, ...]:
    """Return what the clients do, one by one: accesses if there is a workload, else pushes. Empty if it is drawn."""
    part = scenario.load if scenario.workload is None else scenario.workload
    return part.operations or ()


def changed(scenario: Scenario, **changes: Any) -> Scenario:
    return scenario.model_copy(update=changes)


def with_load(scenario: Scenario, **changes: Any) -> Scenario:
    return changed(scenario, load=scenario.load.model_copy(update=changes))


def with_workload(scenario: Scenario, **changes: Any) -> Scenario:
    assert scenario.workload is not None, "only a scenario with a workload has one"
    return changed(scenario, workload=scenario.workload.model_copy(update=changes))


def with_operations(scenario: Scenario, operations: tuple[PushOperation | ToldAccess, ...]) -> Scenario:
    change = with_load if scenario.workload is None else with_workload
    return change(scenario, operations=operations)


def plainer_values(value: Value, plain: tuple[Value, ...]) -> tuple[Value, ...]:
    """Those of ``plain`` that are plainer than ``value``: all before it, the plainest first."""
    return plain[: plain.index(value)] if value in plain else plain


def _faults_changed(scenario: Scenario, changes_of: Callable[[AnyFault], Iterator[Changes]]) -> Iterator[Scenario]:
    for index, fault in enumerate(scenario.faults):
        for changes in changes_of(fault):
            faults = list(scenario.faults)
            faults[index] = fault.model_copy(update=changes)
            yield changed(scenario, faults=tuple(faults))


def less_chance(scenario: Scenario) -> Iterator[Scenario]:
    """Faults that hit all messages, and not some that are drawn: others, whenever an operation has gone."""
    return _faults_changed(scenario, lambda fault: fault.hits_all())


def plainer_faults(scenario: Scenario) -> Iterator[Scenario]:
    return _faults_changed(scenario, lambda fault: fault.plainer())


def plainer_operations(scenario: Scenario, changes_of: Callable[[Any], Iterator[dict[str, Any]]]) -> Iterator[Scenario]:
    """One operation changed, and all in the order of their times."""
    operations = operations_of(scenario)
    for index, operation in enumerate(operations):
        for changes in changes_of(operation):
            others = list(operations)
            others[index] = operation.model_copy(update=changes)
            yield with_operations(scenario, tuple(sorted(others, key=lambda one: one.at_ms)))


def earlier(operation: PushOperation | ToldAccess) -> Iterator[dict[str, Any]]:
    for at_ms in dict.fromkeys((0.0, float(operation.at_ms // 2), float(operation.at_ms // 1))):
        if at_ms < operation.at_ms:
            yield {"at_ms": at_ms}


def lower_times(scenario: Scenario) -> Iterator[Scenario]:
    """Everything earlier by the same time, and a load that ends with what happens last."""
    operations, faults = operations_of(scenario), scenario.faults
    begins_s = [operation.at_ms / 1000 for operation in operations] + [fault.at_s for fault in faults]
    for part in (1, 2, 4):
        by_s = round(min(begins_s, default=0.0) / part, 3)
        if by_s > 0:
            yield _earlier(scenario, by_s)
    ends_s = [operation.at_ms / 1000 + 0.001 for operation in operations]
    ends_s += [fault.at_s + fault.for_s for fault in faults]
    end_s = round(max(ends_s, default=_SHORTEST_S), 3) + _SHORTEST_S
    if end_s < scenario.load.duration_s:
        yield with_load(scenario, duration_s=round(end_s, 3))


def _earlier(scenario: Scenario, by_s: float) -> Scenario:
    operations = tuple(
        operation.model_copy(update={"at_ms": max(0.0, operation.at_ms - by_s * 1000)})
        for operation in operations_of(scenario)
    )
    faults = tuple(
        fault.model_copy(update={"at_s": max(0.0, round(fault.at_s - by_s, 3))}) for fault in scenario.faults
    )
    return changed(with_operations(scenario, operations), faults=faults)
