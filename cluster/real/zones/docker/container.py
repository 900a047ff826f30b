"""Container zones: a Docker container per zone, its port published on 127.0.0.1 only."""

import contextlib
import io
import tarfile
import threading
import time
from typing import TYPE_CHECKING, Any

import requests
from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import LogConfig

from zonelab.cluster.real.owner import Owner
from zonelab.cluster.real.zones import last_resort
from zonelab.cluster.real.zones.base import RealZone
from zonelab.cluster.real.zones.docker.daemon import connect, daemon_errors
from zonelab.cluster.real.zones.docker.zone_image import default_image
from zonelab.cluster.real.zones.port import HOST
from zonelab.cluster.real.zones.process.binary import find_binary
from zonelab.cluster.real.zones.server_file import server_configuration
from zonelab.cluster.real.zones.settings import DockerZoneSettings
from zonelab.cluster.real.zones.waiting import in_thread
from zonelab.cluster.zone import Address, ZoneError

if TYPE_CHECKING:
    from docker import APIClient, DockerClient

RUN_LABEL = "zonelab"
OWNER_LABEL = "zonelab.owner"
ZONE_LABEL = "zonelab.zone"
_SERVING_PORT = 6379
_PRIVATE_PORT = 6380
_CONFIGURATION = "/zone.conf"
_KILL_TIMEOUT_S = 30.0
_REMOVAL_TIMEOUT_S = 60.0


class DockerZone(RealZone):
    """A zone whose server runs in a container; its data live in the container's own layer, so no volume outlives it.

    A killed container stays and starts again with its data; ``Restart.WIPE`` and ``Restart.WARM`` replace it.
    Docker's proxy holds the port while the container runs: during a warm restart it accepts connections and closes
    them at once, until the server serves.
    """

    def __init__(self, name: str, settings: DockerZoneSettings | None = None) -> None:
        self._settings = settings or DockerZoneSettings()
        super().__init__(name, self._settings)
        self._client: DockerClient | None = None
        self._container: str | None = None
        self._exited: threading.Event | None = None

    @property
    def container_name(self) -> str:
        return f"zonelab-{self._settings.run_id}-{self.name}"

    @classmethod
    async def remove_stale(cls) -> list[str]:
        return await remove_leftovers()

    async def _create(self) -> None:
        self._client = await in_thread(connect)
        last_resort.register(self, self.remove_now)
        self._reserve_address()
        await in_thread(self._create_container)

    def _create_container(self) -> None:
        assert self._client is not None
        image = self._settings.image or default_image()
        with daemon_errors(f"zone {self.name}: creating its container"):
            try:
                self._container = self._new_container(self._client, image)
            except ImageNotFound as error:
                raise ZoneError(
                    f"zone {self.name}: image {image} is not on this machine: run zonelab image for the default one"
                ) from error

    def _new_container(self, client: "DockerClient", image: str) -> str:
        container = client.containers.create(
            image,
            command=[_CONFIGURATION],
            name=self.container_name,
            labels={RUN_LABEL: self._settings.run_id, OWNER_LABEL: str(Owner.current()), ZONE_LABEL: self.name},
            ports={
                f"{_SERVING_PORT}/tcp": (HOST, self.address.port),
                f"{_PRIVATE_PORT}/tcp": (HOST, 0),  # Any free port, only used while a warm restart copies.
            },
            security_opt=["no-new-privileges"],
            log_config=LogConfig(type="json-file", config={"max-size": "1m"}),
        )
        return str(container.id)

    async def _launch(self, *, private: bool) -> Address:
        return await in_thread(self._run, _PRIVATE_PORT if private else _SERVING_PORT)

    def _run(self, port: int) -> Address:
        """Start the container with its server listening on ``port``; return where that is published."""
        with daemon_errors(f"zone {self.name}: starting its container on port {self.address.port}"):
            self._api.put_archive(self._container_id, "/", self._configuration(port))
            self._api.start(self._container_id)
            self._exited = _watch_exit(self._container_id)
            if port == _SERVING_PORT:
                return self.address
            return Address(HOST, int(self._api.port(self._container_id, port)[0]["HostPort"]))

    def _configuration(self, port: int) -> bytes:
        text = server_configuration(
            persistence=self.persistence,
            bind="0.0.0.0",
            port=port,
            directory="/data",
            save_points=self._settings.save_points,
            events=self._settings.events,
            protected=False,
            hash_seed=self._settings.image is None and find_binary(None).knows_hash_seed,
        )
        entry = tarfile.TarInfo(_CONFIGURATION.lstrip("/"))
        entry.size = len(text)
        entry.mode = 0o644
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.addfile(entry, io.BytesIO(text.encode()))
        return archive.getvalue()

    async def _terminate(self) -> None:
        await in_thread(self._kill)

    def _kill(self) -> None:
        if self._container is None or self._exited is None:
            return
        with daemon_errors(f"zone {self.name}: killing its container"):
            try:
                self._api.kill(self._container)
            except APIError as error:
                if error.status_code not in (404, 409):  # Gone, or ended by itself just now.
                    raise
        if not self._exited.wait(_KILL_TIMEOUT_S):
            raise ZoneError(f"zone {self.name}: the container did not end in {_KILL_TIMEOUT_S:g} s after SIGKILL")

    async def _freeze(self) -> None:
        with daemon_errors(f"zone {self.name}: pausing its container"):
            await in_thread(self._api.pause, self._container_id)

    async def _thaw(self) -> None:
        with daemon_errors(f"zone {self.name}: resuming its container"):
            await in_thread(self._api.unpause, self._container_id)

    async def _wipe(self) -> None:
        await in_thread(self._remove_container)
        await in_thread(self._create_container)

    async def _remove(self) -> None:
        try:
            await in_thread(self._remove_container)
        finally:
            self._release()
        last_resort.forget(self)

    def _remove_container(self) -> None:
        if self._container is not None:
            with daemon_errors(f"zone {self.name}: removing its container"):
                _remove_by_id(self._api, self._container)
            self._container = None
            self._exited = None

    def _release(self) -> None:
        self._release_port()
        if self._client is not None:
            self._client.close()
            self._client = None

    def remove_now(self) -> None:
        if self._container is not None:
            with contextlib.closing(connect()) as client:
                _remove_by_id(client.api, self._container)

    def _has_exited(self) -> bool:
        return self._exited is None or self._exited.is_set()

    async def _log_tail(self, lines: int) -> list[str]:
        with daemon_errors(f"zone {self.name}: reading its container's log"):
            text: bytes = await in_thread(lambda: self._api.logs(self._container_id, tail=lines))
        return text.decode(errors="replace").splitlines()

    def _serving_port(self) -> int:
        return _SERVING_PORT

    async def _replication_address(self) -> Address:
        with daemon_errors(f"zone {self.name}: asking for its container's address"):
            details: dict[str, Any] = await in_thread(self._api.inspect_container, self._container_id)
        networks = details["NetworkSettings"]["Networks"].values()
        return Address(next(network["IPAddress"] for network in networks), _SERVING_PORT)

    @property
    def _container_id(self) -> str:
        assert self._container is not None
        return self._container

    @property
    def _api(self) -> "APIClient":
        assert self._client is not None
        return self._client.api


async def remove_leftovers(run_id: str | None = None) -> list[str]:
    """Remove containers of run ``run_id``, or of every lab process that no longer lives; return their names."""
    return await in_thread(_remove_leftovers, run_id)


def _remove_leftovers(run_id: str | None) -> list[str]:
    label = RUN_LABEL if run_id is None else f"{RUN_LABEL}={run_id}"
    with contextlib.closing(connect()) as client, daemon_errors("removing left-over containers"):
        found = client.api.containers(all=True, filters={"label": label})
        leftovers = [entry for entry in found if run_id is not None or _is_orphan(entry["Labels"])]
        for entry in leftovers:
            _remove_by_id(client.api, entry["Id"])
    return sorted(entry["Names"][0].lstrip("/") for entry in leftovers)


def _is_orphan(labels: dict[str, str]) -> bool:
    owner = Owner.parse(labels.get(OWNER_LABEL, ""))
    return owner is not None and owner.is_gone()


def _remove_by_id(api: "APIClient", container: str) -> None:
    """Remove the container, or wait until whoever is removing it has."""
    deadline = time.monotonic() + _REMOVAL_TIMEOUT_S
    while True:
        try:
            api.remove_container(container, v=True, force=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != 409 or time.monotonic() >= deadline:  # 409: somebody else is removing it.
                raise
            with contextlib.suppress(NotFound, requests.exceptions.RequestException):
                api.wait(container, timeout=1, condition="removed")
        else:
            return


def _watch_exit(container: str) -> threading.Event:
    """An event that is set when the container ends, or Docker does; a thread waits for as long as it runs."""
    exited = threading.Event()

    def wait() -> None:
        try:
            with contextlib.closing(connect()) as client:
                client.api.wait(container, timeout=None)
        finally:
            exited.set()

    threading.Thread(target=wait, name=f"wait for container {container[:12]}", daemon=True).start()
    return exited
