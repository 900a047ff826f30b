"""Peak memory of a whole run, from set-up to verdict and report, with many messages.

Runs ``zonelab run steady`` without lag as a program of its own, with one consumer a zone that takes large batches, and
reads the peak resident set size of that program (not of the servers) from the kernel.

    .venv/bin/python benchmarks/run_memory.py [--messages 1000000] [--rate 400]
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from environment import environment

ZONES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=400, help="messages per second and zone")
    options = parser.parse_args()
    with TemporaryDirectory(prefix="zonelab-benchmark-") as folder:
        result = run(Path(folder), messages=options.messages, rate=options.rate)
    print(json.dumps({"benchmark": "run_memory", **environment(), "results": result}, indent=1))


def run(folder: Path, *, messages: int, rate: float) -> dict[str, object]:
    settings = {
        "load.duration_s": messages / ZONES / rate,
        "load.rate_per_s": rate,
        "load.delay": "0",
        "links.lag": "0",
        "queue.unack_ms": 60_000,
        "queue.unack_interval_ms": 10_000,
        "persistence": "none",
        "replication.time_factor": 1,
        "consumers.per_zone": 2,
        "consumers.batch": 50,
        "consumers.wait_ms": 100,
        "consumers.processing": "0",
        "drain.bound_s": 600,
    }
    command = [str(Path(sys.executable).with_name("zonelab")), "run", "steady", "--level", "DC_QUORUM", "--json"]
    command += ["--dir", str(folder)]
    command += [word for path, value in settings.items() for word in ("--set", f"{path}={value}")]
    begin = monotonic()
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert program.stdout is not None
    told = program.stdout.read()
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    summary = json.loads(told)
    return {
        "peak_rss_mb": round(usage.ru_maxrss / 1024),
        "seconds": round(monotonic() - begin),
        "exit_code": program.returncode,
        "verdict": summary,
    }


if __name__ == "__main__":
    main()
