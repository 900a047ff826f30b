"""How fast the checker of ordered messages is beside the queue checker, on the same run, and what memory each takes.

    python benchmarks/order_checker.py [--seconds 30] [--mode fenced] [--turns 5]

Simulates a run of ordered messages without faults (about 1,800 messages a second of load), then checks it by both in
turns, each time in a process of its own: rows a second of processor time, median and range, and peak of memory. A row
is one of the table that a checker reads: ``order`` here, ``operations`` there.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

import pyarrow.parquet as pq
from environment import environment

from zonelab.analysis.checkers.check import check
from zonelab.analysis.checkers.order.order import OrderRun, check_order
from zonelab.analysis.runs.directory import RunDirectory

CHECKERS: Mapping[str, Callable[[Path], object]] = {
    "order": lambda run: check_order(OrderRun.of(RunDirectory.open(run))),
    "operations": check,
}
"""By the table that they read."""

LOAD = {
    "faults": "[]",
    "load.rate_per_s": 600,
    "load.keys.count": 200,
    "queue.partitions": 12,
    "consumers.per_zone": 4,
    "consumers.batch": 20,
    "consumers.processing": "0",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=30, help="of load")
    parser.add_argument("--mode", default="fenced")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    with TemporaryDirectory(prefix="zonelab-benchmark-") as folder:
        run = simulated(Path(folder), seconds=options.seconds, mode=options.mode)
        results = measured(run, turns=options.turns)
    told = {"mode": options.mode, "seconds": options.seconds, "turns": options.turns}
    print(json.dumps({"benchmark": "order_checker", **told, **environment(), "results": results}, indent=1))


def simulated(folder: Path, *, seconds: int, mode: str) -> Path:
    """The directory of a finished run."""
    settings = {**LOAD, "load.duration_s": seconds, "queue.mode": mode}
    command = [
        str(Path(sys.executable).with_name("zonelab")),
        "run",
        "order-states",
        "--on",
        "sim",
        "--dir",
        str(folder),
    ]
    command += [word for path, value in settings.items() for word in ("--set", f"{path}={value}")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (folder / "order-states" / "latest").resolve()


def measured(run: Path, *, turns: int) -> dict[str, object]:
    found: dict[str, list[tuple[float, float]]] = {table: [] for table in CHECKERS}
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for _ in range(turns):
            for table in CHECKERS:
                found[table].append(pool.apply(one_check, (run, table)))
    rates = {table: [rows(run, table) / seconds for seconds, _ in one] for table, one in found.items()}
    ratios = [order / queue for order, queue in zip(rates["order"], rates["operations"], strict=True)]
    tables = {
        table: {
            "rows": rows(run, table),
            "rows_per_s": {"median": round(median(one)), "min": round(min(one)), "max": round(max(one))},
            "peak_rss_mb": round(max(peak_mb for _, peak_mb in found[table])),
        }
        for table, one in rates.items()
    }
    ratio = {"median": round(median(ratios), 2), "min": round(min(ratios), 2), "max": round(max(ratios), 2)}
    return {**tables, "order_beside_operations": ratio}


def one_check(run: Path, table: str) -> tuple[float, float]:
    """Seconds of processor time and the peak of memory in MB, imports included in the latter only."""
    begin = process_time()
    CHECKERS[table](run)
    return process_time() - begin, getrusage(RUSAGE_SELF).ru_maxrss / 1024


def rows(run: Path, table: str) -> int:
    return sum(pq.ParquetFile(file).metadata.num_rows for file in run.glob(f"history/{table}-*.parquet"))


if __name__ == "__main__":
    main()
