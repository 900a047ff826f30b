"""Growth of a simulated run with its length: time a message and peak memory, from 1,000 messages to a million.

    python benchmarks/simulation_scale.py [--messages 1000 10000 100000 1000000]

A run is dyno-queues in three zones at DC_QUORUM with log-normal lag, histories in files, and all checks. Each length
is a process of its own. Times are processor time, so that other work on the machine counts little.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from environment import environment

from zonelab.analysis.checkers.check import check
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.run.simulated import NullWatcher, run_in_sim
from zonelab.scenarios.spec.reading import scenario_of

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
RATE_PER_S = 100.0
ZONES = 3


def scenario(messages: int) -> dict[str, Any]:
    return {
        "name": "simulation-scale",
        "arm": "sim",
        "level": "DC_QUORUM",
        "persistence": "none",
        "links": {"lag": "lognormal:1ms:5ms"},
        "queue": {"unack_ms": 10_000, "unack_interval_ms": 5_000},
        "load": {"duration_s": messages / ZONES / RATE_PER_S, "rate_per_s": RATE_PER_S},
        "consumers": {"per_zone": 4, "batch": 10, "wait_ms": 200, "processing": "exponential:1ms"},
        "drain": {"bound_s": 60},
    }


def measure(messages: int) -> dict[str, Any]:
    """One run in this process."""
    clusters: list[SimCluster] = []

    def observe(cluster: SimCluster) -> Testbed:
        clusters.append(cluster)
        return cluster

    resolved = scenario_of(scenario(messages), source=Path(__file__).name)
    with TemporaryDirectory(prefix="zonelab-benchmark-") as folder:
        begin_s = time.process_time()
        run, _ = run_in_sim(resolved, runs=Path(folder), watcher=NullWatcher(), command="", observe=observe)
        ran_s = time.process_time()
        verdict = check(run)
        checked_s = time.process_time()
    cluster = clusters[0]
    return {
        "messages": verdict.totals.pushed,
        "valid": verdict.valid,
        "run_s": ran_s - begin_s,
        "check_s": checked_s - ran_s,
        "events": cluster.runtime.trace.events,
        "link_messages": sum(link.sent for link in cluster.links.values()),
        "virtual_s": cluster.runtime.now_ns() / 1e9,
    }


def measure_apart(messages: int) -> dict[str, Any]:
    """The same in a process of its own, with its peak resident set."""
    command = [sys.executable, __file__, "--in-this-process", str(messages)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    told = program.stdout.read()
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode:
        raise SystemExit(f"the run of {messages} messages ended with exit code {program.returncode}")
    return {**json.loads(told), "peak_rss_mb": round(usage.ru_maxrss / 1024)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--in-this-process", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_this_process:
        print(json.dumps(measure(options.in_this_process)))
        return
    print(json.dumps(environment()))
    for messages in options.messages:
        show(measure_apart(messages))


def show(result: dict[str, Any]) -> None:
    messages, run_s = result["messages"], result["run_s"]
    print(
        f"{messages:>9,} messages, valid {result['valid']}: "
        f"{run_s / messages * 1e6:,.0f} us a message, {result['check_s'] / messages * 1e6:,.0f} us to check it, "
        f"peak {result['peak_rss_mb']:,} MB; "
        f"{messages / run_s:,.0f} messages, {result['link_messages'] / run_s:,.0f} link messages, "
        f"{result['events'] / run_s:,.0f} events and {result['virtual_s'] / run_s:.2f} virtual seconds a second"
    )


if __name__ == "__main__":
    main()
