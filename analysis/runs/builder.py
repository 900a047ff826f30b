"""Run directories made by hand, for tests, benchmarks and examples.

Everything is said in run time, in milliseconds from the start of the run; wall clocks follow from the run's epoch.
The files are written by the same writers as those of a real run.

>>> run = RunBuilder(Path("runs/example/1"))
>>> run.push("m1", at_ms=0, due_ms=100)
>>> pop = run.pop("m1", at_ms=90, took_ms=20, lease_end_ms=1110)
>>> run.ack("m1", pop, at_ms=120)
>>> run.write()
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from zonelab.analysis.runs.history import DEPTH, FAULTS, FINAL_STATE, HistoryWriter, MessageColumns, body_sum
from zonelab.analysis.runs.info import FORMAT
from zonelab.analysis.runs.segments import SEGMENTED, segments_of, table_in

EPOCH_MS = 1_700_000_000_000

Outcome = Literal["ok", "fail", "info"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pop:
    """Handle of a delivery; its number is known once the run is written."""

    number: int


@dataclass(kw_only=True, slots=True)
class _Operation:
    f: str
    zone: str
    begin_ms: float
    end_ms: float
    outcome: Outcome | None
    asked: tuple[MessageColumns, ...] = ()
    answered: tuple[MessageColumns, ...] = ()
    about: Pop | None = None
    intended_ms: float | None = None
    error: str | None = None
    process: str | None = None


@dataclass(slots=True)
class RunBuilder:
    """Collects operations in any order and writes them in the order of time."""

    path: Path
    level: str = "DC_ONE"
    seed: int = 1
    scenario: str = "synthetic"
    shards: Mapping[str, str] = field(default_factory=lambda: {zone: zone for zone in "abc"})
    load_ms: float = 10_000
    _operations: list[_Operation] = field(default_factory=list)
    _states: list[dict[str, Any]] = field(default_factory=list)
    _faults: list[dict[str, Any]] = field(default_factory=list)
    _depths: list[dict[str, Any]] = field(default_factory=list)

    def push(
        self,
        message_id: str,
        *,
        at_ms: float,
        took_ms: float = 1,
        due_ms: float | None = None,
        outcome: Outcome | None = "ok",
        zone: str = "a",
        shard: str = "a",
        priority: int = 0,
        intended_ms: float | None = None,
        error: str | None = None,
        body: str = "",
        **columns: Any,
    ) -> None:
        """Add a push. ``columns``: others of ``MessageColumns``, such as ``lease_ms``.

        ``due_ms`` defaults to the moment of the push, unless that is in doubt; ``outcome`` ``None``: nothing is
        recorded but the attempt.
        """
        due = _wall_ms(at_ms if due_ms is None else due_ms)
        asked = MessageColumns(message_id=message_id, shard=shard, priority=priority, body=body_sum(body), **columns)
        if outcome == "info" and due_ms is not None:
            asked = asked._replace(due_ms=due)
        self._add("push", zone, at_ms, took_ms, outcome, asked, asked._replace(due_ms=due), None, intended_ms, error)

    def pop(
        self,
        *message_ids: str,
        at_ms: float,
        took_ms: float = 1,
        lease_start_ms: float | None = None,
        leased_ms: float | None = None,
        lease_end_ms: float | None = None,
        outcome: Outcome | None = "ok",
        zone: str = "a",
        shard: str = "a",
        error: str | None = None,
        body: str = "",
        process: str | None = None,
        **columns: Any,
    ) -> Pop:
        """Add a pop that delivers ``message_ids`` under a lease of one second, written at some time within the pop.

        ``process``: the program that pops; one for each zone if not given. ``columns``: others of ``MessageColumns``.
        """
        done_ms = at_ms + took_ms
        rows = [
            MessageColumns(
                message_id=message_id,
                shard=shard,
                lease_start_ms=_wall_ms(at_ms if lease_start_ms is None else lease_start_ms),
                leased_ms=_wall_ms(done_ms if leased_ms is None else leased_ms),
                lease_end_ms=_wall_ms(at_ms + 1_000 if lease_end_ms is None else lease_end_ms),
                body=body_sum(body),
                **columns,
            )
            for message_id in message_ids
        ]
        pop = Pop(number=len(self._operations))
        self._operations.append(
            _Operation(
                f="pop",
                zone=zone,
                begin_ms=at_ms,
                end_ms=done_ms,
                outcome=outcome,
                answered=tuple(rows) if outcome == "ok" else (),
                about=pop,
                error=error,
                process=process,
            )
        )
        return pop

    def ack(
        self,
        message_id: str,
        pop: Pop,
        *,
        at_ms: float,
        took_ms: float = 1,
        outcome: Outcome | None = "ok",
        zone: str = "a",
        shard: str = "a",
        error: str | None = None,
    ) -> None:
        row = MessageColumns(message_id=message_id, shard=shard)
        self._add("ack", zone, at_ms, took_ms, outcome, row, row, pop, None, error)

    def extend(
        self,
        message_id: str,
        pop: Pop,
        *,
        at_ms: float,
        lease_end_ms: float,
        took_ms: float = 1,
        outcome: Outcome | None = "ok",
        zone: str = "a",
    ) -> None:
        """A consumer extends its lease on ``message_id``, which it got by ``pop``."""
        row = MessageColumns(message_id=message_id, shard=zone, lease_end_ms=_wall_ms(lease_end_ms))
        self._add("extend", zone, at_ms, took_ms, outcome, row, row, pop, None, None)

    def listed(self, message_id: str, *, zone: str, place: str = "queue", shard: str = "a") -> None:
        """At the end ``zone`` lists the id in ``place`` (queue, unack or dead) of ``shard``."""
        serving = self.shards[shard] == zone
        row = {"zone": zone, "shard": shard, "place": place, "message_id": message_id, "score": 0.0}
        self._states.append({**row, "serving": serving})

    def payload(self, message_id: str, *, zone: str) -> None:
        """At the end ``zone`` holds a payload of the id."""
        self._states.append({"zone": zone, "place": "payload", "message_id": message_id, "serving": False})

    def fault(self, kind: str, target: str, *, begin_ms: float, end_ms: float | None, colour: str = "#d55e00") -> None:
        """A fault of ``kind``; ``end_ms`` None: it lasts until the run's end."""
        end_ns = None if end_ms is None else _ns(end_ms)
        name = f"{len(self._faults)}:{kind} {target}"
        row = {"fault": name, "kind": kind, "target": target, "begin_ns": _ns(begin_ms), "end_ns": end_ns}
        self._faults.append({**row, "colour": colour, "detail": "{}"})

    def depth(self, zone: str, *, at_ms: float, waiting: int | None, leased: int | None) -> None:
        self._depths.append({"time_ns": _ns(at_ms), "zone": zone, "waiting": waiting, "leased": leased})

    def _add(
        self,
        f: str,
        zone: str,
        at_ms: float,
        took_ms: float,
        outcome: Outcome | None,
        asked: MessageColumns,
        answered: MessageColumns,
        about: Pop | None,
        intended_ms: float | None,
        error: str | None,
    ) -> None:
        self._operations.append(
            _Operation(
                f=f,
                zone=zone,
                begin_ms=at_ms,
                end_ms=at_ms + took_ms,
                outcome=outcome,
                asked=(asked,),
                answered=(answered if outcome == "ok" else asked,),
                about=about,
                intended_ms=intended_ms,
                error=error,
            )
        )

    def write(self, **changes: Any) -> Path:
        """Write the run directory; ``changes`` replace fields of ``run.json``. Returns its path."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._write_history()
        for name, schema, rows in (
            ("faults", FAULTS, self._faults),
            ("final_state", FINAL_STATE, self._states),
            ("depth", DEPTH, self._depths),
        ):
            with closing(table_in(self.path, name, schema)) as table:
                for row in rows:
                    table.append(row)
        (self.path / "scenario.yaml").write_text(f"name: {self.scenario}\nlevel: {self.level}\n", encoding="utf-8")
        (self.path / "run.json").write_text(json.dumps({**self._run_info(), **changes}, indent=2), encoding="utf-8")
        return self.path

    def _write_history(self) -> None:
        history = HistoryWriter(self.path)
        numbers: dict[int, int] = {}
        for time_ms, is_end, position in sorted(self._moments()):
            operation = self._operations[position]
            if not is_end:
                about = None if operation.f == "pop" else operation.about
                asked = _numbered(operation.asked, numbers[about.number] if about else None)
                numbers[position] = history.invoke(
                    time_ns=_ns(time_ms),
                    process=operation.process or f"{operation.f}-{operation.zone}",
                    zone=operation.zone,
                    f=operation.f,
                    intended_ns=None if operation.intended_ms is None else _ns(operation.intended_ms),
                    messages=asked,
                )
            elif operation.outcome is not None:
                number = numbers[operation.about.number] if operation.about else None
                answered = _numbered(operation.answered, number)
                history.complete(
                    numbers[position],
                    time_ns=_ns(time_ms),
                    type=operation.outcome,
                    messages=answered,
                    error=operation.error,
                )
        history.close()

    def _moments(self) -> list[tuple[float, bool, int]]:
        begins = [(operation.begin_ms, False, position) for position, operation in enumerate(self._operations)]
        return begins + [(operation.end_ms, True, position) for position, operation in enumerate(self._operations)]

    def _run_info(self) -> dict[str, Any]:
        load_ns = _ns(self.load_ms)
        return {
            "format": FORMAT,
            "run_id": sha256(str(self.path).encode()).hexdigest()[:16],
            "zonelab_version": "0.1.0",
            "git_commit": None,
            "scenario": self.scenario,
            "level": self.level,
            "seed": self.seed,
            "arm": "real",
            "zones": "process",
            "server": "valkey 9.1.2",
            "python": "3.11",
            "platform": "Linux",
            "started_utc": "2026-01-01T00:00:00Z",
            "epoch_ns": _ns(EPOCH_MS),
            "status": "complete",
            "error": None,
            "phases": {"load": [0, load_ns], "drain": [load_ns, 2 * load_ns]},
            "drained": True,
            "unread_zones": [],
            "queue": {"engine": "dyno", "shards": dict(self.shards)},
            "coordinators": {zone: {} for zone in self.shards.values()},
            "segments": {name: len(segments_of(self.path, name)) for name in SEGMENTED},
            "forbid": ["lost", "stuck", "abandoned", "unexpected", "concurrent", "resurrected", "early"],
            "command": f"zonelab run {self.scenario} --level {self.level} --seed {self.seed}",
        }


def _ns(ms: float) -> int:
    return round(ms * 1_000_000)


def _wall_ms(run_ms: float) -> int:
    return EPOCH_MS + int(run_ms // 1)


def _numbered(rows: Sequence[MessageColumns], delivery: int | None) -> tuple[MessageColumns, ...]:
    return tuple(row._replace(delivery=delivery) for row in rows)
