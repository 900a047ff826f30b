"""Limits of what runs with a fault show of outages: times that lie beyond the longest run, and shortened time-outs."""

from collections.abc import Iterator
from itertools import chain

from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.evaluate.rollout import Rollout


def thresholds(scenario: Scenario) -> dict[str, float]:
    """Return the times of ``scenario``, in seconds, after which an outage costs something else than before, by name."""
    found = {"the lease": scenario.queue.unack_ms / 1000}
    if scenario.replication.anti_entropy is not None:
        found["retention of anti-entropy"] = scenario.replication.anti_entropy.retention_s
    if scenario.replication.hinted_handoff is not None and (rate := _rate(scenario)):
        found["the queue of hints"] = scenario.replication.hinted_handoff.queue / rate
    return found


def beyond(rollout: Rollout) -> Iterator[str]:
    """Yield for each class of faults what it is not simulated long enough for, in the words of the report."""
    times = dict(chain.from_iterable(thresholds(one.scenario).items() for one in rollout.settings))
    for fault in rollout.year.faults:
        longest_s = fault.lengths_s[-1]
        if fault.lasts_s > longest_s:
            passed = [f"{name} ({at_s:g} s)" for name, at_s in times.items() if longest_s < at_s <= fault.lasts_s]
            yield (
                f"'{fault.name}' lasts {fault.lasts_s:g} s in the year and at most {longest_s:g} s in these "
                "runs; what the longer one costs is the line through its lengths"
            ) + (f", which knows nothing of {' and '.join(passed)}" if passed else "")


def shortened(rollout: Rollout) -> Iterator[str]:
    """Yield which outages are shortened, where time-outs and reconnections are shorter than Dynomite's."""
    factors = sorted({one.scenario.replication.time_factor for one in rollout.settings} - {1.0})
    if factors and rollout.year.faults:
        names = ", ".join(f"'{fault.name}'" for fault in rollout.year.faults)
        yield (
            f"replication.time_factor is {' and '.join(f'{one:g}' for one in factors)}: time-outs and reconnections "
            f"take so many times as long as Dynomite's, so {names} cost another time than in production; 1 is its own"
        )


def _rate(scenario: Scenario) -> float:
    """Return the messages a second, each of which is one write at least."""
    return sum(map(scenario.load.rate_of, scenario.zones))
