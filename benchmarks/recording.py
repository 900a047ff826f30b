"""What recording a history in segments costs beside recording it in one file: rows a second and the longest pause.

Both write the same operations in turns in the same run, each first in every other turn; the ratio is the median of the
turns' ratios, beside the least and the largest. Segments are cut at every ``--cut-rows`` rows: by default as many as a
segment of a run holds at most. A run that writes 26,000 rows a second cuts as often, a slower one by time, after 5 s.

    .venv/bin/python benchmarks/recording.py [--operations 400000] [--turns 9] [--cut-rows 131072]
"""

import argparse
import json
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from environment import environment

from zonelab.analysis.runs.history import OPERATIONS, History, MessageColumns
from zonelab.analysis.runs.segments import SEGMENT_ROWS, SegmentedTable
from zonelab.analysis.runs.tables import Table, TableWriter


def record(table: Table, *, operations: int, cut_rows: int) -> tuple[float, float]:
    """Seconds in all, and the longest of one operation, the cut included."""
    history, longest_s = History(table), 0.0
    begin_s = perf_counter()
    for number in range(operations):
        before_s = perf_counter()
        touched = [MessageColumns(message_id=f"m{number}", shard="a", priority=0)]
        op = history.invoke(time_ns=number, process="p", zone="a", f="push", messages=touched)
        history.complete(op, time_ns=number, type="ok")
        if isinstance(table, SegmentedTable) and number % (cut_rows // 2) == cut_rows // 2 - 1:
            table.cut()
        longest_s = max(longest_s, perf_counter() - before_s)
    history.close()
    return perf_counter() - begin_s, longest_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=400_000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--cut-rows", type=int, default=SEGMENT_ROWS)
    given = parser.parse_args()
    measured: dict[str, list[tuple[float, float]]] = {"one file": [], "segments": []}
    for turn in range(given.turns):
        with TemporaryDirectory(prefix="zonelab-recording-") as folder:
            run = Path(folder) / str(turn)
            run.mkdir()
            tables: dict[str, Table] = {
                "one file": TableWriter(run / "operations.parquet", OPERATIONS),
                "segments": SegmentedTable(run, "operations", OPERATIONS, segment_ns=1),
            }
            for name in sorted(tables, reverse=bool(turn % 2)):
                measured[name].append(record(tables[name], operations=given.operations, cut_rows=given.cut_rows))
    rows = 2 * given.operations
    told = {
        name: {
            "rows_per_s": round(rows / statistics.median(total_s for total_s, _ in turns)),
            "longest_pause_ms": round(1_000 * statistics.median(longest_s for _, longest_s in turns), 1),
        }
        for name, turns in measured.items()
    }
    pairs = zip(measured["one file"], measured["segments"], strict=True)
    ratios = sorted(one_file_s / segments_s for (one_file_s, _), (segments_s, _) in pairs)
    ratio = {"ratio": round(statistics.median(ratios), 3), "ratios": [round(ratios[0], 3), round(ratios[-1], 3)]}
    print(json.dumps({"benchmark": "recording", **environment(), **vars(given), **told, **ratio}, indent=1))


if __name__ == "__main__":
    main()
