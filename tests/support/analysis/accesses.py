"""Runs of registers, sets, locks, counters and lists made by hand, in memory and as files of a run directory."""

import json
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from zonelab.analysis.checkers.consistency.anomalies import FORBIDDEN_OF
from zonelab.analysis.checkers.consistency.consistency import check_accesses
from zonelab.analysis.checkers.consistency.section import ConsistencySection
from zonelab.analysis.runs.accesses import FINAL_VALUES, VALUES
from zonelab.analysis.runs.history import OPERATIONS, History
from zonelab.analysis.runs.info import FORMAT, RunInfo
from zonelab.analysis.runs.segments import table_in
from zonelab.analysis.runs.tables import MemoryTable
from zonelab.analysis.workloads import WorkloadKind


@dataclass
class _Done:
    f: str
    at: float
    end: float
    zone: str
    client: int
    type: str | None
    values: dict[str, Any]


@dataclass
class Story:
    """Operations in any order, told in ms of run time; ``took`` is how long each needs."""

    kind: WorkloadKind
    forbid: tuple[str, ...] | None = None
    budget: int = 200_000
    status: str = "complete"
    drained: bool = True
    unread: tuple[str, ...] = ()
    done: list[_Done] = field(default_factory=list)
    rest: list[tuple[str, str, int, str]] | None = None

    def add(
        self,
        f: str,
        at: float,
        *,
        took: float = 1,
        zone: str = "a",
        client: int = 0,
        type: str | None = "ok",
        key: str = "k",
        **values: Any,
    ) -> "Story":
        """``type`` None: nothing is recorded but the attempt. ``values``: columns of ``VALUES``."""
        self.done.append(_Done(f, at, at + took, zone, client, type, {"key": key, **values}))
        return self

    def write(self, value: str, at: float, **options: Any) -> "Story":
        return self.add("write", at, argument=value, **options)

    def read(self, value: str | None, at: float, **options: Any) -> "Story":
        return self.add("read", at, result=value, **options)

    def at_rest(self, key: str = "k", **held: str) -> "Story":
        """What each zone holds, its values separated by spaces."""
        rows = [(zone, key, place, value) for zone, text in held.items() for place, value in enumerate(text.split())]
        self.rest = [*(self.rest or []), *rows]
        return self

    def verdict(self) -> ConsistencySection:
        return check_accesses(_Told(self))

    def counts(self) -> dict[str, int]:
        return {name: count for name, count in self.verdict().counts.items() if count}

    def info(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "zonelab_version": "0",
            "scenario": "told",
            "level": "DC_QUORUM",
            "seed": 1,
            "started_utc": "2023-11-14T22:13:20Z",
            "epoch_ns": 0,
            "status": self.status,
            "drained": self.drained,
            "unread_zones": list(self.unread),
            "queue": {"engine": "dyno", "shards": {"a": "a", "b": "b", "c": "c"}},
            "workload": {
                "kind": self.kind,
                "forbid": list(FORBIDDEN_OF[self.kind] if self.forbid is None else self.forbid),
                "budget_configurations": self.budget,
            },
        }

    def record(self, operations: Any, values: Any) -> None:
        """Write the events in the order of time, a begin before an end of the same time, and the values."""
        history, ops = History(operations), {}
        events = [(one.at, 0, place) for place, one in enumerate(self.done)]
        events += [(one.end, 1, place) for place, one in enumerate(self.done) if one.type is not None]
        for at, ended, place in sorted(events):
            one, time_ns = self.done[place], round(at * 1_000_000)
            if ended:
                history.complete(ops[place], time_ns=time_ns, type=one.type, error=one.values.get("error"))
            else:
                process = f"client-{one.zone}-{one.client}"
                ops[place] = history.invoke(time_ns=time_ns, process=process, zone=one.zone, f=one.f)
                values.append({**one.values, "op_id": ops[place]})
        history.close()
        values.close()

    def directory(self, path: Path) -> Path:
        """The story as a run directory."""
        (path / "history").mkdir(parents=True)
        (path / "run.json").write_text(json.dumps(self.info()))
        (path / "scenario.yaml").write_text("name: told\n")
        self.record(
            table_in(path, "operations", OPERATIONS),
            table_in(path, "values", VALUES),
        )
        if self.rest is not None:
            with closing(table_in(path, "final_values", FINAL_VALUES)) as table:
                for row in self.rest:
                    table.append_values(row)
        return path


class _Told:
    """``zonelab.analysis.runs.accesses.AccessRun`` of a story."""

    def __init__(self, story: Story) -> None:
        self.info = RunInfo.model_validate(story.info())
        self._operations, self._values = MemoryTable(OPERATIONS), MemoryTable(VALUES)
        story.record(self._operations, self._values)
        self._rest = None
        if story.rest is not None:
            self._rest = MemoryTable(FINAL_VALUES)
            for row in story.rest:
                self._rest.append_values(row)

    def operations(self, columns, *, batch_rows):
        yield self._operations.batch(columns)

    def table(self, name, schema):

        table = self._rest if name == "final_values" else self._values
        return None if table is None else pa.Table.from_batches([table.batch()])
