"""Measures what clients that wait in blocking commands cost a zone's port while nothing comes.

Prints one JSON document: for every level the gateway's processor time a second while so many clients wait in BLPOP on
so many keys. With ``--beside DIR`` the port of another checkout of this project has as many clients at the same time,
since whatever else the machine does then meets both; the ratio is that of each period.

    .venv/bin/python benchmarks/waiting.py [--clients 2000] [--keys 100] [--seconds 10] [--repeat 5] [--beside DIR]
"""

import argparse
import asyncio
import json
import os
import tempfile
from pathlib import Path

import uvloop
from environment import environment
from resp import ZONES, Gateway, spread, started

from zonelab.cluster.real.zones import zones
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US
from zonelab.cluster.resp.gateway.program import allow_files
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level

SETTLE_S = 3.0
"""Clients look less often the longer they wait, up to this."""


async def row(gateways: dict[str, Gateway], options: argparse.Namespace) -> dict[str, object]:
    """Processor time in one second of each of ``gateways``, in ms."""
    writers = []
    for gateway in gateways.values():
        for number in range(options.clients):
            _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
            writer.write(wire.command(b"BLPOP", b"waiting:%d" % (number % options.keys), b"0"))
            writers.append(writer)
    await asyncio.sleep(SETTLE_S)
    used: dict[str, list[float]] = {name: [] for name in gateways}
    for _ in range(options.repeat):
        before_s = {name: gateway.processor_s for name, gateway in gateways.items()}
        await asyncio.sleep(options.seconds)
        for name, gateway in gateways.items():
            used[name].append((gateway.processor_s - before_s[name]) * 1000 / options.seconds)
    for writer in writers:
        writer.transport.abort()
    told: dict[str, object] = {name: {"gateway_processor_ms_per_s": spread(used[name], 1)} for name in gateways}
    if "beside" in used:
        told["ratio"] = spread([this / beside for this, beside in zip(used["this"], used["beside"], strict=True)], 2)
    return told


async def measure(options: argparse.Namespace) -> dict[str, object]:
    allow_files(2 * options.clients + 256)
    rows: dict[str, object] = {}
    async with zones("process", ZONES) as zone_set:
        for level in options.level:
            with tempfile.TemporaryDirectory() as directory:
                gateways = started(zone_set, level, directory, options)
                try:
                    rows[level.value] = await row(gateways, options)
                finally:
                    for gateway in gateways.values():
                        gateway.stop()
    told = {"clients": options.clients, "keys": options.keys, "seconds": options.seconds}
    return {"benchmark": "waiting", **told, **environment(), "load_average": os.getloadavg()[0], "results": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=2000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10, help="processor time is taken over so long")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--level", type=Level, nargs="+", default=[Level.DC_ONE, Level.DC_QUORUM])
    parser.add_argument("--busy-poll-us", type=int, default=BUSY_POLL_US)
    parser.add_argument("--beside", type=Path, help="a checkout whose port has as many clients")
    print(json.dumps(uvloop.run(measure(parser.parse_args())), indent=1))


if __name__ == "__main__":
    main()
