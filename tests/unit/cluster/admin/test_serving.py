"""Goal: who only connects to a port of ours cannot use up its descriptors, nor keep out who shows its token.

Method: sockets on the loopback.
"""

import asyncio
import contextlib

import pytest
from starlette.responses import PlainTextResponse
from support.coroutines import coroutine

from zonelab.cluster.admin.serving import Bounds, serving

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
TOKEN = "a token of sixteen"
HALF_HEADERS = 80


@contextlib.asynccontextmanager
async def clients_of(app=None, **bounds):
    """A coroutine function that connects one more."""
    async with contextlib.AsyncExitStack() as stack, asyncio.timeout(30):
        address = await stack.enter_async_context(
            serving(app or PlainTextResponse("hello"), host="127.0.0.1", port=0, bounds=Bounds(**bounds))
        )

        async def client():
            reader, writer = await asyncio.open_connection(address.host, address.port)
            stack.callback(writer.close)
            return reader, writer

        yield client


@coroutine
async def test_clients_beyond_the_bound_are_closed_and_the_others_are_served():
    refused = []
    async with clients_of(clients_max=3, idle_s=600, on_refused=lambda: refused.append(1)) as client:
        reader, writer = [await client() for _ in range(3)][-1]
        beyond = [await (await client())[0].read() for _ in range(20)]
        writer.write(ASK)
        answer = await reader.readuntil(b"hello")
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


async def asked(client, *headers):
    """What is answered to a whole request with these headers."""
    reader, writer = await client()
    writer.write(b"\r\n".join((b"GET / HTTP/1.1", b"Host: x", *headers, b"Connection: close", b"", b"")))
    with contextlib.suppress(ConnectionError):
        return await reader.read()
    return b""


@coroutine
async def test_who_shows_the_token_is_served_though_others_hold_every_place():
    refused = []
    async with clients_of(token=TOKEN, idle_s=600, on_refused=lambda: refused.append(1)) as client:
        for _ in range(HALF_HEADERS):
            _, writer = await client()
            writer.write(ASK[:9])
        shown = f"Authorization: Bearer {TOKEN}".encode()
        with_token = [await asked(client, shown) for _ in range(HALF_HEADERS)]
        others = [await asked(client), await asked(client, shown[:-1])]
    assert all(answer.endswith(b"hello") for answer in with_token)
    assert others == [b"", b""]
    assert refused


@pytest.mark.parametrize(
    ("begun", "piece"),
    [(ASK[:9], b"x"), (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", b"x"), (ASK, b"G")],
    ids=["headers", "a body", "the next request"],
)
def test_who_sends_a_request_byte_by_byte_is_closed_at_its_deadline(begun, piece):
    async def drip(writer):
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0.1)

    async def echo(scope, receive, send):
        told = {"more_body": True}
        while told.get("more_body"):
            told = await receive()
        if told["type"] == "http.request":
            await PlainTextResponse("hello")(scope, receive, send)

    async def exchange():
        async with clients_of(app=echo, idle_s=1, body_s=1) as client:
            reader, writer = await client()
            writer.write(begun)
            dripping = asyncio.create_task(drip(writer))
            with contextlib.suppress(ConnectionError):
                while await reader.read(1_000):
                    pass
            dripping.cancel()

    asyncio.run(exchange())
