"""Operations of a simulated run in memory, as the arithmetic over them needs it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from support.scenarios.sim_runs import run_in_memory

from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables
from zonelab.scenarios.spec.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Done:
    """One operation on one message that has ended; ``kind``: ok, fail or info."""

    f: str
    kind: str
    message_id: str
    begin_ns: int
    end_ns: int
    process: str
    lease_end_ms: int | None


def ended(tables: MemoryTables) -> list[Done]:
    """In the order in which they ended."""
    names = ["f", "type", "message_id", "invoke_ns", "time_ns", "process", "lease_end_ms"]
    columns = tables.tables[OPERATIONS_NAME].batch(names).to_pydict()
    rows: Any = zip(*(columns[name] for name in names), strict=True)
    return [
        Done(f, kind, message_id, begin_ns, end_ns, process, lease_end_ms)
        for f, kind, message_id, begin_ns, end_ns, process, lease_end_ms in rows
        if kind != "invoke" and message_id is not None
    ]


def run_ended(scenario: Scenario) -> list[Done]:
    _, tables, _ = run_in_memory(scenario)
    return ended(tables)


def run_completed(scenario: Scenario) -> list[Done]:
    """What ended well."""
    return [one for one in run_ended(scenario) if one.kind == "ok"]


def deliveries(done: list[Done]) -> Counter[str]:
    """How often each message was delivered."""
    return Counter(one.message_id for one in done if (one.f, one.kind) == ("pop", "ok"))
