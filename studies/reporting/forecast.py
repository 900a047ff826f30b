"""Forecast of a verb that runs scenarios, before it begins, from their own phases."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zonelab.analysis.number_text import counted
from zonelab.scenarios.arms import Arm

if TYPE_CHECKING:
    from zonelab.scenarios.spec.scenario import Scenario

LONG_S = 10.0
"""Seconds from which a verb says beforehand how long it will take."""


def forecast(scenarios: Sequence["Scenario"], *, each: int = 1, of_search: int = 0) -> str | None:
    """Return how many runs, ``each`` so many times, and how long they last; None if loads come to less than ``LONG_S``.

    On servers loads and drains take so long by the clock; starting, checks and plots come on top. Simulated seconds
    pass as quickly as they can be computed. ``of_search``: each is no run but a search, of about so many simulated
    loads.
    """
    loads_s = [scenario.load.duration_s for scenario in scenarios]
    drains_s = [scenario.drain.bound_s for scenario in scenarios]
    runs = len(scenarios) * each
    if sum(loads_s) * each * max(1, of_search) < LONG_S:
        return None
    if of_search:
        count = counted(runs, "search", "searches")
        return f"{count} x about {of_search} runs x {_seconds(loads_s)} of load, simulated"
    count = counted(runs, "run")
    whole = ", as no program of it ends by itself" if any(map(_lasts, scenarios)) else ""
    words = f"{count} x {_seconds(loads_s)} of load{whole}, and at most {_seconds(drains_s)} to drain"
    if all(scenario.arm is Arm.SIM for scenario in scenarios):
        return f"{words}, simulated"
    return f"{words}: {sum(loads_s) * each:,.0f} to {(sum(loads_s) + sum(drains_s)) * each:,.0f} s"


def _lasts(scenario: "Scenario") -> bool:
    return bool(scenario.programs) and not any(program.ends for program in scenario.programs.values())


def _seconds(values: Sequence[float]) -> str:
    least, most = min(values), max(values)
    return f"{least:g} s" if least == most else f"{least:g} to {most:g} s"
