"""The image of the service, whose containers read ``/etc/zonelab/gmq.ini``."""

from zonelab.cluster.admin.python_image import PythonProgram

GMQ = PythonProgram(
    repository="zonelab-gmq",
    label="zonelab.gmq",
    module="zonelab.app.gmq_service",
    arguments=("--foreground", "--config", "/etc/zonelab/gmq.ini"),
    ports=(9503, 9277, 8000),
)
