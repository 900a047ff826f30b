"""Measures the speed and the memory of both checkers on histories of millions of rows.

    python benchmarks/checker_scale.py [--rows 6000000] [--plant nothing|every] [--spark] [--needles]
    python benchmarks/checker_scale.py --rows 8600,1000000,3000000,10000000 --plant every --spark --needles
    python benchmarks/checker_scale.py --events 1000000

Writes a synthetic run of each size (six events a message, every hundredth message delivered twice) to a temporary
directory, then checks it in a process of its own and reports seconds by the clock and of processors, and the peak of
memory; start included. Because machines differ, the time is also given as a ratio to reading the whole history file
with pyarrow, measured in the same run. Of several sizes it says what a million further rows cost from each to the next.

``--plant every``: of a thousand messages one shows each class. ``--spark``: ``zonelab analyze`` too; then both must
find the same cases. ``--needles``: a history of the largest size in which one message is lost, one early and one
concurrent, which each must find. ``--events``: in place of all that, ``zonelab judge`` of a log of so many events, of
which a thousandth of the messages is lost and another resurrected, report included, three times. Memory is that of the
process and all its children, looked at every 0.2 s, shared pages counted once for each.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from environment import environment

from zonelab.analysis.runs.builder import EPOCH_MS, RunBuilder
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.segments import segment_path

MESSAGES_PER_CHUNK = 50_000
MS = 1_000_000
EVENTS = (("push", "invoke"), ("push", "ok"), ("pop", "invoke"), ("pop", "ok"), ("ack", "invoke"), ("ack", "ok"))
AFTER_PUSH_MS = (0, 3, 90, 104, 120, 124)
REDELIVERED = (("invoke", 200), ("ok", 205))
UNACKED = ("lost", "stuck", "abandoned", "dead_letter")


FATES = (
    "lost", "stuck", "abandoned", "recovered", "unexpected", "early", "concurrent", "resurrected", "zombie_ack",
    "orphan", "phantom", "priority_inversion", "dead_letter",
)  # fmt: skip
"""In the order of the last three digits of the messages that show them, from 1 on."""

TURNS = 3

NEEDLES = ("lost", "early", "concurrent")


Results = dict[str, dict[str, Any]]
"""By what was measured."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=sizes, default="6000000", help="sizes of histories, smallest first")
    options.add_argument("--plant", choices=("nothing", "every"), default="nothing")
    options.add_argument("--spark", action="store_true")
    options.add_argument("--needles", action="store_true")
    options.add_argument("--events", type=int, help="events of a log to judge")
    options.add_argument("--measure", choices=tuple(MEASURED), help=argparse.SUPPRESS)
    options.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.run)))
        return
    print(json.dumps(environment()))
    if given.events:
        judge_events(given.events)
        return
    wanted = [what for what in MEASURED if what != "analyze" or given.spark]
    sized = [of_size(rows, given.plant, wanted) for rows in given.rows]
    report_further(sized)
    if given.needles:
        _, results = of_size(given.rows[-1], "needles", [what for what in wanted if what != "summarise"])
        shown = {name: count for name, count in results["check"]["found"].items() if name != "redelivered"}
        if shown != dict.fromkeys(NEEDLES, 1):
            raise SystemExit(f"not the needles and nothing else: {shown}")
        print(f"found by every checker: {shown}")


def judge_events(count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="zonelab-scale-") as folder:
        log = Path(folder) / "events.jsonl"
        log.write_text("".join(f"{json.dumps(event)}\n" for event in events_of(count // 4)), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "zonelab", "judge", str(log), "--drained", "--dir", folder]
        print(f"zonelab judge, {sum(1 for _ in log.open()):,} events, {log.stat().st_size / 1e6:.0f} MB")
        for _ in range(TURNS):
            begin, before = time.perf_counter(), os.times()
            subprocess.run(command, check=False, capture_output=True)
            after = os.times()
            user, system = (getattr(after, of) - getattr(before, of) for of in ("children_user", "children_system"))
            words = f"{user + system:5.2f} processor s ({user:.2f} user, {system:.2f} sys)"
            print(f"{words}, {time.perf_counter() - begin:5.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)


def events_of(messages: int) -> list[dict[str, Any]]:
    """A message every 0.4 ms, by programs of three zones, in the order of time."""
    events = []
    for number in range(messages):
        own, at_ns = {"id": f"job-{number}"}, EPOCH_MS * MS + number * 400_000
        zone, other = "abc"[number % 3], "abc"[number // 3 % 3]
        producer = {**own, "program": f"producer-{zone}", "zone": zone}
        worker = {**own, "program": f"worker-{other}-{number // 9 % 7}", "zone": other}
        delay_ms, begin_ns = 500 * (number % 10 == 0), at_ns + 3 * MS + number % 997 * 20_000
        steps = [
            (at_ns, {"op": "push", **producer, "delay_ms": delay_ms}),
            (at_ns + 2 * MS, {"op": "accepted", **producer}),
        ]
        for again in range(0 if number % 1_000 == 1 else 2 if number % 1_000 == 2 else 1):
            here_ns = begin_ns + delay_ms * MS + again * 1_000 * MS
            steps += [
                (here_ns, {"op": "begin", **worker, "lease_ms": 30_000}),
                (here_ns + 20 * MS, {"op": "end", **worker}),
            ]
        events += [{**event, "t_ns": step_ns} for step_ns, event in steps]
    return sorted(events, key=lambda event: event["t_ns"])


def sizes(text: str) -> list[int]:
    return [int(rows) for rows in text.split(",")]


def of_size(rows: int, plant: str, wanted: Sequence[str]) -> tuple[int, Results]:
    """Rows of a history that was made, and what was measured on it. Ends the program if the checkers disagree."""
    with tempfile.TemporaryDirectory(prefix="zonelab-scale-") as folder:
        run = write_run(Path(folder) / "run", messages=-(-rows // len(EVENTS)), plant=plant)
        made = pq.read_metadata(segment_path(run, "operations", 1)).num_rows
        results = {what: in_own_process(what, run) for what in wanted}
    report(made, plant, results)
    found = [results[what]["found"] for what in ("check", "analyze") if what in results]
    if any(one != found[0] for one in found):
        raise SystemExit(f"the checkers do not find the same: {found}")
    return made, results


def write_run(path: Path, *, messages: int, plant: str) -> Path:
    builder = RunBuilder(path, load_ms=messages / 10)
    shown = {f"message-{who:09d}": name for who, name in enumerate(fate_names(np.arange(messages), plant)) if name}
    for message_id, name in shown.items():
        places = {"stuck": "queue", "phantom": "unack", "dead_letter": "dead"}
        if name in places:
            builder.listed(message_id, zone="a", place=places[name])
        if name in ("stuck", "orphan", "dead_letter"):
            builder.payload(message_id, zone="a")
    builder.write()
    segment = segment_path(path, "operations", 1)
    segment.parent.mkdir(exist_ok=True)
    with pq.ParquetWriter(segment, OPERATIONS, compression="zstd") as file:
        index = 0
        for begin in range(0, messages, MESSAGES_PER_CHUNK):
            columns = chunk(np.arange(begin, min(begin + MESSAGES_PER_CHUNK, messages)), plant, first_index=index)
            index += columns.num_rows
            file.write_table(columns, row_group_size=16_384)
    return path


def fate_names(message: np.ndarray, plant: str) -> list[str]:
    """Return the name of what each message is to show, or an empty string."""
    named = np.array(["", *FATES])
    if plant == "every":
        return named[np.where(message % 1_000 <= len(FATES), message % 1_000, 0)].tolist()
    needles = {1 + 700 * place: name for place, name in enumerate(NEEDLES)} if plant == "needles" else {}
    return [needles.get(who, "") for who in message.tolist()]


def chunk(message: np.ndarray, plant: str, *, first_index: int) -> pa.Table:
    """All events of ``message`` in the order of time; a message is pushed every 100 us."""
    fate = np.array(fate_names(message, plant))
    twice = (message % 100 == 0) | np.isin(fate, ("concurrent", "resurrected"))
    # A message that is to be passed over is popped after others of its shard and due time were served.
    late_ms = 20 * (fate == "priority_inversion")
    delays_ms = dict(zip(EVENTS, AFTER_PUSH_MS, strict=True))
    kinds = []
    for (f, kind), delay_ms in delays_ms.items():
        kept = ~np.isin(fate, {"push": ("unexpected",), "pop": ("lost", "stuck")}.get(f, UNACKED))
        # Of two deliveries only the second is acked; it is legal where the first lease ended after 60 ms.
        moved_ms = late_ms * (f != "push") + 100 * (f == "ack") * ((message % 100 == 0) | (fate == "concurrent"))
        kinds.append((f, kind, message[kept], (delay_ms + moved_ms)[kept]))
    kinds += [("pop", kind, message[twice], np.full(twice.sum(), delay_ms)) for kind, delay_ms in REDELIVERED]
    who = np.concatenate([ids for _, _, ids, _ in kinds])
    f = np.concatenate([np.full(len(ids), ("push", "pop", "ack").index(f)) for f, _, ids, _ in kinds])
    ended = np.concatenate([np.full(len(ids), kind == "ok") for _, kind, ids, _ in kinds])
    delay_ms = np.concatenate([delay for *_, delay in kinds])
    second = delay_ms >= 200
    time_ns = who * (MS // 10) + delay_ms * MS
    order = np.argsort(time_ns, kind="stable")
    who, f, ended, second, time_ns = (column[order] for column in (who, f, ended, second, time_ns))
    return table(who, f, ended, second, time_ns, fate[who - message[0]], first_index)


def table(who, f, ended, second, time_ns, fate, first_index) -> pa.Table:  # noqa: ANN001
    rows = len(who)
    op_id = who * 8 + f + second * 2
    pop_ok = (f == 1) & ended
    wall_ms = time_ns // MS + EPOCH_MS
    ids = pa.array(np.char.add("message-", np.char.zfill(who.astype(str), 9)))
    zone = pa.DictionaryArray.from_arrays(pa.array((who % 3).astype(np.int32)), ["a", "b", "c"])
    lease_ms = np.select([who % 100 == 0, fate == "zombie_ack"], [60, 10], 1_000)
    due_ms = who // 10 + 100 + 50 * (fate == "early") + EPOCH_MS
    in_doubt = ended & (f == 0) & (fate == "recovered")
    priority = np.where(fate == "priority_inversion", 0, who % 10)
    columns = {
        "index": first_index + np.arange(rows),
        "time_ns": time_ns,
        "invoke_ns": pa.array(time_ns - 4 * MS, mask=~ended),
        "intended_ns": pa.array(time_ns - 5 * MS, mask=(f != 0)),
        "process": zone,
        "zone": zone,
        "f": pa.DictionaryArray.from_arrays(pa.array(f.astype(np.int32)), ["push", "pop", "ack"]),
        "type": pa.DictionaryArray.from_arrays(pa.array(ended.astype(np.int32) + in_doubt), ["invoke", "ok", "info"]),
        "op_id": op_id,
        "message_id": pa.array(ids.to_numpy(zero_copy_only=False), mask=(f == 1) & ~ended),
        "key": pa.nulls(rows, pa.string()),
        "shard": zone,
        "delivery": pa.array(who * 8 + 1 + second * 2, mask=f == 0),
        "due_ms": pa.array(due_ms, mask=~((f == 0) & ended)),
        "lease_start_ms": pa.array(wall_ms - 3, mask=~pop_ok),
        "leased_ms": pa.array(wall_ms - 1, mask=~pop_ok),
        "lease_end_ms": pa.array(wall_ms + lease_ms, mask=~pop_ok),
        "priority": pa.array(priority.astype(np.int16), mask=f != 0),
        "lease_ms": pa.nulls(rows, pa.int64()),
        "body": pa.array(who * 2_654_435_761 % 2**32, mask=~((f == 0) | pop_ok)),
        "error": pa.nulls(rows, pa.string()),
    }
    return pa.table(columns, schema=OPERATIONS)


def in_own_process(what: str, run: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", what, "--run", str(run)]
    begin, used, peak_mb = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak_mb = max(peak_mb, resident_mb(process.pid))
            time.sleep(0.2)
        told = json.loads(process.stdout.read())
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return {"seconds": time.perf_counter() - begin, "processor_s": processor_s, "peak_mb": peak_mb, **told}


def resident_mb(pid: int) -> float:
    """Memory of a process and its descendants."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = re.search(r"VmRSS:\s*(\d+) kB", status)
    return (int(found[1]) / 1024 if found else 0.0) + sum(resident_mb(int(child)) for child in children)


def check_it(run: Path) -> dict[str, int]:
    from zonelab.analysis.checkers.check import check

    return {name: count for name, count in check(run).counts.items() if count}


def analyze_it(run: Path) -> dict[str, int]:
    from zonelab.analysis.spark.pipeline import aggregate

    (found,) = aggregate([run]).settings
    return {name: count for name, count in found.counts.items() if count}


def summarise_it(run: Path) -> None:
    from zonelab.analysis.summary.run_summary import summarise

    summarise(run)


def read_it(run: Path) -> None:
    with pq.ParquetFile(segment_path(run, "operations", 1)) as file:
        for _ in file.iter_batches():
            pass


MEASURED: dict[str, Callable[[Path], dict[str, int] | None]] = {
    "nothing": lambda run: None,
    "read": read_it,
    "check": check_it,
    "summarise": summarise_it,
    "analyze": analyze_it,
}


def measure(what: str, run: Path) -> dict[str, Any]:
    return {"found": MEASURED[what](run), "load": os.getloadavg()[0]}


def report(rows: int, plant: str, results: Results) -> None:
    """Processor seconds say more than seconds by the clock do where others use the machine."""
    nothing, reading_s = results["nothing"], results["read"]["processor_s"] - results["nothing"]["processor_s"]
    print(f"{rows:,} history rows, planted: {plant}; begin of a Python process included")
    for what, result in results.items():
        ratio = (result["processor_s"] - nothing["processor_s"]) / reading_s if reading_s > 0 else float("nan")
        print(
            f"{what:10} {result['seconds']:7.2f} s {result['processor_s']:7.2f} processor s  "
            f"peak {result['peak_mb']:6.0f} MB  {ratio:6.1f} x reading  load {result['load']:.1f}"
        )
    print(results["check"]["found"], flush=True)


def report_further(sized: Sequence[tuple[int, Results]]) -> None:
    """Report the cost of a million rows from one size to the next, and how much more that is than before."""
    for what in sorted({"check", "analyze"} & sized[0][1].keys()):
        before = None
        for (fewer, smaller), (rows, larger) in pairwise(sized):
            millions = (rows - fewer) / 1e6
            clock, used = ((larger[what][unit] - smaller[what][unit]) / millions for unit in ("seconds", "processor_s"))
            ratio = f", {used / before:.2f} times that before" if before else ""
            print(
                f"{what}: from {fewer:,} to {rows:,} rows a million cost {clock:.1f} s, {used:.1f} processor s{ratio}"
            )
            before = used


if __name__ == "__main__":
    main()
