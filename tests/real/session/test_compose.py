"""Goal: the images and the files of ``docker/`` make a cluster that clients and administrators reach from the host.

Method: the services of the compose file, started by Docker's own interface on any free ports; and by a compose tool
where there is one.
"""

import contextlib
import io
import os
import re
import secrets
import socket
import subprocess
import tarfile
import time
from pathlib import Path

import docker
import httpx
import pytest
import redis
import yaml
from support.compose import compose_command

from zonelab.app.gmq_service.clients import BlockingGmqClient
from zonelab.app.gmq_service.image import GMQ
from zonelab.cluster.admin.coordinator_image import COORDINATOR
from zonelab.cluster.real.zones.docker.zone_image import build_image
from zonelab.cluster.real.zones.port import PortReservation

pytestmark = pytest.mark.docker

FILE = Path(__file__).parents[3] / "docker" / "compose.yaml"
DEADLINE_S = 90


@pytest.fixture(scope="module")
def images():
    return build_image(), COORDINATOR.build(), GMQ.build()


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


def push_and_pop(port):
    deadline = time.monotonic() + DEADLINE_S
    while True:
        with contextlib.suppress(OSError), BlockingGmqClient(f"127.0.0.1:{port}") as gmq:
            gmq.push("1", topic="mail")
            job = gmq.pop("mail")
            assert job is not None
            assert (job.id, gmq.ack("1")) == ("1", True)
            return
        assert time.monotonic() < deadline, "gmq does not serve"
        time.sleep(0.1)


def until_written(port):
    """A zone may be behind its clients' quorum for as long as a link is."""
    deadline = time.monotonic() + DEADLINE_S
    with redis.Redis(port=port, decode_responses=True) as server:
        while server.get("by a") != "a":
            assert time.monotonic() < deadline, f"the server on {port} lacks what was written through zone a"
            time.sleep(0.1)


def test_the_services_of_the_compose_file_are_a_cluster(images):
    token = secrets.token_urlsafe(24)
    composed = Composed(token=token)
    try:
        composed.start()
        pages = {zone: f"http://127.0.0.1:{composed.port(f'coordinator-{zone}', 8001)}" for zone in "abc"}
        for page in pages.values():
            until_healthy(page)
        write_and_read({zone: composed.port(f"coordinator-{zone}", 7401) for zone in "abc"})
        assert httpx.get(f"{pages['b']}/topology").json()["zone"] == "b"
        push_and_pop(composed.port("gmq", 9503))
        body = {"a>b": {"cut": "drop"}}
        assert httpx.put(f"{pages['a']}/links", json=body).status_code == 401
        told = httpx.put(f"{pages['a']}/links", json=body, headers={"Authorization": f"Bearer {token}"})
        assert told.status_code == 200, told.text
    except Exception as error:
        error.add_note(composed.logs())
        raise
    finally:
        composed.remove()


class ByTool:
    """The compose file brought up by a compose tool, on free ports of 127.0.0.1."""

    def __init__(self):
        self.project = f"zonelab-test-{secrets.token_hex(4)}"
        self._reserved = {kind: {zone: PortReservation(None) for zone in "abc"} for kind in ("zone", "client", "page")}
        self._reserved["gmq"] = {name: PortReservation(None) for name in ("rpc", "api", "web")}
        self.ports = {
            kind: {zone: one.port for zone, one in reserved.items()} for kind, reserved in self._reserved.items()
        }

    def run(self, *arguments):
        chosen = {
            f"ZONELAB_{kind}_PORT_{zone}".upper(): str(port)
            for kind, ports in self.ports.items()
            for zone, port in ports.items()
        }
        command = [*compose_command(), "--file", str(FILE), "--project-name", self.project, *arguments]
        done = subprocess.run(
            command, env=os.environ | chosen, capture_output=True, text=True, timeout=DEADLINE_S, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def release_ports(self):
        for reserved in self._reserved.values():
            for one in reserved.values():
                one.release()

    def left_over(self):
        with contextlib.closing(docker.from_env()) as client:
            mine = {"label": f"com.docker.compose.project={self.project}"}
            kinds = (
                client.containers.list(all=True, ignore_removed=True, filters=mine),
                client.networks.list(filters=mine),
            )
            return [one.name for kind in (*kinds, client.volumes.list(filters=mine)) for one in kind]

    def published(self):
        """Host address and port of everything that the containers publish."""
        with contextlib.closing(docker.from_env()) as client:
            mine = {"label": f"com.docker.compose.project={self.project}"}
            bindings = [one.ports.values() for one in client.containers.list(filters=mine)]
        return sorted((bound["HostIp"], int(bound["HostPort"])) for ports in bindings for one in ports for bound in one)


@pytest.mark.compose
def test_a_compose_tool_brings_the_cluster_up_and_down_and_leaves_nothing(images):
    composed = ByTool()
    pages = {zone: f"http://127.0.0.1:{port}" for zone, port in composed.ports["page"].items()}
    try:
        composed.run("up", "--detach")
        for page in pages.values():
            until_healthy(page)
        write_and_read(composed.ports["client"])
        push_and_pop(composed.ports["gmq"]["rpc"])
        for port in composed.ports["zone"].values():
            until_written(port)
        for zone, page in pages.items():
            assert httpx.get(f"{page}/topology").json()["zone"] == zone
        chosen = sorted(("127.0.0.1", port) for ports in composed.ports.values() for port in ports.values())
        assert composed.published() == chosen
    except Exception as error:
        error.add_note(composed.run("logs", "--no-color"))
        raise
    finally:
        composed.run("down", "--volumes")
        composed.release_ports()
    assert composed.left_over() == []
    for ports in composed.ports.values():
        for port in ports.values():
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), timeout=5)
