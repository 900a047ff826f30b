"""Limits of what runs with a fault show of outages: times that lie beyond the longest run, and shortened time-outs."""

from collections.abc import Iterator

from zonelab.studies.evaluate.rollout import Rollout


def beyond(rollout: Rollout) -> Iterator[str]:
    """Yield for each class of faults what it is not simulated long enough for, in the words of the report."""
    for fault in rollout.year.faults:
        longest_s = fault.lengths_s[-1]
        if fault.lasts_s > longest_s:
            yield (
                f"'{fault.name}' lasts {fault.lasts_s:g} s in the year and at most {longest_s:g} s in these "
                "runs; what the longer one costs is the line through its lengths"
            ) + (f", which knows nothing of {fault.passes}" if fault.passes else "")


def shortened(rollout: Rollout) -> Iterator[str]:
    """Yield which outages are shortened, where time-outs and reconnections are shorter than Dynomite's."""
    factors = sorted({one.scenario.replication.time_factor for one in rollout.settings} - {1.0})
    if factors and rollout.year.faults:
        names = ", ".join(f"'{fault.name}'" for fault in rollout.year.faults)
        yield (
            f"replication.time_factor is {' and '.join(f'{one:g}' for one in factors)}: time-outs and reconnections "
            f"take so many times as long as Dynomite's, so {names} cost another time than in production; 1 is its own"
        )
