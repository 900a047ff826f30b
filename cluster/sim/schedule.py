"""The settings of the order of simultaneous events; ``zonelab.cluster.sim.event_order`` carries them out."""

from dataclasses import dataclass
from enum import StrEnum


class TieBreak(StrEnum):
    """The order of events that have the same time and the same priority."""

    FIFO = "fifo"  # first scheduled, first served: plain SimPy
    RANDOM = "random"  # each event gets a random rank
    PCT = "pct"  # each task gets a random rank, which some tasks lose at random points of the run


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The breaking of ties between events of one time.

    ``change_points`` and ``steps`` are for PCT: at so many random points of the first ``steps`` events the running
    task falls behind all others. A bug that needs d ordering constraints needs d - 1 change points.
    """

    tie_break: TieBreak = TieBreak.RANDOM
    change_points: int = 2
    steps: int = 10_000

    def __post_init__(self) -> None:
        if self.tie_break not in tuple(TieBreak):
            raise ValueError(f"tie_break must be one of {', '.join(TieBreak)}, got {self.tie_break!r}")
        if self.change_points < 0 or self.steps < 1 or self.change_points > self.steps:
            raise ValueError(
                "change_points must be 0 or more and steps at least as many and at least 1, "
                f"got {self.change_points} and {self.steps}"
            )
