"""The servers of a cluster as they describe themselves: their commands, product and version."""

import asyncio
from dataclasses import dataclass
from typing import Any

import hiredis

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import CommandTable, table_from
from zonelab.cluster.zone import Address, ClusterError

READY_S = 10.0
"""Seconds that a starting gateway waits for some server's command table."""

_INTRODUCTION = wire.command(b"COMMAND") + wire.command(b"HELLO", b"2")


@dataclass(frozen=True, kw_only=True)
class Introduction:
    """A zone's server as it describes itself."""

    table: CommandTable
    product: str
    version: str


async def introduced(addresses: list[Address]) -> Introduction:
    """Ask the first server that answers for its commands, product and version. Raises ``ClusterError``."""
    begin_s = asyncio.get_running_loop().time()
    while True:
        for address in addresses:
            try:
                return await _introduced_by(address)
            except (OSError, TimeoutError):
                continue
        if asyncio.get_running_loop().time() - begin_s > READY_S:
            raise ClusterError(f"no server answers at {', '.join(map(str, dict.fromkeys(addresses)))}")
        await asyncio.sleep(0.1)


async def _introduced_by(address: Address) -> Introduction:
    async with asyncio.timeout(READY_S):
        reader, writer = await asyncio.open_connection(address.host, address.port)
        try:
            writer.write(_INTRODUCTION)
            parser = hiredis.Reader()
            commands = await _next_reply(parser, reader)
            facts = await _next_reply(parser, reader)
        finally:
            writer.close()
    try:
        values = dict(zip(facts[::2], facts[1::2], strict=True))
        return Introduction(
            table=table_from(commands), product=values[b"server"].decode(), version=values[b"version"].decode()
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ClusterError(f"the server at {address} is no Redis of version 7 or later: {error}") from error


async def _next_reply(parser: hiredis.Reader, reader: asyncio.StreamReader) -> Any:
    while (reply := parser.gets()) is False:
        data = await reader.read(65536)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        parser.feed(data)
    return reply
