"""Arms of a run, and the programs or containers of its zones."""

from enum import StrEnum


class Arm(StrEnum):
    """The arm of a run: on real servers, or in virtual time, where the seed decides everything."""

    REAL = "real"
    SIM = "sim"


class ZoneKind(StrEnum):
    """The kind of a zone's server, process or container; chosen for a run, not by the scenario."""

    PROCESS = "process"
    DOCKER = "docker"


class On(StrEnum):
    """Both in one word, as the command line has them: simulation, or real servers in processes or containers."""

    SIM = "sim"
    PROCESS = "process"
    DOCKER = "docker"

    @classmethod
    def of(cls, arm: Arm, zones: ZoneKind) -> "On":
        return cls.SIM if arm is Arm.SIM else cls(zones.value)

    @property
    def arm(self) -> Arm:
        return Arm.SIM if self is On.SIM else Arm.REAL

    @property
    def zones(self) -> ZoneKind:
        """Return what zones run in if they are real; simulated ones run in nothing."""
        return ZoneKind.DOCKER if self is On.DOCKER else ZoneKind.PROCESS


class Recording(StrEnum):
    """Recording of a run on real servers beside its history: votes are each command and each zone's answer to it."""

    VOTES = "votes"
