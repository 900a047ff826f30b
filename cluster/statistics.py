"""What a coordinator counts, beside what Dynomite itself would show."""

from dataclasses import asdict, dataclass, field
from typing import Any

from cluster.levels import Decision, Level, Vote
from engine.ports import ServerError


@dataclass
class LevelStatistics:
    """Commands at one level, by how their vote ended (``Decision``), and what the client never saw."""

    commands: int = 0
    decisions: dict[str, int] = field(default_factory=lambda: {decision.value: 0 for decision in Decision})
    error_answers: int = 0  # the answer was an error, from a server or instead of one
    late_disagreements: int = 0  # a zone that was not waited for gave another reply than the client got


@dataclass
class CoordinatorStatistics:
    """Counts since the coordinator began. ``zone_failures``: per zone and error text, the batches that got no reply."""

    levels: dict[str, LevelStatistics] = field(
        default_factory=lambda: {level.value: LevelStatistics() for level in Level}
    )
    zone_failures: dict[str, dict[str, int]] = field(default_factory=dict)

    def count(self, level: Level, vote: Vote) -> None:
        """Count a complete vote."""
        counts = self.levels[level]
        counts.commands += 1
        counts.decisions[vote.decision] += 1
        counts.error_answers += isinstance(vote.answer, ServerError)
        counts.late_disagreements += vote.late_disagreement

    def count_failure(self, zone: str, text: str) -> None:
        failures = self.zone_failures.setdefault(zone, {})
        failures[text] = failures.get(text, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
