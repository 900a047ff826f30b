"""How fast the queue checker is, and how much memory it takes, on a history of a million messages.

    python benchmarks/checker_scale.py [--messages 1000000]

Writes a synthetic run (six events a message, every hundredth message delivered twice) to a temporary directory,
then checks it in a process of its own and reports rows/s and peak memory. Because machines differ, the time is
also given as a ratio to reading the whole history file with pyarrow, measured in the same run.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.runs.builder import EPOCH_MS, RunBuilder
from analysis.runs.history import OPERATIONS

MESSAGES_PER_CHUNK = 50_000
MS = 1_000_000
EVENTS = (("push", "invoke"), ("push", "ok"), ("pop", "invoke"), ("pop", "ok"), ("ack", "invoke"), ("ack", "ok"))
AFTER_PUSH_MS = (0, 3, 90, 104, 120, 124)
REDELIVERED = (("invoke", 200), ("ok", 205))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--messages", type=int, default=1_000_000)
    options.add_argument("--measure", choices=("check", "summarise", "read", "nothing"), help=argparse.SUPPRESS)
    options.add_argument("--run", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.run)))
        return
    with tempfile.TemporaryDirectory(prefix="zonelab-scale-") as folder:
        run = write_run(Path(folder) / "run", messages=given.messages)
        results = {what: in_own_process(what, run) for what in ("nothing", "read", "check", "summarise")}
        report(given.messages, pq.read_metadata(run / "history" / "operations.parquet").num_rows, results)


def write_run(path: Path, *, messages: int) -> Path:
    builder = RunBuilder(path, load_ms=messages / 10)
    builder.write()
    with pq.ParquetWriter(path / "history" / "operations.parquet", OPERATIONS, compression="zstd") as file:
        index = 0
        for begin in range(0, messages, MESSAGES_PER_CHUNK):
            columns = chunk(np.arange(begin, min(begin + MESSAGES_PER_CHUNK, messages)), first_index=index)
            index += columns.num_rows
            file.write_table(columns, row_group_size=16_384)
    return path


def chunk(message: np.ndarray, *, first_index: int) -> pa.Table:
    """All events of ``message`` in the order of time; a message is pushed every 100 us."""
    twice = message % 100 == 0
    kinds = [
        (f, kind, message, np.full(len(message), delay_ms))
        for (f, kind), delay_ms in zip(EVENTS, AFTER_PUSH_MS, strict=False)
    ]
    # Their first lease ends after 60 ms, so the second delivery is legal, and only that one is acked.
    kinds += [("pop", kind, message[twice], np.full(twice.sum(), delay_ms)) for kind, delay_ms in REDELIVERED]
    kinds[4:6] = [(f, kind, ids, delay_ms + 100 * twice) for f, kind, ids, delay_ms in kinds[4:6]]
    who = np.concatenate([ids for _, _, ids, _ in kinds])
    f = np.concatenate([np.full(len(ids), ("push", "pop", "ack").index(f)) for f, _, ids, _ in kinds])
    ended = np.concatenate([np.full(len(ids), kind == "ok") for _, kind, ids, _ in kinds])
    delay_ms = np.concatenate([delay for *_, delay in kinds])
    second = delay_ms >= 200
    time_ns = who * (MS // 10) + delay_ms * MS
    order = np.argsort(time_ns, kind="stable")
    who, f, ended, second, time_ns = (column[order] for column in (who, f, ended, second, time_ns))
    return table(who, f, ended, second, time_ns, first_index)


def table(who, f, ended, second, time_ns, first_index) -> pa.Table:  # noqa: ANN001
    rows = len(who)
    op_id = who * 8 + f + second * 2
    pop_ok = (f == 1) & ended
    wall_ms = time_ns // MS + EPOCH_MS
    ids = pa.array(np.char.add("message-", np.char.zfill(who.astype(str), 9)))
    zone = pa.DictionaryArray.from_arrays(pa.array((who % 3).astype(np.int32)), ["a", "b", "c"])
    lease_ms = np.where(who % 100 == 0, 60, 1_000)
    columns = {
        "index": first_index + np.arange(rows),
        "time_ns": time_ns,
        "invoke_ns": pa.array(time_ns - 4 * MS, mask=~ended),
        "intended_ns": pa.array(time_ns - 5 * MS, mask=(f != 0)),
        "process": zone,
        "zone": zone,
        "f": pa.DictionaryArray.from_arrays(pa.array(f.astype(np.int32)), ["push", "pop", "ack"]),
        "type": pa.DictionaryArray.from_arrays(pa.array(ended.astype(np.int32)), ["invoke", "ok"]),
        "op_id": op_id,
        "message_id": pa.array(ids.to_numpy(zero_copy_only=False), mask=(f == 1) & ~ended),
        "key": pa.nulls(rows, pa.string()),
        "shard": zone,
        "delivery": pa.array(who * 8 + 1 + second * 2, mask=f == 0),
        "due_ms": pa.array(who // 10 + 100 + EPOCH_MS, mask=~((f == 0) & ended)),
        "lease_start_ms": pa.array(wall_ms - 3, mask=~pop_ok),
        "leased_ms": pa.array(wall_ms - 1, mask=~pop_ok),
        "lease_end_ms": pa.array(wall_ms + lease_ms, mask=~pop_ok),
        "priority": pa.array((who % 10).astype(np.int16), mask=f != 0),
        "lease_ms": pa.nulls(rows, pa.int64()),
        "error": pa.nulls(rows, pa.string()),
    }
    return pa.table(columns, schema=OPERATIONS)


def in_own_process(what: str, run: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", what, "--run", str(run)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def measure(what: str, run: Path) -> dict[str, float]:
    begin = time.perf_counter()
    if what == "read":
        with pq.ParquetFile(run / "history" / "operations.parquet") as file:
            for _ in file.iter_batches():
                pass
    elif what == "check":
        from analysis.checkers.queue.queue import check

        begin = time.perf_counter()
        verdict = check(run)
        if verdict.valid is not True:
            raise SystemExit(f"the synthetic run must be valid, got {verdict.reasons}")
    elif what == "summarise":
        from analysis.summary.queue_summary import summarise

        begin = time.perf_counter()
        summarise(run)
    return {"seconds": time.perf_counter() - begin, "peak_mb": peak_rss_mb()}


def peak_rss_mb() -> float:
    """Peak resident memory of this process; ``getrusage`` would carry over the parent's peak."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s*(\d+) kB", status).group(1)) / 1024


def report(messages: int, rows: int, results: dict[str, dict[str, float]]) -> None:
    reading_s = results["read"]["seconds"]
    print(f"{messages:,} messages, {rows:,} history rows")
    for what, result in results.items():
        speed = f"{rows / result['seconds'] / 1e6:6.2f} M rows/s" if what != "nothing" else " " * 15
        ratio = f"{result['seconds'] / reading_s:5.1f} x reading" if what != "nothing" else ""
        print(f"{what:10} {result['seconds']:7.2f} s {speed}  peak {result['peak_mb']:6.0f} MB  {ratio}")


if __name__ == "__main__":
    main()
