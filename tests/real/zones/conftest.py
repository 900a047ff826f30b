import pytest

from zonelab.cluster.real.zones.docker.zone_image import build_image


@pytest.fixture(scope="session")
def zone_image():
    return build_image()


@pytest.fixture(
    params=[pytest.param("process", marks=pytest.mark.real), pytest.param("docker", marks=pytest.mark.docker)],
)
def kind(request):
    """Kind of zone; one suite for both."""
    if request.param == "docker":
        request.getfixturevalue("zone_image")
    return request.param
