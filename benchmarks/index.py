"""Measures the time of an index of many runs, and of one run more, beside reading one file of each run.

``python benchmarks/index.py [--runs 1000] [--turns 5]`` makes so many runs in a temporary folder: copies of one checked
run by hand with seeds, programs and verdicts of their own. It prints medians of: ``zonelab index`` without an index of
before, again with one more run, again with nothing new, each as a program of its own and as the work in it alone; and
of reading every ``run.json``, to which all are compared.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from environment import environment

from zonelab.analysis.checkers.check import check
from zonelab.analysis.run_index.index import JSON_NAME
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.summary.run_summary import summarise
from zonelab.app.verbs.index import index_runs

MESSAGES = 50
PROGRAMS = 10
FILES = ("run.json", "verdict.json", "summary.json")


def model_run(path: Path) -> Path:
    """A run of some messages, of which one is lost, checked and summed up."""
    builder = RunBuilder(path, scenario="many")
    builder.push("lost", at_ms=1)
    for number in range(MESSAGES):
        builder.push(f"m-{number}", at_ms=2 + number)
        builder.ack(f"m-{number}", builder.pop(f"m-{number}", at_ms=300 + number), at_ms=400 + number)
    builder.write(command="zonelab run many --level DC_ONE --seed 1")
    check(path)
    summarise(path)
    return path


def copy_of(model: Path, folder: Path, number: int) -> None:
    """Every seventh fails as the model does; the others are valid."""
    run = folder / "many" / f"20261123T{number:06}-DC_ONE-{number}"
    run.mkdir(parents=True)
    told = {name: json.loads((model / name).read_text()) for name in FILES}
    told["run.json"] |= {"run_id": f"{number:016x}", "seed": number, "program": f"{number % PROGRAMS:016x}"}
    if number % 7:
        told["verdict.json"] |= {"valid": True, "reasons": []}
        told["verdict.json"]["sections"]["queue"]["counts"] = {}
    for name, value in told.items():
        (run / name).write_text(json.dumps(value, indent=2))


def took_s(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of the clock, and of a processor, which a busy machine leaves nearly alone."""
    begin_s, begin = monotonic(), os.times()
    work()
    end = os.times()
    return monotonic() - begin_s, sum(end[:4]) - sum(begin[:4])


def as_program(folder: Path) -> None:
    program = "from zonelab.app.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", program, "index", str(folder)], check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    runs = options.runs
    print(json.dumps(environment()))
    with TemporaryDirectory(prefix="zonelab-index-") as place:
        folder, model, made = Path(place) / "runs", model_run(Path(place) / "model"), runs
        for number in range(runs):
            copy_of(model, folder, number)
        times: dict[str, list[tuple[float, float]]] = {}
        for _ in range(options.turns):
            reading = took_s(lambda: [path.read_bytes() for path in folder.glob("*/*/run.json")])
            times.setdefault("reading every run.json", []).append(reading)
            for kind, work in (("as a program", as_program), ("the work alone", index_runs)):
                (folder / JSON_NAME).unlink(missing_ok=True)
                times.setdefault(f"from nothing, {kind}", []).append(took_s(lambda work=work: work(folder)))
                copy_of(model, folder, made)
                made += 1
                times.setdefault(f"one further run, {kind}", []).append(took_s(lambda work=work: work(folder)))
                times.setdefault(f"nothing new, {kind}", []).append(took_s(lambda work=work: work(folder)))
        reading_s = statistics.median(wall_s for wall_s, _ in times["reading every run.json"])
        for name, found in times.items():
            wall_s, cpu_s = (statistics.median(each) for each in zip(*found, strict=True))
            extent = f"{min(found)[0]:.3f} to {max(found)[0]:.3f}"
            print(
                f"{name:<34} {wall_s:7.3f} s ({extent}), {wall_s / reading_s:6.1f} x reading; {cpu_s:.2f} s processor"
            )
        print("load average", *(f"{load:.1f}" for load in os.getloadavg()))
        size = (folder / "index.html").stat().st_size / 1e6
        print(f"{made:,} runs; page of {size:.2f} MB; {shutil.disk_usage(place).free / 1e9:.0f} GB free")


if __name__ == "__main__":
    main()
