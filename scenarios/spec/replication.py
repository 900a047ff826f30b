"""The section of a scenario file that says how zones are kept alike."""

from pydantic import model_validator

from zonelab.cluster.fields import Count, Flag, Millis, Positive, Section
from zonelab.cluster.options.versions.settings import VoteBy
from zonelab.cluster.votes.levels import Level


class Handoff(Section):
    """Writes that did not reach a zone are kept and sent when it can be reached again."""

    queue: Count = 100_000
    """Hints that each coordinator keeps for each zone; those beyond are dropped."""


class AntiEntropy(Section):
    """Zones are compared in the background, and what is newer is copied."""

    interval_ms: Millis = 1_000
    entries: Count = 1_000
    """Records that a round looks at, for each other zone."""
    retention_s: Positive = 864_000.0
    """Time for which removals are remembered: ten days."""


class Replication(Section):
    time_factor: Positive = 0.1
    """Multiplies every time-out and back-off of the replication layer; 1 is Dynomite's own (5 s, 25 s, 1 to 10 s)."""
    read_level: Level | None = None
    """The level of reads, where it is not the scenario's."""
    read_repair: Flag = False
    """Dynomite's option: versions by wall clock, the newest wins, zones seen to be behind are written to."""
    hinted_handoff: Handoff | None = None
    votes: VoteBy = VoteBy.VALUE
    """Criterion between replies that differ."""
    anti_entropy: AntiEntropy | None = None
    strict: Flag = False
    """Refuse what works here and not on Dynomite."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Replication":
        if self.read_repair and (self.votes is VoteBy.VERSION or self.anti_entropy is not None):
            raise ValueError(
                "read_repair: got true; accepted: false with votes: version or anti_entropy, which have other versions"
            )
        beyond = self.read_repair or self.votes is VoteBy.VERSION
        if self.strict and (beyond or self.hinted_handoff is not None or self.anti_entropy is not None):
            raise ValueError(
                "strict: got true; accepted: false with hinted_handoff, votes: version and anti_entropy, which "
                "Dynomite does not have, and read_repair, with which it crashes"
            )
        return self
