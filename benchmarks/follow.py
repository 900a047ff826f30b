"""Measures what ``zonelab analyze --follow`` costs a soak beside it: confirmed operations a second, p99 latency.

One soak on real servers; in turns nobody follows it, and a program of its own does, from its start to its end by
Ctrl-C. Each turn that is followed is compared with the one before; the median of these ratios counts.

    .venv/bin/python benchmarks/follow.py [--turns 4] [--turn-s 60] [--rate 200] [--least-rate 0.9 --most-p99 1.2]
"""

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from environment import environment

from zonelab.analysis.runs.directory import RunDirectory

ZONELAB = str(Path(sys.executable).with_name("zonelab"))
WARM_UP_S = 15
"""Before the first turn: servers and clients have begun."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """``begin_ns``, ``end_ns``: run time."""

    followed: bool
    begin_ns: int
    end_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    followed: bool
    operations_per_s: float
    p99_ms: dict[str, float]


def soak(folder: Path, *, turns: int, turn_s: float, rate: float) -> tuple[Path, list[Turn]]:
    seconds = WARM_UP_S + 2 * turns * (turn_s + 10)
    settings = {"load.duration_s": seconds, "load.rate_per_s": rate, "load.delay": "uniform:0ms:500ms"}
    words = [word for path, value in settings.items() for word in ("--set", f"{path}={value}")]
    program = subprocess.Popen(
        [ZONELAB, "run", "steady", "--on", "process", "--dir", str(folder / "runs"), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not (found := list(folder.glob("runs/steady/2*/history/operations-*[0-9].parquet"))):
            time.sleep(0.5)
        run = found[0].parents[1]
        time.sleep(WARM_UP_S)
        done = [turn(run, folder, followed=bool(number % 2), seconds=turn_s) for number in range(2 * turns)]
        program.wait()
    finally:
        program.kill()
        program.wait()
    return run, done


def turn(run: Path, folder: Path, *, followed: bool, seconds: float) -> Turn:
    epoch_ns = RunDirectory.open(run).info.epoch_ns
    begin_ns = time.time_ns() - epoch_ns
    if followed:
        program = subprocess.Popen(
            [ZONELAB, "analyze", str(run), "--out", str(folder / "tables"), "--follow"], stderr=subprocess.DEVNULL
        )
        time.sleep(seconds)
        end_ns = time.time_ns() - epoch_ns
        program.send_signal(signal.SIGINT)
        program.wait()
    else:
        time.sleep(seconds)
        end_ns = time.time_ns() - epoch_ns
    return Turn(followed=followed, begin_ns=begin_ns, end_ns=end_ns)


def measured(run: Path, turns: Sequence[Turn]) -> list[Measured]:
    kinds: list[list[tuple[str, int]]] = [[] for _ in turns]
    for batch in RunDirectory.open(run).operations(["index", "time_ns", "invoke_ns", "f", "type"]):
        for row in {row["index"]: row for row in batch.to_pylist()}.values():
            if row["type"] == "ok":
                for found, one in zip(kinds, turns, strict=True):
                    if one.begin_ns <= row["time_ns"] < one.end_ns:
                        found.append((row["f"], row["time_ns"] - row["invoke_ns"]))
    return [
        Measured(
            followed=one.followed,
            operations_per_s=round(len(found) / ((one.end_ns - one.begin_ns) / 1e9), 1),
            p99_ms={
                f: round(float(np.quantile([took for kind, took in found if kind == f], 0.99)) / 1e6, 2)
                for f in ("push", "ack")
            },
        )
        for found, one in zip(kinds, turns, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--turn-s", type=float, default=60)
    parser.add_argument("--rate", type=float, default=200, help="messages per second and zone")
    parser.add_argument("--least-rate", type=float, default=0.9)
    parser.add_argument("--most-p99", type=float, default=1.2)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="zonelab-follow-") as folder:
        run, turns = soak(Path(folder), turns=given.turns, turn_s=given.turn_s, rate=given.rate)
        found = measured(run, turns)
    pairs = list(zip(found[::2], found[1::2], strict=True))
    rate = median(followed.operations_per_s / alone.operations_per_s for alone, followed in pairs)
    p99 = {f: median(followed.p99_ms[f] / alone.p99_ms[f] for alone, followed in pairs) for f in ("push", "ack")}
    held = rate >= given.least_rate and max(p99.values()) <= given.most_p99
    ratios = {"rate": round(rate, 3), "p99": {f: round(value, 3) for f, value in p99.items()}, "held": held}
    print(
        json.dumps(
            {"benchmark": "follow", **environment(), **vars(given), "turns": [asdict(one) for one in found], **ratios},
            indent=1,
        )
    )
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
