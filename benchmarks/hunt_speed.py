"""Speed of hunting: complete schedules a second on one core, and where the time goes.

python benchmarks/hunt_speed.py

A schedule is one seed: about 100 messages over three zones at DC_QUORUM, with drawn faults, and all checks.
"""

import time

from scenarios.hunt import Quarry, hunt_seed
from scenarios.load import scenario_of
from scenarios.trial import attempt

SEEDS = range(1, 41)

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


def main() -> None:
    quarry = Quarry(scenario=scenario_of(SCENARIO, source="hunt_speed.py"), messages=100)
    attempt(quarry.run_of(0))
    begin_s = time.process_time()
    outcomes = [hunt_seed(quarry, seed) for seed in SEEDS]
    spent_s = time.process_time() - begin_s
    schedules = len(outcomes) + sum(outcome.repeated for outcome in outcomes)
    messages = sum(outcome.pushed for outcome in outcomes) / len(outcomes) * schedules
    virtual_s = sum(outcome.virtual_ns for outcome in outcomes) / 1e9 / len(outcomes) * schedules
    events = sum(outcome.events for outcome in outcomes) / len(outcomes) * schedules
    print(f"schedules   {schedules / spent_s:10,.1f} a second of one core's time ({schedules} in {spent_s:.1f} s)")
    print(f"messages    {messages / spent_s:10,.0f} a second, pushed, delivered, acknowledged and checked")
    print(f"events      {events / spent_s:10,.0f} a second, {events / schedules:,.0f} a schedule")
    print(f"virtual     {virtual_s / spent_s:10,.1f} seconds a second")


if __name__ == "__main__":
    main()
