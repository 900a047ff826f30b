"""Goal: a server that refuses writes says why. Method: process zones without memory, and with a file in the way."""

import asyncio
from pathlib import Path

import pytest
from support.cluster.zones import eventually
from support.coroutines import coroutine

from zonelab.cluster.admin.server_troubles import FILE, MEMORY, troubles_of
from zonelab.cluster.real.zones import admin, zones
from zonelab.cluster.zone import Address, Persistence

pytestmark = pytest.mark.real


@coroutine
async def test_a_full_memory_is_told_and_no_more_once_there_is_room():
    async with zones("process", ["a"]) as made:
        zone = made["a"]
        assert await troubles_of(zone.address) == ()
        await zone.fill_memory()
        assert await troubles_of(zone.address) == (MEMORY,)
        await zone.free_memory()
        assert await troubles_of(zone.address) == ()


@coroutine
async def test_a_file_that_cannot_be_written_is_told_and_no_more_once_it_can():
    async with zones("process", ["a"], persistence=Persistence.RDB) as made:
        address = made["a"].address
        async with admin.admin_client(address) as client:
            told = {name: (await client.config_get(name))[name] for name in ("dir", "dbfilename")}
            blocked = Path(told["dir"], told["dbfilename"])
            await asyncio.to_thread(blocked.mkdir)
            await admin.execute(client, "BGSAVE")
            await eventually(lambda: tells(address, FILE))
            await asyncio.to_thread(blocked.rmdir)
            await admin.execute(client, "BGSAVE")
            await eventually(lambda: tells(address))


async def tells(address: Address, *troubles: str) -> bool:
    return await troubles_of(address) == troubles


def test_a_server_that_is_gone_tells_nothing(run):
    assert run(troubles_of(Address("127.0.0.1", 1))) == ()
