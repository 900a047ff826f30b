"""The whole service in one event loop: what it is made of, how it begins, and the order in which it stops."""

import asyncio
import logging
import os
import resource
import socket
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from zonelab.app.gmq_service.addresses import Listen
from zonelab.app.gmq_service.backend.figures import Figures
from zonelab.app.gmq_service.backend.hardened import HardenedJobs
from zonelab.app.gmq_service.backend.jobs import Jobs
from zonelab.app.gmq_service.backend.listed import ListedJobs
from zonelab.app.gmq_service.backend.pool import Pool
from zonelab.app.gmq_service.backend.presence import Presence
from zonelab.app.gmq_service.backend.waiting import Pops
from zonelab.app.gmq_service.http.api import Api
from zonelab.app.gmq_service.http.web import Web
from zonelab.app.gmq_service.process.stopping import stop_serving
from zonelab.app.gmq_service.rpc.methods import Methods
from zonelab.app.gmq_service.rpc.protocol import RpcConnection, RpcPort
from zonelab.app.gmq_service.settings import PREFIX, ServiceMode, ServiceSettings
from zonelab.app.gmq_service.traffic import Traffic
from zonelab.cluster.admin.serving import Bounds, serving
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.zone import Address, ClusterError
from zonelab.engine.gmq.keys import GmqKeys
from zonelab.engine.gmq.settings import GmqSettings

LOG = logging.getLogger("gmq.service")

_BACKLOG = 4_096
_HTTP_CLIENTS_MAX = {"api": 1_000, "web": 64}
"""Or ``clients_max``, if that is less."""

_DESCRIPTORS_BESIDE = 256
"""File descriptors of the process beyond its clients: files, the server, and clients that are refused."""


class Service:
    """``begin`` and ``stop``, once each. ``lost`` is set when another service has taken the data over."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.traffic = Traffic()
        self._runtime = RealRuntime(seed=0)
        self._clock = NodeClock(epoch_ns=self._runtime.epoch_ns, run_ns=self._runtime.now_ns)
        self.pool = Pool(
            Address(settings.redis_host, settings.redis_port),
            runtime=self._runtime,
            connections=min(settings.max_idle, settings.max_active),
            active_max=settings.max_active,
            command_ms=settings.command_ms,
            password=settings.redis_password,
            db=settings.redis_db,
        )
        held = self.pool.slots if settings.compat else None
        self.pops = Pops(lambda: self.jobs, held=held, held_s=settings.command_ms / 1_000)
        self.jobs = self._jobs()
        who = f"pid {os.getpid()} on {socket.gethostname()}"
        self.presence = Presence(self.pool, prefix=PREFIX, mode=settings.mode, who=who)
        methods = Methods(
            jobs=self.jobs,
            pops=self.pops,
            prefix=PREFIX,
            pop_s=settings.pop_ms / 1_000,
            compat=settings.compat,
        )
        self.port = RpcPort(
            methods,
            traffic=self.traffic,
            clients_max=settings.clients_max,
            request_bytes_max=settings.request_bytes_max,
            held_bytes_max=settings.held_bytes_max,
            busy_poll_us=settings.busy_poll_us,
            compat=settings.compat,
        )
        self._listener: asyncio.Server | None = None
        self._http = AsyncExitStack()

    def _jobs(self) -> Jobs:
        settings = self.settings
        if settings.mode is ServiceMode.HARDENED:
            return HardenedJobs(
                runtime=self._runtime,
                clock=self._clock,
                connection=self.pool,
                prefix=PREFIX,
                instance=f"{socket.gethostname()}-{os.getpid()}-{self._runtime.epoch_ns}",
                topics_max=settings.topics_max,
                on_ready=self.pops.ready,
            )
        return ListedJobs(
            runtime=self._runtime,
            clock=self._clock,
            connection=self.pool,
            settings=GmqSettings(
                prefix=PREFIX,
                buckets=settings.buckets,
                ttr_buckets=settings.ttr_buckets,
                compat=settings.compat,
            ),
            on_ready=self.pops.ready,
        )

    async def begin(self) -> dict[str, Any]:
        """Serve; where. Raises ``ClusterError`` if the server or an address cannot be had."""
        _allow_descriptors(self.settings)
        try:
            await self.pool.open(within_s=self.settings.connect_s)
            await self.presence.begin()
            await self.jobs.start()
            facts = {"rpc": await self._listen(self.settings.rpc), **await self._serve_http()}
        except BaseException:
            await self._end()
            raise
        for name, listen in (("rpc", self.settings.rpc), ("api", self.settings.api), ("web", self.settings.web)):
            if listen is not None and not listen.is_local and self.settings.token is None:
                LOG.warning("%s at %s is for everybody who reaches this machine: there is no token", name, listen)
        LOG.info("serves %s mode %s on %s", facts, self.settings.mode, self.pool.address)
        return facts

    async def stop(self) -> bool:
        """See ``stop_serving``. False if something is still in hand, for example since the server is away."""
        LOG.info("stops")
        if self._listener is not None:
            self._listener.close()
        done = await stop_serving(
            port=self.port,
            http=self._http,
            pops=self.pops,
            jobs=self.jobs,
            stop_s=self.settings.stop_s,
            compat=self.settings.compat,
        )
        await self._end()
        LOG.info("stopped")
        return done

    async def _end(self) -> None:
        if self._listener is not None:
            self._listener.close()
        await self._http.aclose()
        if self.settings.rpc is not None and self.settings.rpc.path is not None and self._listener is not None:
            self.settings.rpc.path.unlink(missing_ok=True)
        if self.pool.connected:
            await self.presence.end()
        self.pool.close()
        await self._runtime.close()

    async def _serve_http(self) -> dict[str, str | None]:
        """Begin to serve the API and the JSON of the monitor. Returns their addresses, None for one that is off."""
        settings = self.settings
        api = Api(jobs=self.jobs, pops=self.pops, traffic=self.traffic, bytes_max=settings.request_bytes_max)
        web = Web(self._figures(), connection=self.pool, keys=GmqKeys(prefix=PREFIX))
        apps = {"api": (api.app, settings.api), "web": (web.app, settings.web)}
        where: dict[str, str | None] = {}
        for name, (make, listen) in apps.items():
            where[name] = None
            if listen is not None:
                begun = serving(
                    make(token=settings.token, hosts=settings.hosts),
                    host=listen.host,
                    port=listen.port,
                    what=f"[service] {name}",
                    bounds=Bounds(
                        clients_max=min(settings.clients_max, _HTTP_CLIENTS_MAX[name]),
                        token=settings.token,
                        finish_s=settings.stop_s,
                        on_refused=partial(self.traffic.refused, name),
                    ),
                )
                where[name] = str(await self._http.enter_async_context(begun))
        return where

    def _figures(self) -> Figures:
        def gauges() -> dict[str, int]:
            return {
                "clients": len(self.port.clients),
                "held_bytes": self.port.held.total,
                "waiting_pops": self.pops.waiting,
                "server_commands_under_way": self.pool.under_way,
                "server_commands_waiting": self.pool.slots.waiting,
            }

        return Figures(
            traffic=self.traffic,
            gauges=gauges,
            is_connected=lambda: self.pool.connected,
            dispatcher=self.jobs.dispatcher if isinstance(self.jobs, ListedJobs) else None,
            epoch_ns=self._runtime.epoch_ns,
            topics=self.settings.topics,
        )

    async def _listen(self, listen: Listen | None) -> str | None:
        """Begin to serve JSON-RPC. Returns its address."""
        if listen is None:
            return None
        loop = asyncio.get_running_loop()

        def connection() -> RpcConnection:
            return RpcConnection(self.port)

        try:
            if listen.path is not None:
                _remove_left_over(listen.path)
                self._listener = await loop.create_unix_server(connection, str(listen.path), backlog=_BACKLOG)
                return str(listen)
            self._listener = await loop.create_server(connection, listen.host, listen.port, backlog=_BACKLOG)
        except OSError as error:
            raise ClusterError(f"JSON-RPC cannot listen at {listen}: {error.strerror}") from error
        host, port = self._listener.sockets[0].getsockname()[:2]
        return str(Listen(host=host, port=port))


def _remove_left_over(path: Path) -> None:
    """A socket file at which nobody listens."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(str(path)) != 0:
            path.unlink(missing_ok=True)


def _allow_descriptors(settings: ServiceSettings) -> None:
    """Raise the limit of descriptors. Raises ``ClusterError`` if it stays below what the clients need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    of_http = sum(min(settings.clients_max, most) for most in _HTTP_CLIENTS_MAX.values())
    needed = settings.clients_max + of_http + _DESCRIPTORS_BESIDE
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise ClusterError(
            f"clients_max {settings.clients_max} needs {needed} open files, of which this process may have {hard}; "
            f"accepted: up to {hard - of_http - _DESCRIPTORS_BESIDE}"
        )
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
