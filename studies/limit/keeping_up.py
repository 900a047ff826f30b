"""Whether one simulated run kept up with its load: nothing was left behind that an open loop goes on asking for.

Over the last half of the load as many pushes must be confirmed as begin, as many messages delivered for the first time
as become due, and as many acks confirmed as deliveries come; of a workload, as many operations as begin. What is behind
by 5 % and by ten cases has not kept up, the bounds of ``zonelab.analysis.summary.overload``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.info import NANOSECONDS_PER_MS
from zonelab.analysis.summary.overload import CASES_MIN, EXCESS
from zonelab.scenarios.clients.recorder import NO_LEASE, Outcome
from zonelab.scenarios.run.simulated import SimulatedRun, simulate
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables, rows
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.tasks import Halt

_OF_QUEUE = ("push", "pop", "ack")


class _LoadOnly:
    """A ``Watcher`` that ends the run with its load: what would come then says nothing more."""

    halt: Halt

    def phase(self, name: str, bound_s: float | None) -> None:
        if name == "heal":
            self.halt.interrupt()

    def progress(self, elapsed_s: float, counts: Mapping[tuple[str, Outcome], int]) -> None:
        pass

    @contextmanager
    def heed(self, halt: Halt) -> Iterator[None]:
        self.halt = halt
        yield


def behind(scenario: Scenario) -> str | None:
    """What ``scenario`` was behind with: pushes, deliveries, acks, or the operations of its workload; None: nothing.

    Raises ``RuntimeError`` if the lab failed.
    """
    watcher, tables = _LoadOnly(), MemoryTables()
    done = simulate(scenario, tables, watcher=watcher, on_signals=watcher.heed)
    if "load" not in done.record.phases:
        raise RuntimeError(done.record.error or "the run ended before its load")
    for name, (asked, served) in _counts(done, tables).items():
        if asked > EXCESS * served and asked - served >= CASES_MIN:
            return name
    return None


def _counts(done: SimulatedRun, tables: MemoryTables) -> Mapping[str, tuple[int, int]]:
    """In the last half of the load: how much was asked for, and how much was done."""
    begin_ns, end_ns = done.record.phases["load"]
    window = range((begin_ns + end_ns) // 2, end_ns)
    asked, served, seen = dict.fromkeys(_OF_QUEUE, 0), dict.fromkeys(_OF_QUEUE, 0), set()
    other = [0, 0]
    for row in rows(tables, OPERATIONS_NAME, OPERATIONS.names):
        f, works, now = row["f"], row["type"] == "ok", row["time_ns"] in window
        if f not in _OF_QUEUE:
            other[0] += row["type"] == "invoke" and now
            other[1] += works and now
        elif f == "push":
            asked["push"] += row["type"] == "invoke" and now
            served["push"] += works and now
            due_ns = (row["due_ms"] or 0) * NANOSECONDS_PER_MS - done.epoch_ns
            asked["pop"] += works and max(due_ns, row["time_ns"]) in window
        elif f == "pop" and works and row["message_id"] is not None:
            served["pop"] += now and row["message_id"] not in seen
            asked["ack"] += now
            seen.add(row["message_id"])
        elif f == "ack":
            served["ack"] += now and (works or row["error"] == NO_LEASE)
    if other[0]:
        return {"operations": (other[0], other[1])}
    return {name: (asked[f], served[f]) for name, f in (("pushes", "push"), ("deliveries", "pop"), ("acks", "ack"))}
