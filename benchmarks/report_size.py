"""Measures the report of a million messages: its size, the time to write it, and the time until a browser shows it.

    python benchmarks/report_size.py [--messages 1000000]

Writes the synthetic run of ``checker_scale.py`` with 63 clients, of whose operations one in a hundred fails and one in
a hundred is in doubt, checks it, writes its report, and opens that in Chromium three times: from the begin of the
navigation to the load event, and from the start of the browser to a picture of the first screen and of the whole page,
less what an empty page takes. A picture of the whole page is some 15 million pixels, packed without a graphics card:
what a screenshot takes, and no reader. Looks at one message with ``zonelab lens``. The aims
are 10 MB, 2 s to load and to the first screen, and 2 s for the lens.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from checker_scale import write_run
from environment import environment

from zonelab.analysis.report import build_report
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.segments import segment_path, segments_of
from zonelab.analysis.summary.run_summary import summarise

CLIENTS = 21  # of each of three zones
SHARE = 100
MESSAGE = "message-000000500"
TURNS = 3
SCREENS = {"first screen": 900, "whole page": 12_000}
"""Heights of windows, in pixels."""
FRAME = """<iframe src="{page}" width="1280" height="900"></iframe><pre></pre><script>
onload = () => setTimeout(() => {{
  const [entry] = document.querySelector("iframe").contentWindow.performance.getEntriesByType("navigation");
  document.querySelector("pre").textContent = entry.loadEventEnd - entry.startTime;
}}, 0);
</script>"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--messages", type=int, default=1_000_000)
    options.add_argument("--keep", type=Path, help="Copy the page there.")
    given = options.parse_args()
    print(json.dumps(environment()), "load", os.getloadavg())
    with tempfile.TemporaryDirectory(prefix="zonelab-report-") as folder:
        run = troubled(write_run(Path(folder) / "run", messages=given.messages, plant="nothing"))
        summarise(run)
        begin = time.perf_counter()
        page = build_report(run)
        print(f"{given.messages:,} messages: report of {page.stat().st_size / 1e6:.2f} MB in", end=" ")
        print(f"{time.perf_counter() - begin:.1f} s, check and summary not counted")
        begin = time.perf_counter()
        lens = [sys.executable, "-P", "-m", "zonelab", "lens", run, MESSAGE]
        subprocess.run(lens, check=True, stdout=subprocess.DEVNULL)
        print(f"lens of one message, start included: {time.perf_counter() - begin:.2f} s")
        if given.keep:
            shutil.copy(page, given.keep)
        if shutil.which("chromium"):
            opened(page, Path(folder))


def troubled(run: Path) -> Path:
    """The run with more clients, failures, faults and depths."""
    path = segment_path(run, "operations", 1)
    changed = path.with_name("changed")
    with pq.ParquetFile(path) as file, pq.ParquetWriter(changed, OPERATIONS, compression="zstd") as writer:
        for batch in file.iter_batches(batch_size=300_000):
            writer.write_table(pa.Table.from_batches([with_trouble(batch)]).cast(OPERATIONS))
    changed.replace(path)
    last_ms = 1_000 + pq.read_table(path, columns=["time_ns"])["time_ns"][-1].as_py() / 1e6
    extras = RunBuilder(run.with_name("extras"), load_ms=last_ms)
    for number in range(200):
        extras.fault("kill", "abc"[number % 3], begin_ms=number * last_ms / 200, end_ms=(number + 0.5) * last_ms / 200)
    for number in range(2_000):
        for zone in "abc":
            extras.depth(zone, at_ms=number * last_ms / 2_000, waiting=number % 50, leased=number % 7)
    extras.write()
    (extras.path / "run.json").replace(run / "run.json")
    for name in ("faults", "depth"):
        for segment in segments_of(extras.path, name):
            segment.replace(run / segment.relative_to(extras.path))
    return run


def with_trouble(batch: pa.RecordBatch) -> pa.RecordBatch:
    op_id = batch["op_id"].to_numpy()
    names = [f"client-{zone}-{number}" for zone in "abc" for number in range(CLIENTS)]
    client = (op_id // 8 % 3) * CLIENTS + op_id // 24 % CLIENTS
    ended = np.array(batch["type"].dictionary.to_pylist())[batch["type"].indices.to_numpy()] != "invoke"
    kind = np.where(~ended, 0, np.where(op_id // 8 % SHARE == 1, 2, np.where(op_id // 8 % SHARE == 2, 3, 1)))
    errors = np.array([None, None, "Unavailable: zone a is down", "Indeterminate: timed out: 150 ms"], dtype=object)
    columns = {name: batch[name] for name in batch.schema.names}
    columns["process"] = pa.DictionaryArray.from_arrays(pa.array(client.astype(np.int32)), names)
    columns["type"] = pa.DictionaryArray.from_arrays(pa.array(kind.astype(np.int32)), ["invoke", "ok", "fail", "info"])
    columns["error"] = pa.array(errors[kind], type=pa.string())
    return pa.RecordBatch.from_pydict({name: columns.get(name, pa.nulls(len(batch))) for name in OPERATIONS.names})


def opened(page: Path, folder: Path) -> None:
    frame, empty = folder / "frame.html", folder / "empty.html"
    frame.write_text(FRAME.format(page=page.as_uri()), encoding="utf-8")
    empty.write_text("<p>empty</p>", encoding="utf-8")
    loads = [float(chromium(frame, folder, "--dump-dom").partition("<pre>")[2].partition("</pre>")[0]) for _ in "123"]
    turns = ", ".join(f"{one:.0f}" for one in loads)
    print(f"loaded after {statistics.median(loads):.0f} ms (of {turns});")
    for what, height in SCREENS.items():
        took = {one.name: [shot_s(one, folder, height=height) for _ in range(TURNS)] for one in (page, empty)}
        later_s = statistics.median(took[page.name]) - statistics.median(took[empty.name])
        print(f"a picture of the {what} {later_s:.2f} s later than that of an empty page; load {os.getloadavg()}")


def shot_s(page: Path, folder: Path, *, height: int) -> float:
    begin = time.perf_counter()
    chromium(page, folder, f"--window-size=1280,{height}", f"--screenshot={folder / 'shot.png'}")
    return time.perf_counter() - begin


def chromium(page: Path, folder: Path, *options: str) -> str:
    plain = ("--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files")
    command = ["chromium", *plain, f"--user-data-dir={folder / 'profile'}", *options, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout


if __name__ == "__main__":
    main()
