"""The gmq service without sockets and servers: a model of Redis behind it, a transport that keeps what is written.

``confirmed`` is for clients of any service.
"""

import asyncio
import time
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from random import Random

from support.coroutines import until, within

from zonelab.app.gmq_service.backend.figures import Figures
from zonelab.app.gmq_service.backend.hardened import HardenedJobs
from zonelab.app.gmq_service.backend.listed import ListedJobs
from zonelab.app.gmq_service.backend.waiting import Pops
from zonelab.app.gmq_service.clients import GmqError
from zonelab.app.gmq_service.http.api import Api
from zonelab.app.gmq_service.http.web import Web
from zonelab.app.gmq_service.process.stopping import stop_serving
from zonelab.app.gmq_service.rpc.methods import Methods
from zonelab.app.gmq_service.rpc.protocol import SILENT_S, RpcConnection, RpcPort
from zonelab.app.gmq_service.traffic import Traffic
from zonelab.cluster.clock import NodeClock
from zonelab.cluster.real.runtime import RealRuntime
from zonelab.cluster.sim.redis.model import RedisModel
from zonelab.engine.gmq import GmqKeys, GmqSettings
from zonelab.engine.ports import Unavailable

KEYS = GmqKeys()
PATIENCE_S = 30


class ModelServer:
    """A connection to a model of Redis. ``before`` is awaited with each command, ``away`` refuses all of them."""

    def __init__(self):
        self.model = RedisModel(clock_us=lambda: time.time_ns() // 1_000, random=Random(0))
        self.before = None
        self.away = False

    async def execute(self, *commands):
        await asyncio.sleep(0)
        if self.away:
            raise Unavailable("ERR Storage: Datastore refused connection")
        if self.before is not None:
            for command in commands:
                await self.before(command)
        return [self.model.execute(command) for command in commands]

    def ask(self, *command):
        return self.model.execute(command)


class Wire:
    """A transport: what is written stays in ``written``."""

    def __init__(self):
        self.written = bytearray()
        self.closed = asyncio.Event()
        self.reading = True

    def write(self, data):
        self.written += data

    def close(self):
        self.closed.set()

    abort = close

    def pause_reading(self):
        self.reading = False

    def resume_reading(self):
        self.reading = True

    def get_write_buffer_size(self):
        return 0


class Client:
    """One connection of JSON-RPC."""

    def __init__(self, port):
        self.wire, self.protocol = Wire(), RpcConnection(port)
        self.protocol.connection_made(self.wire)

    async def ask(self, sent, *, lines=1):
        """The answer to ``sent``: so many lines, or less if the connection is closed."""
        self.protocol.data_received(sent)
        return await self.answer(lines=lines)

    async def answer(self, *, lines=1):
        await until(lambda: self.wire.closed.is_set() or self.wire.written.count(b"\n") >= lines)
        said = bytes(self.wire.written)
        self.wire.written.clear()
        return said


class ServiceBench:
    """What the service is made of, on a model of Redis."""

    def __init__(self, *, compat, hardened, pop_s, clients_max, silent_s, request_bytes_max, server):
        self.compat = compat
        self.server = server or ModelServer()
        self.runtime = RealRuntime(seed=0)
        clock = NodeClock(epoch_ns=self.runtime.epoch_ns, run_ns=self.runtime.now_ns)
        self.traffic = Traffic()
        self.pops = Pops(lambda: self.jobs, held=None, held_s=1)
        parts = {"runtime": self.runtime, "clock": clock, "connection": self.server, "on_ready": self.pops.ready}
        if hardened:
            instance = f"test-{self.runtime.epoch_ns}"
            self.jobs = HardenedJobs(**parts, prefix="gmq", instance=instance, topics_max=3)
        else:
            self.jobs = ListedJobs(**parts, settings=GmqSettings(compat=compat))
        methods = Methods(jobs=self.jobs, pops=self.pops, prefix="gmq", pop_s=pop_s, compat=compat)
        self.port = RpcPort(
            methods,
            traffic=self.traffic,
            clients_max=clients_max,
            silent_s=silent_s,
            request_bytes_max=request_bytes_max,
            held_bytes_max=1_000_000,
            compat=compat,
        )

    def client(self):
        return Client(self.port)

    def api(self, *, token=None):
        api = Api(jobs=self.jobs, pops=self.pops, traffic=self.traffic, bytes_max=self.port.request_bytes_max)
        return api.app(token=token, hosts=())

    def web(self, *, token=None):
        figures = Figures(
            traffic=self.traffic,
            gauges=lambda: {"clients": len(self.port.clients), "waiting_pops": self.pops.waiting},
            is_connected=lambda: not self.server.away,
            dispatcher=self.jobs.dispatcher,
            epoch_ns=self.runtime.epoch_ns,
            topics=("mail",),
        )
        return Web(figures, connection=self.server, keys=KEYS).app(token=token, hosts=())

    async def stop(self, *, stop_s=PATIENCE_S):
        parts = {"port": self.port, "pops": self.pops, "jobs": self.jobs}
        return await stop_serving(**parts, http=AsyncExitStack(), stop_s=stop_s, compat=self.compat)


@asynccontextmanager
async def service_bench(
    *,
    compat=False,
    hardened=False,
    pop_s=0.0,
    clients_max=100,
    silent_s=SILENT_S,
    request_bytes_max=100_000,
    server=None,
):
    """``server``: that of a bench before, whose service was killed or stopped."""
    bench = ServiceBench(
        compat=compat,
        hardened=hardened,
        pop_s=pop_s,
        clients_max=clients_max,
        silent_s=silent_s,
        request_bytes_max=request_bytes_max,
        server=server,
    )
    await bench.jobs.start()
    try:
        yield bench
    finally:
        bench.server.away = False
        bench.server.before = None
        await bench.stop()
        await bench.runtime.close()


def on_service(**settings):
    """A decorator for a test that is a coroutine: meanwhile a service of these settings is open, its ``bench``."""
    return within("bench", partial(service_bench, **settings))


def confirmed(gmq, job_id):
    """Push a delayed job, once for all; whether the blocking client ``gmq`` was told that it is there."""
    try:
        gmq.push(job_id, topic="mail", delay_s=1)
    except GmqError as error:
        return "has exist" in str(error)
    return True
