"""Cost of recording a history in segments beside recording it in one file: rows a second and the longest pause.

Both write the same operations in turns in the same run, each first in every other turn; the ratio is the median of the
turns' ratios, beside the least and the largest. Segments are cut at every ``--cut-rows`` rows: by default as many as a
segment of a run holds at most. A run that writes 26,000 rows a second cuts as often, a slower one by time, after 5 s.

    .venv/bin/python benchmarks/recording.py [--operations 400000] [--turns 9] [--cut-rows 131072]

With ``--votes``: what ``zonelab run --record votes`` costs. The same run on process zones with and without, each first
in every other turn; processor time of the lab, not of its servers, and the median of the turns' ratios with its 95 %
interval (by rank: exact, whatever the distribution).

    .venv/bin/python benchmarks/recording.py --votes [--turns 9] [--rate 100]
"""

import argparse
import json
import os
import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from environment import environment

from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.history import OPERATIONS, History, MessageColumns
from zonelab.analysis.runs.segments import SEGMENT_ROWS, SegmentedTable
from zonelab.analysis.runs.tables import Table, TableWriter
from zonelab.analysis.runs.votes import VOTES, VOTES_NAME
from zonelab.analysis.statistics import quantile_interval
from zonelab.scenarios.arms import Recording, ZoneKind
from zonelab.scenarios.run.on_servers import run_on_servers
from zonelab.scenarios.run.simulated import NullWatcher
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.scenarios.spec.scenario import Scenario


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


def processor_s(scenario: Scenario, *, recording: Recording | None) -> tuple[float, int]:
    """Return the processor time of a run on servers in s, and how many votes it recorded."""
    with TemporaryDirectory(prefix="zonelab-recording-") as folder:
        begin_s = process_time()
        directory, record = run_on_servers(
            scenario,
            kind=ZoneKind.PROCESS,
            runs=Path(folder),
            watcher=NullWatcher(),
            command="benchmarks/recording.py",
            recording=recording,
        )
        taken_s = process_time() - begin_s
        assert record.status == "complete", record.error
        run = RunDirectory.open(directory)
        return taken_s, run.rows(VOTES_NAME, VOTES) if recording is not None else 0


def votes(*, turns: int, rate: float) -> dict[str, Any]:
    """Return the processor time of runs with and without recorded votes, and the ratio."""
    load = {"duration_s": 10, "rate_per_s": rate, "delay": "uniform:0ms:200ms"}
    scenario = scenario_of({"name": "recording", "load": load, "persistence": "none"}, source="recording")
    processor_s(scenario, recording=Recording.VOTES)  # loads what runs need
    taken: dict[Recording | None, list[float]] = {None: [], Recording.VOTES: []}
    rows = 0
    for turn in range(turns):
        for recording in sorted(taken, key=str, reverse=bool(turn % 2)):
            seconds, recorded = processor_s(scenario, recording=recording)
            taken[recording].append(seconds)
            rows = max(rows, recorded)
    ratios = sorted(with_s / without_s for without_s, with_s in zip(taken[None], taken[Recording.VOTES], strict=True))
    interval = quantile_interval(ratios, 0.5)
    return {
        "without_s": round(statistics.median(taken[None]), 2),
        "with_s": round(statistics.median(taken[Recording.VOTES]), 2),
        "votes": rows,
        "ratio": round(statistics.median(ratios), 3),
        "interval": None if interval is None else [round(interval.low, 3), round(interval.high, 3)],
        "load_average": os.getloadavg(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=400_000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--cut-rows", type=int, default=SEGMENT_ROWS)
    parser.add_argument("--votes", action="store_true")
    parser.add_argument("--rate", type=float, default=100.0, help="messages a second of each zone, with --votes")
    given = parser.parse_args()
    if given.votes:
        told = votes(turns=given.turns, rate=given.rate)
        print(json.dumps({"benchmark": "recording votes", **environment(), **vars(given), **told}, indent=1))
        return
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
    measured_by_name = {
        name: {
            "rows_per_s": round(rows / statistics.median(total_s for total_s, _ in turns)),
            "longest_pause_ms": round(1_000 * statistics.median(longest_s for _, longest_s in turns), 1),
        }
        for name, turns in measured.items()
    }
    pairs = zip(measured["one file"], measured["segments"], strict=True)
    ratios = sorted(one_file_s / segments_s for (one_file_s, _), (segments_s, _) in pairs)
    ratio = {"ratio": round(statistics.median(ratios), 3), "ratios": [round(ratios[0], 3), round(ratios[-1], 3)]}
    print(json.dumps({"benchmark": "recording", **environment(), **vars(given), **measured_by_name, **ratio}, indent=1))


if __name__ == "__main__":
    main()
