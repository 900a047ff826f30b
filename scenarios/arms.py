"""Where a run happens, and what its zones run in."""

from enum import StrEnum


class Arm(StrEnum):
    """Where a run happens: on real servers, or in virtual time, where the seed decides everything."""

    REAL = "real"
    SIM = "sim"


class ZoneKind(StrEnum):
    """What a zone's server runs in; chosen for a run, not by the scenario."""

    PROCESS = "process"
    DOCKER = "docker"
