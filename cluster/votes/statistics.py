"""Counts of a coordinator, besides those that Dynomite itself would show."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from zonelab.cluster.votes.deviations import Deviations
from zonelab.cluster.votes.levels import Decision, Level, Setting
from zonelab.cluster.votes.vote import Vote
from zonelab.engine.ports import Command, ServerError


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

    ``unknown_scripts``: per zone, how many ``times`` its server did not hold a script that others carried out, and
    ``since_ns``, when that was first, in run time. Clients do not hear of it, so they do not send the script again.
    ``deviations``: where errors and differing replies came from.
    ``options``: what the options beyond Dynomite's defaults have done, by name; empty without them.
    """

    levels: dict[str, LevelStatistics] = field(
        default_factory=lambda: {level.value: LevelStatistics() for level in Level}
    )
    zone_failures: dict[str, dict[str, int]] = field(default_factory=dict)
    unknown_scripts: dict[str, dict[str, int]] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)
    deviations: Deviations = field(default_factory=Deviations)

    def count(self, what: str, number: int) -> None:
        if number:
            self.options[what] = self.options.get(what, 0) + number

    def tally(self, setting: Setting, *, zones: Sequence[str], now_ns: Callable[[], int]) -> "Tally":
        return Tally(self, setting, zones, now_ns)

    def as_dict(self) -> dict[str, Any]:
        others = asdict(replace(self, levels={}, deviations=Deviations()))
        levels = {name: counts.as_dict() for name, counts in self.levels.items()}
        return {**others, "levels": levels, "deviations": self.deviations.as_list()}


class Tally:
    """Counts of the complete votes at one setting. ``zones``: the names, by position."""

    __slots__ = ("_counts", "_deviations", "_failures", "_now_ns", "_unknown_scripts", "_zones")

    def __init__(
        self, statistics: CoordinatorStatistics, setting: Setting, zones: Sequence[str], now_ns: Callable[[], int]
    ) -> None:
        self._counts = statistics.levels.setdefault(str(setting), LevelStatistics())
        self._failures = statistics.zone_failures
        self._unknown_scripts = statistics.unknown_scripts
        self._deviations = statistics.deviations
        self._zones = tuple(zones)
        self._now_ns = now_ns

    def count(self, vote: Vote, command: Command) -> None:
        """Count ``vote`` on ``command``, which is complete, under its level."""
        counts = self._counts
        counts.decisions[vote.decision] += 1
        counts.error_answers += isinstance(vote.answer, ServerError)
        counts.late_disagreements += vote.late_disagreement
        self._deviations.count(vote, command, self._zones)
        for position in vote.without_script:
            zone = self._zones[position]
            unknown = self._unknown_scripts.setdefault(zone, {"times": 0, "since_ns": self._now_ns()})
            unknown["times"] += 1

    def count_alike(self, decision: Decision, commands: int) -> None:
        """Count ``commands`` votes in which all replies were equal and none was an error."""
        self._counts.decisions[decision] += commands

    def count_failure(self, position: int, text: str) -> None:
        failures = self._failures.setdefault(self._zones[position], {})
        failures[text] = failures.get(text, 0) + 1
