"""A gateway as a program: one coordinator, one RESP port, until SIGTERM or SIGINT."""

import asyncio
import contextlib
import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import uvloop

from zonelab.cluster.resp.gateway.configuration import GatewayConfiguration
from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.zone import ClusterError

Companion = Callable[[ZoneGateway], AbstractAsyncContextManager[dict[str, str] | None]]
"""Something that runs beside a started gateway in the same loop, such as its administration.

What it gives when entered, for example its own address, is added to the line that says the gateway is ready.
"""

_FILES_SPARE = 256

_COLLECTION_THRESHOLDS = (10_000, 1, 250)
"""Objects made and not freed, and multiples of that, until the garbage collector looks for cycles among the young ones,
the older ones, and all. Clients leave few cycles behind, and to look through commands in flight stops the loop."""


def run(configuration: GatewayConfiguration, *, companions: Sequence[Companion] = ()) -> None:
    """Serve until the process is stopped. Raises ``ClusterError`` if it cannot begin.

    When it serves it writes one line of JSON to stdout: ``{"zone": "a", "port": "127.0.0.1:7401", "pid": 123}``.
    """
    allow_files(configuration.port_settings().clients_max + _FILES_SPARE)
    uvloop.run(_serve(configuration, companions))


async def _serve(configuration: GatewayConfiguration, companions: Sequence[Companion]) -> None:
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    gateway = ZoneGateway(
        configuration.zone,
        configuration.addresses(),
        settings=configuration.network(),
        port=configuration.port_settings(),
        level=configuration.level,
        peers=configuration.peer_addresses(),
    )
    async with gateway, contextlib.AsyncExitStack() as beside:
        ready: dict[str, str | int] = {"zone": gateway.zone, "port": str(gateway.address), "pid": os.getpid()}
        for companion in companions:
            said = await beside.enter_async_context(companion(gateway))
            ready.update(said or {})
        gc.collect()
        gc.freeze()  # what was made until here stays
        gc.set_threshold(*_COLLECTION_THRESHOLDS)
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await ending.wait()


def exit_code(serve: Callable[[], None]) -> int:
    """Serve until the program is stopped and return 0, or 3 with one line on stderr if it cannot begin."""
    try:
        serve()
    except ClusterError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


def allow_files(wanted: int) -> int:
    """Raise this process's limit of open files to ``wanted`` as far as it may; returns the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        return allowed
    return soft
