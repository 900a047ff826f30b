"""Shrinking: a failing simulated run made as small as it can be while it still violates the same class.

Every candidate is a whole scenario that is run and judged like any other, so what is left is a run in its own right.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from analysis.checkers.verdict import MessageClass
from cluster.sim.ties import TieBreak
from cluster.zone import Persistence
from scenarios.delta import minimal_part
from scenarios.files import program_fingerprint
from scenarios.queues import queue_under_test
from scenarios.rules import problems
from scenarios.runner import MakeQueue
from scenarios.spec import (
    AnyFault,
    ClockFault,
    ConsumerCrash,
    DuplicateFault,
    Found,
    Links,
    LossFault,
    Operation,
    PowerFailure,
    ProducerCrash,
    Scenario,
    Sharding,
    Simulation,
    SlowZone,
    SwizzleClog,
)
from scenarios.trial import Trial, attempt

RUNS_MAX = 1_000
"""A shrink ends after so many runs with what it has."""

_SHORTEST_S = 0.001
_CRASH_COMMANDS = 32
_CRASH_S = 0.5
_FACTOR_LEAST = 4.0
_NEARLY_ALL = 0.99
_LAGS = ("0", "constant:1ms", "constant:5ms")
_PROCESSING = "constant:1ms"

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shrunk:
    """``trial`` is the smallest run found. ``bounded``: the search ended at its limit, there may be a smaller run."""

    trial: Trial
    message_class: MessageClass
    runs: int
    bounded: bool

    @property
    def scenario(self) -> Scenario:
        """The run as a file that replays: what it shows is written into it."""
        found = Found(trace_hash=self.trial.run.trace_hash, violated=self.trial.violated, program=program_fingerprint())
        return self.trial.scenario.model_copy(update={"found": found})


class NotFailing(Exception):
    """There is nothing to shrink, for the reason in the message."""


def shrink(
    scenario: Scenario,
    message_class: MessageClass,
    *,
    make_queue: MakeQueue = queue_under_test,
    runs_max: int = RUNS_MAX,
    told: Callable[[int, Scenario], None] = lambda runs, scenario: None,
) -> Shrunk:
    """Reduce ``scenario``, whose load is told message by message. ``told`` hears of each success.

    Raises ``NotFailing``. The same arguments give the same result.
    """
    if scenario.load.operations is None:
        raise NotFailing("the load is drawn by a rate; accepted: load.operations, as in the files that a hunt writes")
    search = _Search(scenario.model_copy(update={"found": None}), message_class, make_queue, runs_max, told)
    search.reduce()
    return Shrunk(trial=search.best, message_class=message_class, runs=search.runs, bounded=search.bounded)


class _Search:
    def __init__(
        self,
        scenario: Scenario,
        message_class: MessageClass,
        make_queue: MakeQueue,
        runs_max: int,
        told: Callable[[int, Scenario], None],
    ) -> None:
        self._class = message_class
        self._make_queue = make_queue
        self._runs_max = runs_max
        self._told = told
        self._seen: dict[str, None] = {}
        self.runs = 1
        self.bounded = False
        self.best = attempt(scenario, make_queue=make_queue)
        if message_class not in self.best.violated:
            shown = ", ".join(self.best.violated) or "nothing"
            raise NotFailing(f"the run violates {shown}, not {message_class}")

    @property
    def scenario(self) -> Scenario:
        return self.best.scenario

    def reduce(self) -> None:
        """Pass after pass, until none of them makes the run any smaller."""
        before = None
        while before != self.scenario and not self.bounded:
            before = self.scenario
            self._fewer_faults()
            self._settle(_plainer_settings)  # while there are many operations, any of which may show the violation
            self._settle(_less_chance)
            self._only_offenders()
            self._fewer_operations()
            for candidates in (_plainer_faults, _plainer_operations, _lower_times):
                self._settle(candidates)

    def _fewer_faults(self) -> None:
        minimal_part(self.scenario.faults, lambda faults: self._holds(_with(self.scenario, faults=faults)))

    def _fewer_operations(self) -> None:
        operations = self.scenario.load.operations or ()
        minimal_part(operations, lambda kept: self._holds(_with_operations(self.scenario, kept)))

    def _only_offenders(self) -> None:
        """Try the messages that the verdict names by themselves, with every crash point.

        Messages that merely push the crash to its command cannot be left out one by one.
        """
        verdict = self.best.verdict
        assert verdict is not None
        names = [offender.message_id for offender in verdict.offenders[self._class]]
        operations = self.scenario.load.operations or ()
        offending = tuple(operation for operation in operations if operation.id in names)
        for kept in (offending[:1], offending):
            if len(kept) < len(operations) and any(
                map(self._holds, _crash_points(_with_operations(self.scenario, kept)))
            ):
                return

    def _settle(self, candidates: Callable[[Scenario], Iterator[Scenario]]) -> None:
        """Take the first candidate that still fails, again and again, until none does."""
        while any(self._holds(candidate) for candidate in candidates(self.scenario)):
            pass

    def _holds(self, candidate: Scenario) -> bool:
        """Whether the candidate violates the class; if so it is the best from now on."""
        key = candidate.model_dump_json()
        if candidate == self.scenario or key in self._seen or problems(candidate):
            return False
        if self.runs >= self._runs_max:
            self.bounded = True
            return False
        self.runs += 1
        trial = attempt(candidate, make_queue=self._make_queue)
        self._seen[key] = None
        holds = self._class in trial.violated
        if holds:
            self.best = trial
            self._told(self.runs, candidate)
        return holds


def _with(scenario: Scenario, **changes: Any) -> Scenario:
    return scenario.model_copy(update=changes)


def _with_load(scenario: Scenario, **changes: Any) -> Scenario:
    return _with(scenario, load=scenario.load.model_copy(update=changes))


def _with_operations(scenario: Scenario, operations: tuple[Operation, ...]) -> Scenario:
    return _with_load(scenario, operations=operations)


def _plainer_settings(scenario: Scenario) -> Iterator[Scenario]:
    consumers = scenario.consumers
    for per_zone in dict.fromkeys((1, consumers.per_zone // 2, consumers.per_zone - 1)):
        if 0 < per_zone < consumers.per_zone:
            yield _with(scenario, consumers=consumers.model_copy(update={"per_zone": per_zone}))
    for batch in dict.fromkeys((1, consumers.batch // 2)):
        if 0 < batch < consumers.batch:
            yield _with(scenario, consumers=consumers.model_copy(update={"batch": batch}))
    if consumers.processing != _PROCESSING:
        yield _with(scenario, consumers=consumers.model_copy(update={"processing": _PROCESSING}))
    for lag in _plainer(scenario.links.lag, _LAGS):
        yield _with(scenario, links=Links(lag=lag))
    if scenario.links.overrides:
        yield _with(scenario, links=Links(lag=scenario.links.lag))
    if scenario.queue.sharding is not Sharding.LOCAL_ONLY:
        yield _locally(scenario)
    if scenario.simulation.tie_break is not TieBreak.FIFO:
        yield _with(scenario, simulation=Simulation(tie_break=TieBreak.FIFO))
    if scenario.persistence is not Persistence.NONE:
        yield _with(scenario, persistence=Persistence.NONE)
    if scenario.load.payload_bytes:
        yield _with_load(scenario, payload_bytes=0)


def _plainer(value: T, plain: tuple[T, ...]) -> tuple[T, ...]:
    """Those of ``plain`` that are plainer than ``value``: all before it, the plainest first."""
    return plain[: plain.index(value)] if value in plain else plain


def _faults_changed(
    scenario: Scenario, changes_of: Callable[[AnyFault], Iterator[dict[str, Any]]]
) -> Iterator[Scenario]:
    for index, fault in enumerate(scenario.faults):
        for changes in changes_of(fault):
            faults = list(scenario.faults)
            faults[index] = fault.model_copy(update=changes)
            yield _with(scenario, faults=tuple(faults))


def _less_chance(scenario: Scenario) -> Iterator[Scenario]:
    """Faults that hit all messages, and not some that are drawn: others, whenever an operation has gone."""
    return _faults_changed(scenario, _for_all)


def _for_all(fault: AnyFault) -> Iterator[dict[str, Any]]:
    if isinstance(fault, DuplicateFault) and fault.share < 1:
        yield {"share": 1.0}
    elif isinstance(fault, LossFault) and fault.share < _NEARLY_ALL:
        yield {"share": _NEARLY_ALL}


def _plainer_faults(scenario: Scenario) -> Iterator[Scenario]:
    return _faults_changed(scenario, _fault_changes)


def _crash_points(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario; then with each crash of a consumer or producer at each of its first commands.

    Last with the first message pushed at once in the zone of that program, and the commands counted from then on.
    """
    yield scenario
    for index, fault in enumerate(scenario.faults):
        if isinstance(fault, ConsumerCrash | ProducerCrash):
            yield from _crashing(scenario, index, fault)
            first = (scenario.load.operations or ())[0]
            at_once = first.model_copy(update={"at_ms": 0.0, "delay_ms": 0, "zone": fault.zone})
            begun = fault.model_copy(update={"at_s": 0.0, "for_s": min(_CRASH_S, scenario.load.duration_s)})
            yield from _crashing(_locally(_with_operations(scenario, (at_once,))), index, begun)


def _locally(scenario: Scenario) -> Scenario:
    return _with(scenario, queue=scenario.queue.model_copy(update={"sharding": Sharding.LOCAL_ONLY}))


def _crashing(scenario: Scenario, index: int, fault: ConsumerCrash | ProducerCrash) -> Iterator[Scenario]:
    for at_command in range(1, _CRASH_COMMANDS + 1):
        crash = fault.model_copy(update={"at_command": at_command})
        yield _with(scenario, faults=(*scenario.faults[:index], crash, *scenario.faults[index + 1 :]))


def _fault_changes(fault: AnyFault) -> Iterator[dict[str, Any]]:
    """Shorter at its end, shorter at its begin (which is also later), then less of it."""
    half_s = round(fault.for_s / 2, 3)
    if half_s >= _SHORTEST_S:
        yield {"for_s": half_s}
        yield {"for_s": half_s, "at_s": round(fault.at_s + fault.for_s - half_s, 3)}
    if isinstance(fault, ConsumerCrash | ProducerCrash) and fault.at_command is not None:
        yield {"at_command": None}
        if fault.at_command > 1:
            yield {"at_command": fault.at_command // 2}
            yield {"at_command": fault.at_command - 1}
    yield from _milder(fault)


def _milder(fault: AnyFault) -> Iterator[dict[str, Any]]:
    if isinstance(fault, PowerFailure) and fault.torn:
        yield {"torn": False}
    elif isinstance(fault, SlowZone) and fault.factor > _FACTOR_LEAST:
        yield {"factor": float(fault.factor // 2)}
    elif isinstance(fault, ClockFault):
        for name, value in (("drift_ppm", fault.drift_ppm), ("offset_ms", fault.offset_ms)):
            for less in dict.fromkeys((0, int(value / 2))):
                if less != value:
                    yield {name: less}
    elif isinstance(fault, DuplicateFault) and fault.after_ms:
        yield {"after_ms": float(fault.after_ms // 2)}
    elif isinstance(fault, SwizzleClog) and fault.order:
        yield {"order": 0}


def _plainer_operations(scenario: Scenario) -> Iterator[Scenario]:
    operations = scenario.load.operations or ()
    for index, operation in enumerate(operations):
        for changes in _operation_changes(operation):
            told = list(operations)
            told[index] = operation.model_copy(update=changes)
            yield _with_operations(scenario, tuple(sorted(told, key=lambda one: one.at_ms)))


def _operation_changes(operation: Operation) -> Iterator[dict[str, Any]]:
    if operation.priority:
        yield {"priority": 0}
    for delay_ms in dict.fromkeys((0, operation.delay_ms // 2)):
        if delay_ms < operation.delay_ms:
            yield {"delay_ms": delay_ms}
    for at_ms in dict.fromkeys((0.0, float(operation.at_ms // 2), float(operation.at_ms // 1))):
        if at_ms < operation.at_ms:
            yield {"at_ms": at_ms}


def _lower_times(scenario: Scenario) -> Iterator[Scenario]:
    """Everything earlier by the same time, and a load that ends with what happens last."""
    operations, faults = scenario.load.operations or (), scenario.faults
    begins_s = [operation.at_ms / 1000 for operation in operations] + [fault.at_s for fault in faults]
    for part in (1, 2, 4):
        by_s = round(min(begins_s, default=0.0) / part, 3)
        if by_s > 0:
            yield _earlier(scenario, by_s)
    ends_s = [operation.at_ms / 1000 + 0.001 for operation in operations]
    ends_s += [fault.at_s + fault.for_s for fault in faults]
    end_s = round(max(ends_s, default=_SHORTEST_S), 3) + _SHORTEST_S
    if end_s < scenario.load.duration_s:
        yield _with_load(scenario, duration_s=round(end_s, 3))


def _earlier(scenario: Scenario, by_s: float) -> Scenario:
    operations = tuple(
        operation.model_copy(update={"at_ms": max(0.0, operation.at_ms - by_s * 1000)})
        for operation in scenario.load.operations or ()
    )
    faults = tuple(
        fault.model_copy(update={"at_s": max(0.0, round(fault.at_s - by_s, 3))}) for fault in scenario.faults
    )
    return _with(_with_operations(scenario, operations), faults=faults)
