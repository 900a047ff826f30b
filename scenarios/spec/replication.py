"""The section of a scenario file that says how zones are kept alike."""

from zonelab.cluster.fields import Positive
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import ReplicationOptions


class Replication(ReplicationOptions):
    """The options of coordinators, their time-outs, and the level of reads."""

    time_factor: Positive = 0.1
    """Multiplies every time-out and back-off of the replication layer; 1 is Dynomite's own (5 s, 25 s, 1 to 10 s)."""
    read_level: Level | None = None
    """The level of reads, where it is not the scenario's."""
