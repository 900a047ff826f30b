"""A sweep on Spark beside the same sweep in processes: runs a second, start included, in turns.

The aim is 0.7 for Spark on ``local[2]`` beside ``--jobs 2``, for sweeps of 5 minutes or more. Results must be equal.

    .venv/bin/python benchmarks/sweep_speed.py [--runs 150] [--turns 1]
"""

import argparse
import json
import subprocess
import sys
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from environment import environment

SCENARIO = "zone-crash"
WAYS = {"--jobs 2": ("--jobs", "2"), "--master local[2]": ("--master", "local[2]")}


def swept(words: tuple[str, ...], *, runs: int) -> tuple[float, Any]:
    """Seconds, and the rows of the table."""
    program = [sys.executable, "-c", "from zonelab.app.cli.main import main; main()"]
    with TemporaryDirectory() as folder:
        command = [*program, "sweep", SCENARIO, "--vary", "level=DC_ONE,DC_QUORUM", "--json"]
        command += ["--runs", str(runs), "--dir", folder, *words]
        begin_s = monotonic()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        return monotonic() - begin_s, json.loads(done.stdout)["settings"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=150, help="seeds for each of two settings")
    parser.add_argument("--turns", type=int, default=1)
    options = parser.parse_args()
    print(json.dumps(environment()))
    for turn in range(options.turns):
        took = {way: swept(words, runs=options.runs) for way, words in WAYS.items()}
        for way, (took_s, _) in took.items():
            per_s = 2 * options.runs / took_s
            print(f"turn {turn}: {way}: {2 * options.runs} runs in {took_s:.1f} s, {per_s:.2f} a second")
        (processes_s, here), (spark_s, there) = took.values()
        print(f"turn {turn}: speed on Spark {processes_s / spark_s:.2f} of that in processes; equal: {here == there}")


if __name__ == "__main__":
    main()
