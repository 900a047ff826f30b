"""Budget of an evaluation: a time, a number of runs, or as much as is needed to decide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from zonelab.analysis.rates.decisions import LOOKS_MAX
from zonelab.analysis.rates.year import RunKind, Year
from zonelab.scenarios.errors import NotAccepted
from zonelab.studies.evaluate.rollout import Rollout

LEAST = 4
"""Runs of each kind before anything is decided, if they fit.

Student's factor of a 95 % interval is 12.7 with 2 runs, 4.3 with 3 and 3.2 with 4; from there on it falls slowly.
"""

FEWEST = 2
"""Runs of each kind without which nothing bounds its figures."""

FIRST_ANSWER_S = 60.0
"""After so long there is a first answer, if the fewest runs of each setting allow it."""

SHORT_S = 30.0
"""Below so long a budget all of it goes to the runs that decide."""

DAY_S = 86_400.0
"""Longest time for which ``--until decided`` goes on for one objective."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """``seconds``, for ``jobs`` processes at once, or so many ``runs`` of each setting; neither: until all decided."""

    seconds: float | None = None
    jobs: int = 1
    runs: int | None = None

    @property
    def until_decided(self) -> bool:
        return self.seconds is None and self.runs is None

    @property
    def is_short(self) -> bool:
        """Return whether it is a time of which no part is kept for anything beside the runs that decide."""
        return self.seconds is not None and self.seconds < SHORT_S

    def looks(self, stages: int) -> int | None:
        """Return how many there are at most, with one after each of ``stages`` of first runs; None: nobody knows."""
        return None if self.until_decided else LOOKS_MAX if self.runs is not None else stages - 1 + LOOKS_MAX

    def first_room_s(self, stage: int, stages: int) -> float:
        """Return the processor time for first runs: half of the budget in all, and a minute for the first answer."""
        if self.seconds is None:
            return float("inf")
        each_s = self.seconds / 2 / stages
        return self.jobs * (min(each_s, FIRST_ANSWER_S) if stage == 0 else each_s)

    def check_runs(self, cells: Sequence[RunKind]) -> None:
        """Raises ``NotAccepted`` if each kind cannot have its first runs."""
        least = LEAST * len(cells)
        if self.runs is not None and self.runs < least:
            calm = sum(cell.fault is None for cell in cells)
            kinds = f"{LEAST} of each of {len(cells)} kinds"
            kinds += f", {calm} of them without a fault, one for each thinning" if calm > 1 else ""
            raise NotAccepted(f"--runs: got {self.runs}; accepted: at least {least}, {kinds}")

    def check_seconds(self, rollout: Rollout, *, a_run_s: float) -> None:
        """Raises ``NotAccepted``, with what to cut, if not even the first runs without a fault fit.

        ``a_run_s``: what one of them takes of a processor.
        """
        settings = len(rollout.settings)
        needed_s = FEWEST * settings * a_run_s / self.jobs
        if self.seconds is not None and needed_s > self.seconds:
            load = rollout.scenario.load
            why = f"{FEWEST} runs without a fault of {settings} settings take {a_run_s:.2g} s of a processor each"
            cut = f"cut load.duration_s ({load.duration_s:g}), load.rate_per_s or the settings of evaluate.vary"
            accepted = f"at least {ceil(needed_s)} s, as {why}; to need less, {cut}"
            raise NotAccepted(f"--budget: got {self.seconds:g} s; accepted: {accepted}")


def mean_costs_s(costs: Mapping[RunKind, Sequence[float]], year: Year, *, size_s: float) -> dict[RunKind, float]:
    """Return what a run of each kind takes of a processor; of one that was never run by the size of its load.

    ``size_s``: what a run takes for each second of a load that is not thinned, if none was run.
    """
    known = {cell: sum(each) / len(each) for cell, each in costs.items() if each}
    a_second = max((cost / load_size_s(year, cell) for cell, cost in known.items()), default=size_s)
    return {cell: known.get(cell, a_second * load_size_s(year, cell)) for cell in costs}


def load_size_s(year: Year, cell: RunKind) -> float:
    """Return how many seconds of a load that is not thinned have as many messages as a run of this kind."""
    return year.load_s(cell) / cell.thinning
