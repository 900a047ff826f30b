"""What a coordinator counts, beside what Dynomite itself would show."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from cluster.votes.levels import Level, Setting
from cluster.votes.vote import Decision, Vote
from engine.ports import ServerError


@dataclass
class LevelStatistics:
    """Commands at one setting, by how their vote ended (``Decision``), and what the client never saw."""

    decisions: dict[str, int] = field(default_factory=lambda: {decision.value: 0 for decision in Decision})
    error_answers: int = 0  # the answer was an error, from a server or instead of one
    late_disagreements: int = 0  # a zone that was not waited for gave another reply than the client got

    @property
    def commands(self) -> int:
        """Commands that every zone has answered which they went to."""
        return sum(self.decisions.values())

    def as_dict(self) -> dict[str, Any]:
        """The counts as a run's record and the administration show them."""
        return {
            "commands": self.commands,
            "decisions": dict(self.decisions),
            "error_answers": self.error_answers,
            "late_disagreements": self.late_disagreements,
        }


@dataclass
class CoordinatorStatistics:
    """Counts since the coordinator began. ``zone_failures``: per zone and error text, the batches that got no reply.

    ``options``: what the options beyond Dynomite's defaults have done, by name; empty without them.
    """

    levels: dict[str, LevelStatistics] = field(
        default_factory=lambda: {level.value: LevelStatistics() for level in Level}
    )
    zone_failures: dict[str, dict[str, int]] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, number: int) -> None:
        if number:
            self.options[what] = self.options.get(what, 0) + number

    def tally(self, setting: Setting, *, zones: Sequence[str]) -> "Tally":
        return Tally(self, setting, zones)

    def as_dict(self) -> dict[str, Any]:
        others = asdict(replace(self, levels={}))
        return {**others, "levels": {name: counts.as_dict() for name, counts in self.levels.items()}}


class Tally:
    """Where the votes at one setting are counted once they are complete. ``zones``: the names, by position."""

    __slots__ = ("_counts", "_failures", "_zones")

    def __init__(self, statistics: CoordinatorStatistics, setting: Setting, zones: Sequence[str]) -> None:
        self._counts = statistics.levels.setdefault(str(setting), LevelStatistics())
        self._failures = statistics.zone_failures
        self._zones = zones

    def count(self, vote: Vote) -> None:
        """Count ``vote``, which is decided, under its level."""
        counts = self._counts
        counts.decisions[vote.decision] += 1
        counts.error_answers += isinstance(vote.answer, ServerError)
        counts.late_disagreements += vote.late_disagreement

    def count_alike(self, decision: Decision, commands: int) -> None:
        """So many votes in which all replies were equal and none was an error."""
        self._counts.decisions[decision] += commands

    def count_failure(self, position: int, text: str) -> None:
        failures = self._failures.setdefault(self._zones[position], {})
        failures[text] = failures.get(text, 0) + 1
