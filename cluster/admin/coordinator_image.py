"""The image of coordinators."""

from zonelab.cluster.admin.python_image import PythonProgram
from zonelab.cluster.real.zones.docker.zone_image import BuiltImage

CONFIGURATION = "/etc/zonelab/coordinator.json"
ADMINISTRATION = "/etc/zonelab/admin.json"

COORDINATOR = PythonProgram(
    repository="zonelab-coordinator",
    label="zonelab.coordinator",
    module="zonelab.cluster.admin",
    arguments=("--config", CONFIGURATION, "--admin", ADMINISTRATION),
    ports=(7401, 8001),
)


def coordinator_image() -> str:
    """Name and tag of the image."""
    return COORDINATOR.image


def build_coordinator_image() -> BuiltImage:
    """Blocks for some seconds. Raises ``ZoneError`` when Docker does not answer or something that is needed is missing.

    A container of it reads what it is from ``/etc/zonelab/coordinator.json`` and ``/etc/zonelab/admin.json``.
    """
    return COORDINATOR.build()
