"""Runs in which anything may have happened, drawn from a seed: for checkers that must agree about all of them."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support.analysis.plants import PLANTS
from support.analysis.wild_order import add_wild_order

from zonelab.analysis.runs.builder import Pop, RunBuilder
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.segments import segment_path

ZONES = "abc"
_SPAN_MS = 60
"""All of a message falls into so short a time that equal milliseconds are common."""

PROGRAMS = ("one", "two", "three")

QUEUES: tuple[dict[str, Any], ...] = (
    {},
    {"early_ms_max": 10},
    {"leases": False},
    {"priorities": False, "early_ms_max": 0},
)


def wild_run(path: Path, *, seed: int) -> Path:
    """A run of a queue that keeps no rule, in the files of a lab that may have been killed."""
    draw = random.Random(seed)
    run = RunBuilder(path, seed=seed)
    draw.choice(list(PLANTS))(run)
    for number in range(draw.randrange(1, 8)):
        _message(run, draw, f"m{number}")
    _inverted(run, draw)
    _waiting(run, draw)
    run.pop(at_ms=draw.randrange(_SPAN_MS))
    status = draw.choice(["complete", "complete", "complete", "interrupted"])
    unread = draw.sample(ZONES, draw.choice([0, 0, 0, 1]))
    phases = {"load": (0, 1), "drain": (1, draw.choice([2, 60, 60, 20_000]) * 1_000_000)}
    queue = {"engine": "dyno", "shards": dict(zip(ZONES, ZONES, strict=True)), **draw.choice(QUEUES)}
    run.write(status=status, unread_zones=unread, queue=queue, phases=phases, **_programs(draw))
    if status == "interrupted" and draw.random() < 0.5:
        (path / "final_state.parquet").unlink()
    if draw.random() < 0.5:
        _damage(segment_path(path, "operations", 1), draw)
    if seed % 8:
        add_wild_order(path, seed=seed)
    return path


def _message(run: RunBuilder, draw: random.Random, name: str) -> None:
    times = draw.randrange
    for _ in range(draw.choice([0, 1, 1, 1, 2, 3])):
        run.push(
            name,
            at_ms=times(_SPAN_MS),
            took_ms=times(9),
            due_ms=draw.choice([None, times(_SPAN_MS)]),
            outcome=draw.choice(["ok", "ok", "ok", "info", "fail", None]),
            zone=draw.choice(ZONES),
            shard=draw.choice("aab"),
            priority=times(3),
            lease_ms=draw.choice([None, None, None, 0, 9]),
            body=draw.choice(["", "x", "x", "x", "y"]),
        )
    pops = [_pop(run, draw, name) for _ in range(draw.choice([0, 1, 1, 2, 3, 5]))]
    for pop, at_ms in pops:
        _after(run, draw, name, pop, at_ms)
    for _ in range(draw.choice([0, 0, 1, 2])):
        run.listed(
            name, zone=draw.choice(ZONES), place=draw.choice(["queue", "unack", "dead"]), shard=draw.choice("ab")
        )
    for _ in range(draw.choice([0, 0, 1, 2])):
        run.payload(name, zone=draw.choice(ZONES))


def _pop(run: RunBuilder, draw: random.Random, name: str) -> tuple[Pop, int]:
    at_ms, took_ms = draw.randrange(_SPAN_MS), draw.randrange(9)
    leased_ms = draw.choice([None, at_ms + draw.randrange(took_ms + 1)])
    pop = run.pop(
        *draw.choice([(name,), (name,), (name, f"beside-{name}"), (name, name)]),
        at_ms=at_ms,
        took_ms=took_ms,
        leased_ms=leased_ms,
        lease_start_ms=draw.choice([None, leased_ms]),
        lease_end_ms=at_ms + draw.randrange(40),
        zone=draw.choice(ZONES),
        body=draw.choice(["", "x", "x", "x", "y"]),
        process=draw.choice(PROGRAMS),
    )
    return pop, at_ms


def _after(run: RunBuilder, draw: random.Random, name: str, pop: Pop, popped_ms: int) -> None:
    """What the consumer that made ``pop`` may do with it, at any time after it asked."""
    for _ in range(draw.choice([0, 0, 0, 1, 2, 3])):
        at_ms, took_ms = popped_ms + draw.randrange(_SPAN_MS), draw.randrange(20)
        outcome = draw.choice(["ok", "ok", "info", "fail", None])
        run.extend(name, pop, at_ms=at_ms, took_ms=took_ms, lease_end_ms=draw.randrange(100), outcome=outcome)
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        at_ms, took_ms = popped_ms + draw.randrange(_SPAN_MS), draw.randrange(9)
        run.ack(name, pop, at_ms=at_ms, took_ms=took_ms, outcome=draw.choice(["ok", "ok", "ok", "info", "fail", None]))


def _inverted(run: RunBuilder, draw: random.Random) -> None:
    """Messages of one shard that are due at one time, served in any order."""
    highest = draw.choice([1, 2, 9, 300])
    for number in range(draw.randrange(9)):
        name = f"urgent-{number}"
        run.push(name, at_ms=draw.randrange(30), took_ms=draw.randrange(9), due_ms=20, priority=draw.randrange(highest))
        pop = run.pop(name, at_ms=draw.randrange(20, 40), took_ms=draw.randrange(5))
        run.ack(name, pop, at_ms=50)


def _waiting(run: RunBuilder, draw: random.Random) -> None:
    """Messages that were not delivered by the end, and are listed by some zones."""
    for number in range(draw.randrange(7)):
        name = f"waiting-{number}"
        run.push(name, at_ms=draw.randrange(30), due_ms=draw.randrange(2 * _SPAN_MS), shard=draw.choice("aab"))
        for zone in draw.choice(["abc"] * 3 + ["ab"]):
            run.listed(name, zone=zone, place=draw.choice(["queue"] * 19 + ["unack"]))
            run.payload(name, zone=zone)


def _programs(draw: random.Random) -> dict[str, Any]:
    """When programs died, and how late may be too late."""
    dead = draw.sample(PROGRAMS, draw.randrange(len(PROGRAMS)))
    deaths = {name: draw.randrange(2 * _SPAN_MS) * 1_000_000 for name in dead}
    return {"deaths": deaths, "late_ms": draw.choice([None, 0, 7.5])}


def _damage(history: Path, draw: random.Random) -> None:
    """Leave out answers, as a lab does that is killed, and values, as a queue does that has none to give."""
    kept = []
    for row in pq.read_table(history).to_pylist():
        answer = row["type"] != "invoke"
        if answer and (row["error"] == "never completed" or draw.random() < 0.05):
            continue
        for name in ("lease_start_ms", "leased_ms", "due_ms", "shard", "priority"):
            if answer and draw.random() < 0.05:
                row[name] = None
        if row["f"] == "pop" and row["op_id"] % 7 == 0:
            row["lease_end_ms"] = None
        kept.append(row)
    pq.write_table(pa.Table.from_pylist(kept, schema=OPERATIONS), history)
