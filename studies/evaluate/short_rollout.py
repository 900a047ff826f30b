"""A rollout as real zones can run it in minutes: its runs, faults and work shortened, its load thinned."""

import re
from dataclasses import replace
from math import ceil

from zonelab.scenarios.spec.evaluate import ExpectedFaults
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.spec.thinning import most_thinned, refusal, thinned
from zonelab.studies.evaluate.rollout import Rollout

LOAD_S, DRAIN_S = 6.0, 6.0
"""Load of a run, and what follows it at most: 12 s together."""

WORK_S = 1.0
FAULT_LENGTHS_S = (1.0, 2.0, 4.0)
RATE_PER_S = 30.0
"""Messages a second of all zones that a run has about, if the load can be thinned to them."""

_TIME = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s)\b")
_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def short_rollout(rollout: Rollout) -> Rollout:
    """Return ``rollout`` with runs of at most 12 s, work of at most 1 s, faults of at most 4 s, and its load thinned.

    Medians of push, lease and ack are those of one operation, and stay; ``rollout`` itself if it is as short.
    """
    scenarios = [one.scenario for one in rollout.settings]
    k = _thinning(scenarios)
    settings = tuple(replace(one, scenario=_short(thinned(one.scenario, k).scenario)) for one in rollout.settings)
    faults = {name: _short_class(one) for name, one in rollout.evaluate.faults.items()}
    if faults == rollout.evaluate.faults and settings == rollout.settings:
        return rollout
    return replace(rollout, settings=settings, evaluate=rollout.evaluate.model_copy(update={"faults": faults}))


def _thinning(scenarios: list[Scenario]) -> int:
    """Return the least thinning with which no run has more than ``RATE_PER_S``, or the largest that there is."""
    wanted = max(ceil(one.rate_per_s / RATE_PER_S) for one in scenarios)
    most = min(map(most_thinned, scenarios))
    found = [k for k in range(1, most + 1) if not any(refusal(one, k) for one in scenarios)]
    return min((k for k in found if k >= wanted), default=found[-1])


def _short(scenario: Scenario) -> Scenario:
    load, drain, consumers = scenario.load, scenario.drain, scenario.consumers
    return scenario.model_copy(
        update={
            "load": load.model_copy(update={"duration_s": min(load.duration_s, LOAD_S)}),
            "drain": drain.model_copy(update={"bound_s": min(drain.bound_s, DRAIN_S)}),
            "consumers": consumers.model_copy(update={"processing": _TIME.sub(_at_most, consumers.processing)}),
        }
    )


def _at_most(time: re.Match[str]) -> str:
    return time[0] if float(time[1]) * _UNITS_S[time[2]] <= WORK_S else f"{WORK_S:g}s"


def _short_class(faults: ExpectedFaults) -> ExpectedFaults:
    """Return the class in ``FAULT_LENGTHS_S``, with the times of its parts as parts of the longest."""
    real_s = faults.event_s if faults.lengths_s is None else faults.lengths_s[-1]
    longest_s = FAULT_LENGTHS_S[-1]
    if real_s <= longest_s:
        return faults
    shorter = longest_s / real_s
    parts = tuple(
        part.model_copy(
            update={
                "after_s": min(part.after_s * shorter, FAULT_LENGTHS_S[0] * 0.9),
                "for_s": None if part.for_s is None else round(part.for_s * shorter, 3),
            }
        )
        for part in faults.fault
    )
    lengths_s = None if faults.own_s is not None else FAULT_LENGTHS_S
    return faults.model_copy(update={"fault": parts, "lengths_s": lengths_s})
