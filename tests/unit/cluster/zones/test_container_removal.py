"""Goal: a container that was to be removed is gone, whoever removes it. Method: a daemon that answers as Docker does
while another lab is removing the same container."""

import asyncio
from types import SimpleNamespace

import pytest
import requests
from docker.errors import APIError, NotFound

from zonelab.cluster.real.zones.docker import container
from zonelab.cluster.zone import ZoneError


class DaemonInRemoval:
    """Answers 409 to a removal until ``waits`` waits for its end have passed; then the container is gone."""

    def __init__(self, waits):
        self.waits = waits
        self.name = "zonelab-0123abcd-a"

    def containers(self, **_):
        return [{"Id": "1", "Names": [f"/{self.name}"], "Labels": {}}]

    def remove_container(self, _container, **_options):
        if self.waits == 0:
            raise NotFound("No such container")
        raise APIError("conflict", SimpleNamespace(status_code=409, reason="Conflict", url=""))

    def wait(self, _container, *, timeout, condition):
        assert condition == "removed"
        self.waits -= 1
        if self.waits > 0:
            raise requests.exceptions.ReadTimeout
        return {"StatusCode": 137}


@pytest.fixture
def daemon(monkeypatch):
    def answering(waits):
        api = DaemonInRemoval(waits)
        monkeypatch.setattr(container, "connect", lambda: SimpleNamespace(api=api, close=lambda: None))
        return api

    return answering


def test_a_removal_by_another_lab_is_waited_for(daemon):
    api = daemon(3)
    assert asyncio.run(container.remove_leftovers("0123abcd")) == [api.name]
    assert api.waits == 0


def test_a_removal_that_never_ends_is_an_error(daemon, monkeypatch):
    daemon(-1)
    monkeypatch.setattr(container, "_REMOVAL_TIMEOUT_S", 0.0)
    with pytest.raises(ZoneError, match=r"^removing left-over containers: Docker refused: .*Conflict"):
        asyncio.run(container.remove_leftovers("0123abcd"))
