"""Speed of hunting: complete schedules a second on one core, with what they did, beside bare SimPy.

    python benchmarks/hunt_speed.py

A schedule is one seed: about 100 messages over three zones at DC_QUORUM, with drawn faults, and all checks. Times are
processor time. Bare SimPy, with 20 processes that do nothing, takes turns with the schedules, so that a busy machine
slows both; the ratio of the two says more than either.
"""

import json
import os
import time
from collections.abc import Callable, Iterator

import simpy
from environment import environment

from cluster.sim.cluster import SimCluster
from cluster.testbed import Testbed
from scenarios.hunt import Quarry, hunt_seed
from scenarios.load import scenario_of
from scenarios.trial import attempt

SEEDS = range(1, 41)
BARE_PROCESSES = 20
BARE_EVENTS = 5_000  # about as long as a quarter of a schedule

SCENARIO = {
    "name": "hunt-speed",
    "level": "DC_QUORUM",
    "persistence": "none",
    "links": {"lag": "lognormal:1ms:5ms"},
    "queue": {"unack_ms": 500, "unack_interval_ms": 250},
    "load": {"duration_s": 1, "rate_per_s": 33.4},
    "consumers": {"per_zone": 1, "batch": 10, "wait_ms": 500, "processing": "exponential:1ms"},
    "faults": [
        {"kind": "pause", "zone": "b", "at_s": 0.2, "for_s": 0.2},
        {"kind": "cut", "isolate": "c", "at_s": 0.5, "for_s": 0.2},
        {"kind": "consumer_crash", "zone": "a", "at_s": 0.3, "for_s": 0.3},
    ],
    "drain": {"bound_s": 5},
}


def seconds(body: Callable[[], object]) -> float:
    begin_s = time.process_time()
    body()
    return time.process_time() - begin_s


def bare_simpy() -> None:
    bare = simpy.Environment()

    def process() -> Iterator[simpy.Event]:
        for _ in range(BARE_EVENTS // BARE_PROCESSES):
            yield bare.timeout(1)

    for _ in range(BARE_PROCESSES):
        bare.process(process())
    bare.run()


def link_messages(quarry: Quarry, seed: int) -> int:
    """What the links between the coordinators carried in the schedule of ``seed``; not timed."""
    clusters: list[SimCluster] = []

    def observe(cluster: SimCluster) -> Testbed:
        clusters.append(cluster)
        return cluster

    attempt(quarry.run_of(seed), observe=observe)
    return sum(link.sent for link in clusters[0].links.values())


def main() -> None:
    quarry = Quarry(scenario=scenario_of(SCENARIO, source="hunt_speed.py"), messages=100)
    attempt(quarry.run_of(0))
    spent_s = bare_s = 0.0
    outcomes = []
    for seed in SEEDS:
        bare_s += seconds(bare_simpy)
        spent_s += seconds(lambda seed=seed: outcomes.append(hunt_seed(quarry, seed)))  # type: ignore[misc]
    runs = [outcome for outcome in outcomes for _ in range(1 + outcome.repeated)]
    schedules = len(runs)
    messages = sum(outcome.pushed for outcome in runs)
    events = sum(outcome.events for outcome in runs)
    virtual_s = sum(outcome.virtual_ns for outcome in runs) / 1e9
    carried = sum(link_messages(quarry, outcome.seed) * (1 + outcome.repeated) for outcome in outcomes)
    bare_per_s = BARE_EVENTS * len(SEEDS) / bare_s
    print(json.dumps({**environment(), "load_average": [round(load, 1) for load in os.getloadavg()]}))
    print(f"schedules      {schedules / spent_s:10,.1f} a second of one core's time ({schedules} in {spent_s:.1f} s)")
    print(f"messages       {messages / spent_s:10,.0f} a second, pushed, delivered, acknowledged and checked")
    print(f"link messages  {carried / spent_s:10,.0f} a second, {carried / messages:.1f} a message")
    print(f"events         {events / spent_s:10,.0f} a second, {events / schedules:,.0f} a schedule")
    print(f"virtual time   {virtual_s / spent_s:10,.1f} seconds a second")
    print(f"bare SimPy     {bare_per_s:10,.0f} events a second; {events / spent_s / bare_per_s:.3f} of it is reached")


if __name__ == "__main__":
    main()
