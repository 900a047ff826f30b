"""Tables of order in which anything may have happened, drawn from a seed: for checkers that must agree about all."""

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

from zonelab.analysis.runs.order import FINAL_ORDER, FINAL_ORDER_NAME, ORDER, ORDER_NAME, OrderKind
from zonelab.analysis.runs.segments import table_in

Row = dict[str, Any]

ZONES = "abc"
GROUPS = ("g", "g", "h")
PARTITIONS = ("t/0", "t/0", "t/1")
SPAN = 80
"""All times are below it, so that equal ones are common."""
ROUNDED_NS = 1_000_000


def add_wild_order(path: Path, *, seed: int) -> None:
    """Give the run in ``path`` the tables of messages whose order nobody keeps."""
    draw = random.Random(f"order {seed}")
    rows = sorted(_rows(draw), key=lambda row: row["time_ns"])
    with closing(table_in(path, ORDER_NAME, ORDER)) as table:
        for index, row in enumerate(rows):
            table.append({**row, "index": index})
    if draw.random() < 0.8:
        with closing(table_in(path, FINAL_ORDER_NAME, FINAL_ORDER)) as table:
            for row in _at_rest(draw):
                table.append(row)
    info = json.loads((path / "run.json").read_text(encoding="utf-8"))
    info["order"] = {"unit": draw.choice(["partition", "key"])}
    info["segments"] = {**info["segments"], ORDER_NAME: 1}
    (path / "run.json").write_text(json.dumps(info), encoding="utf-8")


def _rows(draw: random.Random) -> list[Row]:
    rows: list[Row] = []
    sinks = draw.random() < 0.7
    delayed = draw.choice([0.1, 0.8])
    for number in range(draw.randrange(6, 14)):
        rows += _message(draw, number, delayed=draw.random() < delayed)
    for op_id in range(draw.randrange(4, 16)):
        rows += _delivery(draw, op_id, sinks=sinks)
    for _ in range(draw.randrange(2, 12)):
        rows.append(_told(draw))
    for session in "mno":
        if draw.random() < 0.3:
            rows.append({**_moment(draw, OrderKind.MEMBER), "group": "g", "session": session})
            rows[-1]["status"] = draw.choice(["left", "crashed", "lost", "joined"])
    return rows


def _moment(draw: random.Random, kind: OrderKind) -> Row:
    return {"kind": str(kind), "time_ns": draw.randrange(SPAN)}


def _decided(draw: random.Random, kind: OrderKind) -> Row:
    invoke_ns = draw.randrange(SPAN)
    outcome = draw.choice(["ok", "ok", "ok", "ok", "info", "fail"])
    return {"kind": str(kind), "invoke_ns": invoke_ns, "time_ns": invoke_ns + draw.randrange(9), "outcome": outcome}


def _content(draw: random.Random, offset: int) -> Row:
    """Mostly the message that belongs there."""
    key = "xy"[offset % 2] if draw.random() < 0.9 else draw.choice("xyz")
    return {"key": key, "message_id": f"{key}{offset if draw.random() < 0.9 else draw.randrange(9)}"}


def _message(draw: random.Random, number: int, *, delayed: bool) -> list[Row]:
    offset = number if draw.random() < 0.8 else draw.randrange(14)
    row = {
        **_decided(draw, OrderKind.PRODUCE),
        **_content(draw, offset),
        "partition": draw.choice(PARTITIONS),
        "epoch": draw.choice([0, 0, 0, 1]),
        "offset": None if delayed else offset,
        "producer": draw.choice("pppq"),
        "sequence": draw.choice([number, number, draw.randrange(14), None]),
        "outcome": draw.choice(["ok"] * 7 + ["info", "fail"]),
        "until_ns": draw.randrange(20) * ROUNDED_NS if delayed and number % 4 else None,
    }
    later = {name: row[name] + 5 for name in ("invoke_ns", "time_ns")}
    return [row, {**row, **later, "status": "duplicate"}][: draw.choice([1, 1, 1, 2])]


def _who(draw: random.Random) -> Row:
    token = draw.choice([None, 1, 2])
    where = {"group": draw.choice(GROUPS), "partition": draw.choice(PARTITIONS), "session": draw.choice("mno")}
    return {**where, "token": token, "generation": draw.choice([0, 0, 1, None])}


def _delivery(draw: random.Random, op_id: int, *, sinks: bool) -> list[Row]:
    offset = draw.randrange(14)
    what = {**_who(draw), **_content(draw, offset), "offset": offset, "op_id": op_id, "epoch": draw.choice([0, 0, 1])}
    start = {**_moment(draw, OrderKind.START), **what, "attempt": 1}
    rows = [start]
    if draw.random() < 0.3:  # handed out in the same call
        rows.append({**start, "offset": offset + 1, **_content(draw, offset + 1), "op_id": op_id + 1000})
    for row in list(rows):
        mine = {name: row[name] for name in (*what,)}
        if draw.random() < 0.8:
            status = draw.choice(["success", "success", "commit", "suspend"])
            time_ns = start["time_ns"] + draw.randrange(20)
            rows.append({"kind": str(OrderKind.END), "time_ns": time_ns, **mine, "status": status})
        if sinks and draw.random() < 0.6:
            rows.append({**_decided(draw, OrderKind.SINK), **mine, "position": op_id})
        if draw.random() < 0.15:
            kind = draw.choice([OrderKind.DEAD_LETTER, OrderKind.PARK, OrderKind.SKIP])
            rows.append({**_decided(draw, kind), **mine, "cursor": row["offset"] + 1})
    return rows


def _told(draw: random.Random) -> Row:
    kind = draw.choice([OrderKind.COMMIT, OrderKind.COMMIT, OrderKind.GRANT])
    row = {**_decided(draw, kind), **_who(draw), "cursor": draw.randrange(14)}
    if kind == OrderKind.GRANT:
        row["cursor"] = draw.choice([None, 0, row["cursor"]])
    elif draw.random() < 0.15:
        row["status"] = "reset"
    return row


def _at_rest(draw: random.Random) -> list[Row]:
    rows: list[Row] = []
    for partition in sorted(set(PARTITIONS)):
        for offset in range(draw.randrange(12)):
            alike = _content(draw, offset)
            for zone in ZONES:
                if draw.random() < 0.8:
                    held = alike if draw.random() < 0.9 else _content(draw, offset)
                    rows.append({"place": "log", "zone": zone, "partition": partition, "offset": offset, **held})
                    rows[-1] |= {"producer": "p", "sequence": offset}
        for group in sorted(set(GROUPS)):
            for zone in draw.sample(ZONES, draw.randrange(4)):
                row = {"place": "cursor", "zone": zone, "group": group, "partition": partition}
                rows.append({**row, "offset": draw.randrange(14), "token": draw.choice([None, 1, 2]), "generation": 0})
    return rows
