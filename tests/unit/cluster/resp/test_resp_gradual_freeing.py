"""Goal: who leaves while much is held for it takes no long turn of the loop. Method: what is held, turn by turn."""

import asyncio

from support.coroutines import coroutine

from zonelab.cluster.commands.routes import CommandRoute
from zonelab.cluster.resp.gradual_freeing import TURN_BYTES, TURN_COMMANDS, GradualFreeing
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS

from .conftest import on_port, until

WRITE = KINDS[CommandRoute.WRITE]


@coroutine
async def test_a_turn_frees_a_bounded_part_of_what_was_held():
    freeing = GradualFreeing(asyncio.get_running_loop())
    large, small = [(bytes(TURN_BYTES), WRITE)] * 3, [(b"", WRITE)] * (TURN_COMMANDS + 1)
    left = []
    freeing.add(large)
    freeing.add(small)
    while not freeing.done:
        left.append((len(large), len(small)))
        await asyncio.sleep(0)
    assert left == [
        (3, TURN_COMMANDS + 1),
        (2, TURN_COMMANDS + 1),
        (1, TURN_COMMANDS + 1),
        (0, TURN_COMMANDS + 1),
        (0, 1),
    ]


@on_port(reply=b"+OK\r\n")
async def test_a_client_that_leaves_in_a_transaction_hands_over_its_queue(port):
    client = await port.client()
    client.send_raw(wire.command(b"MULTI") + wire.command(b"GET", b"k") * 10)
    await until(lambda: port.server.clients[0].queued and len(port.server.clients[0].queued) == 10)
    queue = port.server.clients[0].queued
    client.close()
    await until(lambda: not (port.server.clients or queue))
    assert port.server.freeing.done


@on_port()
async def test_a_client_that_leaves_in_a_long_argument_hands_over_what_has_arrived(port):
    """To free 40 MB of each of 12 clients took one turn of 51 to 60 ms."""
    client = await port.client()
    client.send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9000000\r\n" + bytes(1_000_000))
    await until(lambda: port.server.clients[0].measured() > 1_000_000)
    pieces = port.server.clients[0]._scanner._long.pieces
    assert len(pieces) > 1
    client.close()
    await until(lambda: not (port.server.clients or pieces))
    assert port.server.freeing.done
