"""Measures how late or early gmq delivers jobs in simulation: 1,000 a second, each due in 1 to 5 whole seconds.

One zone without lag. Each start of a mode begins at another point of the wall clock's second, which a timer that looks
every so many whole seconds keeps. Lateness is from when a job was due to the end of the pop that delivered it first.
``--pops`` bounds how many jobs a second all consumers take and acknowledge together, as a port does; without it they
take a second's jobs at once.

    .venv/bin/python benchmarks/gmq_lateness.py [--modes MODE ...] [--starts 5] [--seconds 60] [--pops 1600]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from environment import environment

from zonelab.analysis.runs.history import OPERATIONS
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.run.simulated import simulate
from zonelab.scenarios.run_files.tables import OPERATIONS_NAME, MemoryTables, rows
from zonelab.scenarios.spec.reading import scenario_of

MODES = ("default", "compat", "hardened")
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000


CONSUMERS = 30


def consumers(pops_per_s: float | None) -> dict[str, Any]:
    if pops_per_s is None:
        return {"per_zone": CONSUMERS, "batch": 10, "wait_ms": 1_000, "processing": "0"}
    return {"per_zone": CONSUMERS, "batch": 1, "wait_ms": 1_000, "processing": f"{CONSUMERS / pops_per_s * 1e3:.3f}ms"}


def scenario(
    mode: str, *, seed: int, seconds: float, rate_per_s: float, delays_s: range, pops_per_s: float | None
) -> dict[str, Any]:
    delays = [f"{1 / len(delays_s)}*constant:{delay_s}s" for delay_s in delays_s]
    return {
        "name": "gmq-lateness",
        "arm": "sim",
        "seed": seed,
        "topology": {"zones": ["a"]},
        "persistence": "none",
        "queue": {"engine": "gmq", "unack_ms": 30_000, **({"compat": True} if mode == "compat" else {"mode": mode})},
        "load": {"duration_s": seconds, "rate_per_s": rate_per_s, "delay": " + ".join(delays)},
        "consumers": consumers(pops_per_s),
        "drain": {"bound_s": 120},
    }


def begun_at(part: float) -> Callable[[SimCluster], Testbed]:
    """Sets every clock of a run forward by this part of a second; times in its history do without."""
    later_ns = round(part * NS_PER_S)

    def observe(cluster: SimCluster) -> Testbed:
        for clock in cluster.clocks.values():
            clock.jump(later_ns)
        return cluster

    return observe


def lateness_ms(tables: MemoryTables, epoch_ns: int) -> list[float]:
    """Return the lateness of every delivered message in ascending order."""
    due: dict[str, int] = {}
    delivered: dict[str, int] = {}
    for row in rows(tables, OPERATIONS_NAME, OPERATIONS.names):
        if row["type"] != "ok" or row["message_id"] is None:
            continue
        if row["f"] == "push":
            due[row["message_id"]] = row["due_ms"]
        elif row["f"] == "pop":
            delivered.setdefault(row["message_id"], row["time_ns"])
    return sorted((epoch_ns + at_ns) / NS_PER_MS - due[name] for name, at_ns in delivered.items())


def measure(told: dict[str, Any], begin: float) -> dict[str, float]:
    """One run that begins at this part of a second."""
    tables = MemoryTables()
    begin_s = time.process_time()
    done = simulate(scenario_of(told, source=Path(__file__).name), tables, observe=begun_at(begin))
    late_ms = lateness_ms(tables, done.epoch_ns)
    hundredths = statistics.quantiles(late_ms, n=100)
    values = {"earliest": late_ms[0], "p50": hundredths[49], "p99": hundredths[98], "latest": late_ms[-1]}
    told_ms = {name: round(value) for name, value in values.items()}
    return {"jobs": len(late_ms), **told_ms, "processor_s": round(time.process_time() - begin_s)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=1_000, help="jobs per second")
    parser.add_argument("--delay-min", type=int, default=1, help="seconds")
    parser.add_argument("--delay-max", type=int, default=5, help="seconds")
    parser.add_argument("--pops", type=float, help="jobs that all consumers take together, a second")
    options = parser.parse_args(arguments)
    print(json.dumps({"benchmark": "gmq_lateness", **vars(options), **environment()}))
    for mode in options.modes:
        results = []
        for start in range(1, options.starts + 1):
            told = scenario(
                mode,
                seed=start,
                seconds=options.seconds,
                rate_per_s=options.rate,
                delays_s=range(options.delay_min, options.delay_max + 1),
                pops_per_s=options.pops,
            )
            results.append(measure(told, (start - 1) / options.starts))
            print(json.dumps({"mode": mode, "start": start, **results[-1]}), flush=True)
        medians = {name: statistics.median(one[name] for one in results) for name in ("p50", "p99", "latest")}
        earliest = min(one["earliest"] for one in results)
        print(json.dumps({"mode": mode, "medians_of_starts": medians, "earliest": earliest}), flush=True)


if __name__ == "__main__":
    main()
