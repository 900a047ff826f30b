"""Goal: the images and the files of ``docker/`` make a cluster that clients and administrators reach from the host.

Method: the services of the compose file, started by Docker's own interface on any free ports; and by a compose tool
where there is one.
"""

import contextlib
import io
import re
import secrets
import shutil
import subprocess
import tarfile
import time
from pathlib import Path

import docker
import httpx
import pytest
import redis
import yaml

from cluster.admin.image import build_coordinator_image
from cluster.real.zones.image import build_image

pytestmark = pytest.mark.docker

FILE = Path(__file__).parents[3] / "docker" / "compose.yaml"
DEADLINE_S = 90


@pytest.fixture(scope="module")
def images():
    return build_image(), build_coordinator_image()


class Composed:
    """The services of the compose file as containers of one network, which calls them by their service names."""

    def __init__(self, *, token):
        self.name = f"zonelab-test-{secrets.token_hex(4)}"
        self._docker = docker.from_env()
        self._network = self._docker.networks.create(self.name)
        self._token = token
        self._containers = {}

    def start(self):
        services = yaml.safe_load(FILE.read_text())["services"]
        for name, service in sorted(services.items(), key=lambda one: len(one[1].get("depends_on", ()))):
            self._containers[name] = container = self._created(name, service)
            for volume in service.get("volumes", ()):
                source, target, mode = volume.split(":")
                assert mode == "ro"
                container.put_archive("/", archive(target, (FILE.parent / source).read_bytes()))
            container.start()

    def port(self, name, inside):
        container = self._containers[name]
        container.reload()
        return int(container.ports[f"{inside}/tcp"][0]["HostPort"])

    def logs(self):
        return "\n".join(f"{name}: {one.logs().decode()}" for name, one in self._containers.items())

    def remove(self):
        for container in self._containers.values():
            container.remove(force=True, v=True)
        self._network.remove()
        self._docker.close()

    def _created(self, name, service):
        inside = [published.rpartition(":")[2] for published in service["ports"]]
        filled = {
            key: re.sub(r"\$\{ZONELAB_ADMIN_TOKEN:-\}", self._token, value)
            for key, value in service.get("environment", {}).items()
        }
        aliases = {self.name: self._docker.api.create_endpoint_config(aliases=[name])}
        created = self._docker.api.create_container(
            service["image"],
            command=service.get("command"),
            name=f"{self.name}-{name}",
            environment=filled,
            ports=[int(port) for port in inside],
            host_config=self._docker.api.create_host_config(
                port_bindings={f"{port}/tcp": ("127.0.0.1", None) for port in inside},
                security_opt=service["security_opt"],
            ),
            networking_config=self._docker.api.create_networking_config(aliases),
        )
        return self._docker.containers.get(created["Id"])


def archive(path, content):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.size, entry.mode = len(content), 0o644
        tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def until_healthy(url):
    deadline = time.monotonic() + DEADLINE_S
    while True:
        with contextlib.suppress(httpx.TransportError):
            told = httpx.get(f"{url}/health").json()
            if all(told["connected"].values()):
                return
        assert time.monotonic() < deadline, f"{url} did not become healthy"
        time.sleep(0.1)


def write_and_read(ports):
    for writer, port in ports.items():
        with redis.Redis(port=port, decode_responses=True) as client:
            assert client.set(f"by {writer}", writer)
    for port in ports.values():
        with redis.Redis(port=port, decode_responses=True) as client:
            assert client.mget(*(f"by {writer}" for writer in ports)) == list(ports)


def test_the_services_of_the_compose_file_are_a_cluster(images):
    token = secrets.token_urlsafe(24)
    composed = Composed(token=token)
    try:
        composed.start()
        pages = {zone: f"http://127.0.0.1:{composed.port(f'coordinator-{zone}', 8001)}" for zone in "abc"}
        for page in pages.values():
            until_healthy(page)
        write_and_read({zone: composed.port(f"coordinator-{zone}", 7401) for zone in "abc"})
        assert "<h1>Zone b</h1>" in httpx.get(pages["b"]).text
        body = {"a>b": {"cut": "drop"}}
        assert httpx.put(f"{pages['a']}/links", json=body).status_code == 401
        told = httpx.put(f"{pages['a']}/links", json=body, headers={"Authorization": f"Bearer {token}"})
        assert told.status_code == 200, told.text
    except Exception as error:
        error.add_note(composed.logs())
        raise
    finally:
        composed.remove()


def compose_tool():
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and subprocess.run([*command, "version"], capture_output=True).returncode == 0:
            return command
    return None


@pytest.mark.skipif(compose_tool() is None, reason="no compose tool")
def test_a_compose_tool_brings_the_cluster_up_and_down(images):
    command = [*compose_tool(), "--file", str(FILE), "--project-name", f"zonelab-test-{secrets.token_hex(4)}"]
    try:
        subprocess.run([*command, "up", "--detach"], check=True, timeout=DEADLINE_S)
        for port in (8001, 8002, 8003):
            until_healthy(f"http://127.0.0.1:{port}")
        write_and_read({"a": 7401, "b": 7402, "c": 7403})
    finally:
        subprocess.run([*command, "down", "--volumes"], check=True, timeout=DEADLINE_S)
