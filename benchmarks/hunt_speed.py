"""Speed of hunting: complete schedules a second on one core, by kind of queue, beside bare SimPy.

    python benchmarks/hunt_speed.py

A schedule is one seed: about 100 messages over three zones at DC_QUORUM, with drawn faults, and all checks. Times are
processor time. The kinds and bare SimPy, with 20 processes that do nothing, take turns, so that a busy machine slows
all of them: a share of bare SimPy's speed says more than a figure of its own.
"""

import json
import os
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import simpy
from environment import environment

from zonelab.analysis.checkers.check import check_recorded
from zonelab.analysis.observation import Observation
from zonelab.cluster.sim.cluster import SimCluster
from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.run.simulated import recorded, simulate
from zonelab.scenarios.run.trial import attempt
from zonelab.scenarios.run_files.tables import MemoryTables
from zonelab.scenarios.spec.reading import scenario_of
from zonelab.studies.hunt.seeds import EVENTS, TWICE, VIRTUAL_NS, HuntTarget, hunt_seed
from zonelab.studies.many_runs.task import FinishedTask, RunTask, finish

TURNS = 5
SEEDS_PER_TURN = 8
BARE_PROCESSES = 20
BARE_EVENTS = 40_000  # about as long as two schedules

SCENARIO: Mapping[str, Any] = {
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

KINDS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "dyno, 1 a push": {},
    "dyno-v2, 10 a push": {"queue": {"engine": "dyno-v2"}, "load": {"batch": 10}},
    "hardened, 10 a push": {"queue": {"mode": "hardened"}, "load": {"batch": 10}},
}
"""Sections in which each kind's scenario differs."""


@dataclass
class Measured:
    """Times of the schedules of one kind, by turn, and what they did."""

    target: HuntTarget
    spent_s: list[float] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)
    outcomes: list[Observation] = field(default_factory=list)

    def turn(self, seeds: range) -> None:
        run = partial(hunt_seed, self.target)
        done: list[FinishedTask[Observation]] = []
        spent_s = seconds(lambda: done.extend(finish(run, RunTask("", seed, seed)) for seed in seeds))
        found = [one.result for one in done if one.result is not None]
        # One seed in twenty is run twice.
        runs = [outcome for outcome in found for _ in range(1 + int(outcome.numbers.get(TWICE, 0)))]
        self.spent_s.append(spent_s)
        self.per_s.append(len(runs) / spent_s)
        self.outcomes += runs

    def a_second(self, amount: Callable[[Observation], float]) -> float:
        return sum(map(amount, self.outcomes)) / sum(self.spent_s)


def target_of(changes: Mapping[str, Mapping[str, Any]]) -> HuntTarget:
    sections = {section: {**SCENARIO[section], **changed} for section, changed in changes.items()}
    return HuntTarget(scenario=scenario_of({**SCENARIO, **sections}, source="hunt_speed.py"), messages=100)


def seconds(body: Callable[[], object]) -> float:
    begin_s = time.process_time()
    body()
    return time.process_time() - begin_s


def bare_simpy() -> None:
    bare = simpy.Environment()

    def process() -> Generator[simpy.Event, Any, None]:
        for _ in range(BARE_EVENTS // BARE_PROCESSES):
            yield bare.timeout(1)

    for _ in range(BARE_PROCESSES):
        bare.process(process())
    bare.run()


def link_messages(target: HuntTarget, seed: int) -> int:
    """Return the number of messages on the links between coordinators in the schedule of ``seed``; not timed."""
    clusters: list[SimCluster] = []

    def observe(cluster: SimCluster) -> Testbed:
        clusters.append(cluster)
        return cluster

    attempt(target.run_of(seed), observe=observe)
    return sum(link.sent for link in clusters[0].links.values())


def beside_the_run_ms(target: HuntTarget, seeds: range) -> tuple[float, float]:
    """Return the time that drawing a schedule takes, and that of checking it."""
    drawn_s = checked_s = 0.0
    for seed in seeds:
        drawn_s += seconds(lambda seed=seed: target.run_of(seed))  # type: ignore[misc]
        scenario, tables = target.run_of(seed), MemoryTables()
        run = recorded(scenario, simulate(scenario, tables, make_queue=target.make_queue), tables)
        checked_s += seconds(lambda run=run: check_recorded(run))  # type: ignore[misc]
    return 1e3 * drawn_s / len(seeds), 1e3 * checked_s / len(seeds)


def report(name: str, kind: Measured, bare_per_s: float) -> None:
    schedules_per_s, events_per_s = kind.a_second(lambda _: 1), kind.a_second(lambda one: one.numbers[EVENTS])
    seeds = range(1, 1 + SEEDS_PER_TURN)
    carried = sum(link_messages(kind.target, seed) for seed in seeds) / len(seeds)
    drawn_ms, checked_ms = beside_the_run_ms(kind.target, seeds)
    took_ms, events = 1e3 / schedules_per_s, events_per_s / schedules_per_s
    low, high = min(kind.per_s), max(kind.per_s)
    rows = {
        "schedules": (median(kind.per_s), f"a second of one core's time ({low:.1f} to {high:.1f})"),
        "a schedule": (took_ms, f"ms, with drawing {drawn_ms:.1f} and checking {checked_ms:.1f}; {events:,.0f} events"),
        "messages": (kind.a_second(lambda one: one.begun), "a second, pushed, delivered, acknowledged and checked"),
        "link messages": (carried * schedules_per_s, f"a second, {carried:,.0f} a schedule"),
        "events": (events_per_s, f"a second, {events_per_s / bare_per_s:.3f} of bare SimPy's"),
        "virtual time": (kind.a_second(lambda one: one.numbers[VIRTUAL_NS] / 1e9), "seconds a second"),
    }
    print(f"\n{name}")
    for what, (figure, unit) in rows.items():
        print(f"  {what:<14} {figure:10,.1f} {unit}")


def main() -> None:
    kinds = {name: Measured(target_of(changes)) for name, changes in KINDS.items()}
    for kind in kinds.values():
        attempt(kind.target.run_of(0))
    bare_s = 0.0
    for turn in range(TURNS):
        bare_s += seconds(bare_simpy)
        for kind in kinds.values():
            kind.turn(range(1 + turn * SEEDS_PER_TURN, 1 + (turn + 1) * SEEDS_PER_TURN))
    print(json.dumps({**environment(), "load_average": [round(load, 1) for load in os.getloadavg()]}))
    bare_per_s = BARE_EVENTS * TURNS / bare_s
    print(
        f"bare SimPy       {bare_per_s:8,.0f} events a second; figures are medians of {TURNS} turns, with their range"
    )
    for name, kind in kinds.items():
        report(name, kind, bare_per_s)


if __name__ == "__main__":
    main()
