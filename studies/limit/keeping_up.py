"""Decides whether a simulated run kept up with its load: nothing was left behind that an open loop goes on asking for.

Over the last half of the load as many pushes must be confirmed as begin, as many messages delivered for the first time
as become due, and as many acks confirmed as deliveries come; of a workload, as many operations as begin. What is behind
by 5 % and by ten cases has not kept up, the bounds of ``zonelab.analysis.summary.overload``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from zonelab.analysis.measures import Mask, Nanoseconds, chosen, confirmed, delivers, having, ready_ns, works
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.summary.overload import CASES_MIN, EXCESS
from zonelab.scenarios.clients.recorder import Outcome
from zonelab.scenarios.run.simulated import SimulatedRun, simulate
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.tasks import Halt

_OF_QUEUE = ("push", "pop", "ack", "extend")


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
    """Return what ``scenario`` was behind with: pushes, deliveries, acks, operations of its workload, or None.

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
    """Return, for the last half of the load, how much was asked for, and how much was done."""
    begin_ns, end_ns = done.record.phases["load"]
    batch = tables(OPERATIONS_NAME, OPERATIONS).batch()

    def within(at_ns: Nanoseconds) -> Mask:
        return (at_ns >= (begin_ns + end_ns) // 2) & (at_ns < end_ns)

    now = within(batch["time_ns"].to_numpy())
    push, ack = having(batch, "f", "push"), having(batch, "f", "ack")
    begun, ok, delivered = having(batch, "type", "invoke") & now, confirmed(batch), delivers(batch)
    other = ~np.logical_or.reduce([having(batch, "f", name) for name in _OF_QUEUE])
    if (asked := _count(other & begun)) > 0:
        return {"operations": (asked, _count(other & ok & now))}
    ready = within(ready_ns(chosen(batch, push & ok), epoch_ns=done.epoch_ns))
    ids = chosen(batch, delivered)["message_id"].to_numpy(zero_copy_only=False)
    first = np.unique(ids.astype(str), return_index=True)[1]
    return {
        "pushes": (_count(push & begun), _count(push & ok & now)),
        "deliveries": (_count(ready), _count(now[delivered][first])),
        "acks": (_count(delivered & now), _count(ack & works(batch) & now)),
    }


def _count(mask: Mask) -> int:
    return int(np.count_nonzero(mask))
