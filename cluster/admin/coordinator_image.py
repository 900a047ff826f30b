"""The image of coordinators."""

from zonelab.cluster.admin.python_image import PythonProgram

CONFIGURATION = "/etc/zonelab/coordinator.json"
ADMINISTRATION = "/etc/zonelab/admin.json"

COORDINATOR = PythonProgram(
    repository="zonelab-coordinator",
    label="zonelab.coordinator",
    module="zonelab.cluster.admin",
    arguments=("--config", CONFIGURATION, "--admin", ADMINISTRATION),
    ports=(7401, 8001),
)
