"""Goal: who only connects to a port of ours cannot use up its descriptors. Method: sockets on the loopback."""

import asyncio
import contextlib

import pytest
from starlette.responses import PlainTextResponse

from cluster.admin.serving import serving

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@contextlib.asynccontextmanager
async def clients_of(**bounds):
    """A coroutine function that connects one more."""
    async with contextlib.AsyncExitStack() as stack, asyncio.timeout(30):
        address = await stack.enter_async_context(
            serving(PlainTextResponse("hello"), host="127.0.0.1", port=0, **bounds)
        )

        async def client():
            reader, writer = await asyncio.open_connection(address.host, address.port)
            stack.callback(writer.close)
            return reader, writer

        yield client


def test_clients_beyond_the_bound_are_closed_and_the_others_are_served():
    refused = []

    async def exchange():
        async with clients_of(clients_max=3, idle_s=600, on_refused=lambda: refused.append(1)) as client:
            reader, writer = [await client() for _ in range(3)][-1]
            beyond = [await (await client())[0].read() for _ in range(20)]
            writer.write(ASK)
            return beyond, await reader.readuntil(b"hello")

    beyond, answer = asyncio.run(exchange())
    assert (beyond, len(refused)) == ([b""] * 20, 20)
    assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [b"", ASK[:9], ASK], ids=["nothing", "half a request", "one request"])
def test_who_asks_nothing_more_is_closed(sent):
    async def exchange():
        async with clients_of(idle_s=1) as client:
            reader, writer = await client()
            writer.write(sent)
            return await reader.read()

    assert asyncio.run(exchange()).endswith(b"hello" if sent == ASK else b"")
