"""The search for the largest rate at which a simulated run keeps up, for one scenario and one seed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

from zonelab.analysis.observation import Observation
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.studies.limit.keeping_up import behind

PRECISION = 1.05
"""The rate at which a run did not keep up is at most so many times that at which it did."""

OPERATIONS_MAX = 200_000
"""Most messages or operations in one run of the search."""

RUNS_ABOUT = 10
"""Runs that a search takes, about: four to halve the gap, and a doubling or halving for each power of two before."""

_DOUBLINGS = 20


KEPT, ABOVE, RUNS = "kept_per_s", "above_per_s", "runs"
"""Numbers of a search: two rates of all zones together, of which one was kept up with and the other not, and how many
runs it took. ``ABOVE`` is missing if no run so large was behind; else the search counts what was, at that rate."""


def value_per_s(found: Observation) -> float:
    """Return the rate in the middle between the two."""
    kept = found.numbers[KEPT]
    return sqrt(kept * found.numbers[ABOVE]) if ABOVE in found.numbers else kept


@dataclass(frozen=True, slots=True)
class LimitSearch:
    """Settings that every search has."""

    scenarios: tuple[Scenario, ...]

    def __call__(self, setting_and_seed: tuple[int, int]) -> Observation:
        """Raises ``RuntimeError`` if the lab failed, or no rate is low enough."""
        index, seed = setting_and_seed
        scenario = self.scenarios[index].model_copy(update={"seed": seed, "faults": ()})
        given_per_s = sum(scenario.load.rate_of(zone) for zone in scenario.zones)
        factor_max = OPERATIONS_MAX / (given_per_s * scenario.load.duration_s)
        found = knee(lambda factor: behind(at_rate(scenario, factor)), factor_max=factor_max)
        rates = {name: found.numbers[name] * given_per_s for name in (KEPT, ABOVE) if name in found.numbers}
        return replace(found, numbers={**found.numbers, **rates})


def at_rate(scenario: Scenario, factor: float) -> Scenario:
    """``scenario`` with so many times its load, from the same zones in the same shares."""
    rates = {zone: scenario.load.rate_of(zone) * factor for zone in scenario.zones}
    return scenario.model_copy(update={"load": scenario.load.model_copy(update={"rate_per_s": rates})})


def knee(behind_at: Callable[[float], str | None], *, factor_max: float) -> Observation:
    """Return both rates in parts of the given one, which is doubled or halved at first; then the gap is halved."""
    factor, kept, above, why, runs = min(1.0, factor_max), None, None, None, 0
    for _ in range(_DOUBLINGS):
        found = behind_at(factor)
        runs += 1
        kept, above, why = (factor, above, why) if found is None else (kept, factor, found)
        if kept is not None and (above is not None or kept >= factor_max):
            break
        factor = factor / 2 if found is not None else min(factor * 2, factor_max)
    if kept is None:
        raise RuntimeError(f"even {factor:.2g} times the load is too much: {why} are behind")
    while above is not None and above > kept * PRECISION:
        factor = sqrt(kept * above)
        found = behind_at(factor)
        runs += 1
        kept, above, why = (factor, above, why) if found is None else (kept, factor, found)
    numbers = {KEPT: kept, RUNS: runs} if above is None else {KEPT: kept, ABOVE: above, RUNS: runs}
    return Observation(counts={} if why is None else {why: 1}, numbers=numbers)
