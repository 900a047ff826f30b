"""The program: it serves until SIGTERM, SIGINT or SIGHUP, and reports that it does to the process that started it."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvloop

from zonelab.app.gmq_service.process.log_file import log_as_told
from zonelab.app.gmq_service.process.pid_file import PidFile
from zonelab.app.gmq_service.process.service import LOG, Service
from zonelab.app.gmq_service.settings import ServiceSettings
from zonelab.cluster.zone import ClusterError

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop gmq; after the first one further ones change nothing."""


def run(settings: ServiceSettings, *, console: bool, ready: Callable[[dict[str, Any]], None]) -> bool:
    """Serve until a signal. ``ready`` is called with the addresses. False if something in hand was left behind.

    Raises ``ClusterError`` if it cannot begin, or another service took the data over.
    """
    pid_file = PidFile(Path(settings.pid_file))
    with pid_file.held() as cut_short:
        log_as_told(settings, console=console)
        if cut_short:
            LOG.warning("%s", cut_short)
        return uvloop.run(_serve(settings, pid_file, ready))


def tell_starter(facts: dict[str, Any]) -> None:
    """One line on standard output, which is then nobody's any more."""
    print(json.dumps(facts), flush=True)  # noqa: T201 (what the starter reads)
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _facts(settings: ServiceSettings) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "mode": str(settings.mode),
        "redis": f"{settings.redis_host}:{settings.redis_port}",
        "log": str(Path(settings.log_file).absolute()) if "file" in settings.log_targets else None,
        "since": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }


async def _serve(settings: ServiceSettings, pid_file: PidFile, ready: Callable[[dict[str, Any]], None]) -> bool:
    loop = asyncio.get_running_loop()
    signalled = asyncio.Event()
    for number in SIGNALS:
        loop.add_signal_handler(number, signalled.set)
    service = Service(settings)
    facts = _facts(settings) | await service.begin()
    pid_file.tell(facts)
    ready(facts)
    lost = service.presence.lost
    lost.add_done_callback(lambda _: signalled.set())
    await signalled.wait()
    done = await service.stop()
    if lost.done():
        LOG.error("%s has taken the data over", lost.result())
        raise ClusterError(f"{lost.result()} has taken the data over")
    return done
