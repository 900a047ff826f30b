"""Shrinking: a failing simulated run of a workload made as small as it can be while it still shows the same anomaly."""

from collections.abc import Callable, Iterator
from itertools import combinations
from operator import itemgetter
from typing import Any

from zonelab.analysis.checkers.consistency.anomalies import Anomaly
from zonelab.analysis.runs.accesses import VALUES, VALUES_NAME
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.cluster.sim.schedule import TieBreak
from zonelab.cluster.wiring.settings import Links
from zonelab.cluster.zone import Persistence
from zonelab.engine.units import NS_PER_MS
from zonelab.scenarios.run.trial import Trial, attempt
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, rows
from zonelab.scenarios.spec.replication import Replication
from zonelab.scenarios.spec.scenario import Scenario, ToldAccess
from zonelab.studies.shrink.search import (
    RUNS_MAX,
    OnSmaller,
    Reduction,
    Shrunk,
    changed,
    earlier,
    ignore,
    less_chance,
    lower_times,
    operations_of,
    plainer_faults,
    plainer_operations,
    plainer_values,
    with_load,
    with_operations,
    with_workload,
)

_LAGS = ("0", "constant:1ms", "constant:5ms", "constant:20ms", "constant:100ms")
_FAST, _SLOW = "constant:1ms", ("constant:20ms", "constant:5ms", "constant:100ms")
_NAMES = ("x", "y", "z")

Attempt = Callable[[Scenario], Trial]


def shrink_accesses(
    scenario: Scenario,
    anomaly: Anomaly,
    *,
    attempt: Attempt = attempt,
    runs_max: int = RUNS_MAX,
    on_smaller: OnSmaller = ignore,
) -> Shrunk:
    """Reduce ``scenario``, which has a workload. Operations that it draws are first listed one by one, as drawn.

    An ``anomaly`` that the workload does not forbid is forbidden in what is left, so that its verdict is about it.
    Raises ``NotFailing``. The same arguments give the same result.
    """
    whole = explicit_accesses(forbidding(changed(scenario, found=None), anomaly), attempt=attempt)
    search: Reduction = Reduction(whole, anomaly, attempt=attempt, runs_max=runs_max, on_smaller=on_smaller)
    search.repeat(
        search.fewer_faults,
        lambda: search.settle(_plainer_settings),  # while there are many operations, any of which may show it
        lambda: search.settle(less_chance),
        lambda: _only_offenders(search),
        search.fewer_operations,
        lambda: search.settle(plainer_faults),
        lambda: search.settle(lambda one: plainer_operations(one, lambda each: _operation_changes(one, each))),
        lambda: search.settle(lower_times),
        lambda: search.settle(_plainer_names),
    )
    return search.shrunk


def forbidding(scenario: Scenario, anomaly: Anomaly) -> Scenario:
    """``scenario``, invalid if ``anomaly`` occurs."""
    workload = scenario.workload
    assert workload is not None, "only a workload has anomalies"
    kept = anomaly in workload.forbidden
    return scenario if kept else with_workload(scenario, forbid=(*workload.forbidden, anomaly))


def explicit_accesses(scenario: Scenario, *, attempt: Attempt = attempt) -> Scenario:
    """The same run with its operations listed one by one, among them what each compare-and-set expected.

    Operations of a lockstep can begin at one instant; which of those is first may be drawn otherwise.
    """
    if scenario.workload is None or scenario.workload.operations is not None:
        return scenario
    listed = tuple(_performed(attempt(scenario)).values())
    duration_s = max([scenario.load.duration_s, *(one.at_ms / 1000 + 0.001 for one in listed)])
    silent = with_load(scenario, rate_per_s=0.0, duration_s=duration_s)
    return with_workload(silent, operations=listed, mix={}, lockstep_ms=None)


def _performed(trial: Trial) -> dict[int, ToldAccess]:
    """Every operation of a run by its ``op_id``, as the history has it, in the order of the times."""
    begin_ns = trial.run.record.phases["load"][0]
    values = {row["op_id"]: row for row in rows(trial.tables, VALUES_NAME, VALUES.names)}
    begun = [row for row in rows(trial.tables, OPERATIONS_NAME, OPERATIONS.names) if row["type"] == "invoke"]
    return {
        row["op_id"]: ToldAccess(
            at_ms=(row["time_ns"] - begin_ns) / NS_PER_MS,
            zone=row["zone"],
            client=int(row["process"].rpartition("-")[2]),
            f=row["f"],
            key=values[row["op_id"]]["key"],
            value=values[row["op_id"]]["argument"],
            expected=values[row["op_id"]]["expected"],
        )
        for row in sorted(begun, key=itemgetter("time_ns"))
    }


def _only_offenders(search: Reduction) -> None:
    """Try one case of the anomaly by itself: the operations that show it, or all of its key."""
    verdict = search.best.verdict
    assert verdict is not None
    case, performed = verdict.cases[search.violation][0], _performed(search.best)
    of_case = tuple(one for op, one in performed.items() if op in case.ops)
    of_key = tuple(one for one in performed.values() if one.key == case.key)
    for kept in (of_case, of_key):
        if 0 < len(kept) < len(performed) and search.holds(with_operations(search.scenario, kept)):
            return


def _plainer_settings(scenario: Scenario) -> Iterator[Scenario]:
    links = scenario.links
    if scenario.replication != Replication():
        yield changed(scenario, replication=Replication())
    for lag in plainer_values(links.lag, _LAGS):
        yield changed(scenario, links=Links(lag=lag))
    if links.lag not in _LAGS:
        yield from _constant_lags(scenario)
    if links.overrides:
        yield changed(scenario, links=Links(lag=links.lag))
    for link in links.overrides:
        fewer = {name: lag for name, lag in links.overrides.items() if name != link}
        yield changed(scenario, links=links.model_copy(update={"overrides": fewer}))
    if scenario.simulation.tie_break is not TieBreak.FIFO:
        yield changed(scenario, simulation=scenario.simulation.model_copy(update={"tie_break": TieBreak.FIFO}))
    # After a fault that kills a server, one that keeps nothing would be another fault: a wiped zone.
    of_files = any(fault.comes_back or fault.of_files for fault in scenario.faults)
    if scenario.persistence is not Persistence.NONE and not of_files:
        yield changed(scenario, persistence=Persistence.NONE)
    clients = max((one.client for one in operations_of(scenario)), default=0) + 1
    keys = len({one.key for one in operations_of(scenario)}) or 1
    if scenario.workload is not None and (scenario.workload.clients_per_zone, scenario.workload.keys) > (clients, keys):
        yield with_workload(scenario, clients_per_zone=clients, keys=keys)


def _constant_lags(scenario: Scenario) -> Iterator[Scenario]:
    """One or two links slower than the others, and nothing drawn.

    With drawn lags every operation that goes changes the lags of those after it, so that hardly any can go.
    """
    names = [f"{source}>{target}" for source, target in scenario.links_all]
    for slow in (*combinations(names, 1), *combinations(names, 2)):
        for lag in _SLOW:
            yield changed(scenario, links=Links(lag=_FAST, overrides=dict.fromkeys(slow, lag)))


def _operation_changes(scenario: Scenario, operation: ToldAccess) -> Iterator[dict[str, Any]]:
    """The same by a client that is there anyway, or to a key that is; a plain write; earlier."""
    first = operations_of(scenario)[0]
    if (operation.zone, operation.client) != (first.zone, first.client):
        yield {"zone": first.zone, "client": first.client}
    if operation.client:
        yield {"client": 0}
    if operation.key != first.key:
        yield {"key": first.key}
    if operation.f in ("cas", "create"):
        yield {"f": "write", "expected": None}
    yield from earlier(operation)


def _plainer_names(scenario: Scenario) -> Iterator[Scenario]:
    """Keys counted from 0, values named x, y, z; more of them are numbered."""
    operations = operations_of(scenario)
    keys = {key: str(number) for number, key in enumerate(dict.fromkeys(one.key for one in operations))}
    written = dict.fromkeys(one.value for one in operations if one.value is not None)
    values = {value: _name(number, len(written)) for number, value in enumerate(written)}
    renamed = tuple(
        one.model_copy(
            update={
                "key": keys[one.key],
                "value": values.get(one.value),
                "expected": values.get(one.expected, one.expected),
            }
        )
        for one in operations
    )
    if renamed != operations:
        yield with_operations(scenario, renamed)


def _name(number: int, of: int) -> str:
    return _NAMES[number] if of <= len(_NAMES) else f"v{number}"
