"""Goal: the zone image is small, runs without root, and says what it is. Method: build it and look."""

import contextlib

import pytest
from docker.client import DockerClient
from support.coroutines import coroutine

from zonelab.cluster.real.zones import zones
from zonelab.cluster.real.zones.docker.zone_image import USER_ID, VERSION_LABEL, build_image, default_image

pytestmark = pytest.mark.docker


@pytest.fixture
def docker():
    with contextlib.closing(DockerClient.from_env()) as client:
        yield client


def test_a_second_build_gives_the_same_image(zone_image, docker):
    first = docker.images.get(zone_image.name).id
    again = build_image()
    assert again == zone_image
    assert docker.images.get(again.name).id == first


def test_the_image_is_the_default_is_small_and_carries_its_version(zone_image, docker):
    assert zone_image.name == default_image()
    assert zone_image.size_bytes < 40e6
    product, version = docker.images.get(zone_image.name).labels[VERSION_LABEL].split()
    assert zone_image.name == f"zonelab-zone:{product}-{version}"


@coroutine
async def test_the_server_in_a_container_is_not_root_and_is_published_on_loopback_only(zone_image, docker):
    async with zones("docker", ["a"]) as zone_set:
        zone = zone_set["a"]
        container = docker.containers.get(zone.container_name)
        columns = dict(zip(*(lambda top: (top["Titles"], top["Processes"][0]))(container.top()), strict=False))
        assert columns["UID"] == str(USER_ID)
        bindings = container.attrs["NetworkSettings"]["Ports"].values()
        assert {binding["HostIp"] for published in bindings for binding in published} == {"127.0.0.1"}
        assert container.labels["zonelab.zone"] == "a"
        assert container.attrs["Mounts"] == []
