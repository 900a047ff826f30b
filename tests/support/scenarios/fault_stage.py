"""A fault on a simulated cluster, begun and ended by hand, and short runs in virtual time with faults."""

from typing import Any

from support.scenarios.sim_runs import run_in_memory, small

from zonelab.analysis.checkers.verdict import Verdict
from zonelab.analysis.message_classes import MessageClass
from zonelab.analysis.runs.history import FAULTS, OPERATIONS
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.votes.levels import Level
from zonelab.scenarios.faults.fault import Stage as FaultStage
from zonelab.scenarios.faults.schedule import PlannedFault, plan_faults
from zonelab.scenarios.run.simulated import settings_of
from zonelab.scenarios.run_files.tables import FAULTS_NAME, OPERATIONS_NAME, MemoryTables

MS = 1_000_000
ZONES = ("a", "b", "c")
LOAD = {"duration_s": 2, "rate_per_s": 40}


class Stage:
    """A cluster of three zones, and the one fault of its scenario."""

    def __init__(self, *, persistence: str = "aof-no", **fault: Any) -> None:
        self.scenario = small(load=LOAD, persistence=persistence, faults=[{"at_s": 0.5, "for_s": 1, **fault}])
        self.cluster = SimCluster(ZONES, settings_of(self.scenario))
        self.runtime = self.cluster.runtime
        self.runtime.run_until_complete(self.cluster.start())
        place = FaultStage(targets=self.scenario, testbed=self.cluster)
        self.fault: PlannedFault = plan_faults(self.scenario.faults, place)[0]

    def begin(self) -> None:
        self.runtime.run_until_complete(self.fault.action.begin())

    def end(self) -> None:
        self.runtime.run_until_complete(self.fault.action.end())

    def pass_ms(self, duration_ms: int) -> None:
        self.runtime.run(for_ns=duration_ms * MS)

    def write(self, zone: str = "a") -> None:
        connection = self.cluster.connection(zone, Level.DC_ONE)
        self.runtime.run_until_complete(connection.execute(("SET", "k", "v")))

    def cut_links(self) -> list[str]:
        return [f"{source}>{target}" for (source, target), link in self.cluster.links.items() if link.cut_mode]


def ran(**changes: Any) -> tuple[list[dict[str, Any]], Verdict]:
    """The operations and the verdict of a run that went to its end."""
    done, tables, verdict = run_in_memory(small(**changes))
    assert (done.record.status, done.record.error) == ("complete", None)
    return rows(tables, OPERATIONS_NAME), verdict


def rows(tables: MemoryTables, name: str) -> list[dict[str, Any]]:
    """Of a fault that has ended the row of its end alone."""
    schema = {OPERATIONS_NAME: OPERATIONS, FAULTS_NAME: FAULTS}[name]
    found: list[dict[str, Any]] = tables(name, schema).batch(None).to_pylist()
    return list({row["fault"]: row for row in found}.values()) if name == FAULTS_NAME else found


def violated(verdict: Verdict) -> set[MessageClass]:
    return {name for name in verdict.forbid if verdict.counts[name]}


def latencies_ms(operations: list[dict[str, Any]], f: str, zone: str | None = None) -> list[float]:
    return sorted(
        (row["time_ns"] - row["invoke_ns"]) / MS
        for row in operations
        if row["f"] == f and row["type"] == "ok" and zone in (None, row["zone"])
    )
