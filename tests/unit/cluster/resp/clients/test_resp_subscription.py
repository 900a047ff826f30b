"""Goal: a subscriber hears what the server of its zone says, and is held to what a server holds a subscriber to.

Method: a real socket, a server of channels in the test's own loop.
"""

import asyncio
from contextlib import asynccontextmanager

import hiredis
import pytest
from support.cluster.port_lines import recorded_commands
from support.coroutines import within

from zonelab.cluster.resp.commands.subscribe import UNREACHABLE
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import table_from
from zonelab.cluster.resp.protocol.subscription import Subscription
from zonelab.cluster.zone import Address

from ..conftest import error, opened, until

WHOLE = table_from(recorded_commands())
OK = b"+OK\r\n"
ONLY = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
NAME_BYTES = 100


class Channels:
    """A server as its subscribers see it."""

    def __init__(self):
        self.heard = []
        self.writers = []
        self._names = {}

    async def serve(self, reader, writer):
        self.writers.append(writer)
        parser, names, version = hiredis.Reader(), {"": [], "p": [], "s": []}, 2
        while data := await reader.read(65536):
            parser.feed(data)
            while (words := parser.gets()) is not False:
                self.heard.append(words)
                name = words[0].lower().decode()
                if name == "hello":
                    version = int(words[1])
                    facts = [(wire.bulk(b"server"), wire.bulk(b"valkey")), (wire.bulk(b"proto"), wire.integer(version))]
                    writer.write(wire.mapping(facts, protocol=version))
                    continue
                kind = name.removesuffix("subscribe").removesuffix("un")
                listened = names[kind]
                leaves = name == f"{kind}unsubscribe"
                for each in words[1:] or listened[:] or [None]:
                    if leaves and each in listened:
                        listened.remove(each)
                    elif not leaves and each not in listened:
                        listened.append(each)
                    count = len(names["s"]) if kind == "s" else len(names[""] + names["p"])
                    said = wire.NIL[version] if each is None else wire.bulk(each)
                    head = b">" if version == 3 else b"*"
                    writer.write(head + b"3\r\n" + wire.bulk(name.encode()) + said + wire.integer(count))
        writer.close()


@asynccontextmanager
async def subscribed(**settings):
    channels = Channels()
    server = await asyncio.start_server(channels.serve, "127.0.0.1", 0)
    own = Address(*server.sockets[0].getsockname()[:2])
    async with opened(reply=OK, own=own, table=WHOLE, **settings) as port:
        port.channels = channels
        port.listener = server
        yield port
    server.close()


on_channels = within("port", subscribed)


async def replies(client, count):
    return [await client.reply() for _ in range(count)]


def message(name, text, head=b"*"):
    return head + b"3\r\n" + b"".join(map(wire.bulk, (b"message", name, text)))


@on_channels
async def test_each_channel_is_confirmed_and_messages_come_between_until_the_last_is_left(port):
    client = await port.client()
    client.send(b"SUBSCRIBE", b"b", b"a")
    assert await replies(client, 2) == [[b"subscribe", b"b", 1], [b"subscribe", b"a", 2]]
    assert await client.ask(b"psubscribe", b"p*") == [b"psubscribe", b"p*", 3]
    assert await client.ask(b"SSUBSCRIBE", b"s") == [b"ssubscribe", b"s", 1]
    [session] = port.server.clients
    assert session.subscription.held_bytes == 4 * NAME_BYTES + len("bap*s")
    assert session.subscription.count == 4
    port.channels.writers[0].write(message(b"a", b"one") + message(b"b", b"two"))
    assert await replies(client, 2) == [[b"message", b"a", b"one"], [b"message", b"b", b"two"]]
    assert await client.ask(b"SUBSCRIBE", b"a") == [b"subscribe", b"a", 3], "again, which holds nothing more"
    assert session.subscription.held_bytes == 4 * NAME_BYTES + 5
    assert await client.ask(b"UNSUBSCRIBE", b"b") == [b"unsubscribe", b"b", 2]
    assert await client.ask(b"UNSUBSCRIBE", b"nobody") == [b"unsubscribe", b"nobody", 2]
    assert await client.ask(b"SUNSUBSCRIBE") == [b"sunsubscribe", b"s", 0]
    client.send(b"PUNSUBSCRIBE")
    client.send(b"UNSUBSCRIBE")
    assert await replies(client, 2) == [[b"punsubscribe", b"p*", 1], [b"unsubscribe", b"a", 0]]
    assert (session.subscription.count, session.subscription.held_bytes) == (0, 0)
    assert await client.ask(b"UNSUBSCRIBE") == [b"unsubscribe", None, 0]
    assert await client.ask(b"SET", b"k", b"v") == b"OK", "a client like any other again"
    assert len(port.channels.writers) == 1


@on_channels
async def test_in_resp2_a_subscriber_may_do_little_else_and_in_resp3_everything(port):
    client = await port.client()
    await client.ask(b"SUBSCRIBE", b"c")
    for words in ((b"SET", b"k", b"v"), (b"ECHO", b"x"), (b"MULTI",), (b"CLIENT", b"ID")):
        name = b"|".join(words[:2] if words[0] == b"CLIENT" else words[:1]).lower().decode()
        assert error(await client.ask(*words)) == f"ERR Can't execute '{name}': {ONLY}"
    assert await client.ask(b"PING") == [b"pong", b""]
    assert await client.ask(b"PING", b"you") == [b"pong", b"you"]
    assert error(await client.ask(b"PING", b"a", b"b")) == "ERR wrong number of arguments for 'ping' command"
    leaving = await port.client()
    await leaving.ask(b"SUBSCRIBE", b"c")
    assert await leaving.ask(b"QUIT") == b"OK"
    assert await leaving.closed()
    assert await client.ask(b"RESET") == b"RESET"
    assert await client.ask(b"ECHO", b"x") == b"x"
    await client.ask(b"HELLO", b"3")
    assert await client.ask(b"SUBSCRIBE", b"c") == [b"subscribe", b"c", 1]
    assert port.channels.heard[-2:] == [[b"HELLO", b"3"], [b"SUBSCRIBE", b"c"]]
    assert await client.ask(b"ECHO", b"x") == b"x"
    assert await client.ask(b"SET", b"k", b"v") == b"OK"
    told = await client.ask(b"HELLO", b"2")
    assert told[told.index(b"proto") + 1] == 2
    assert "Can't execute 'set'" in error(await client.ask(b"SET", b"k", b"v"))


@on_channels
async def test_what_a_subscriber_holds_is_its_names_and_what_it_has_not_finished_sending(port):
    client = await port.client()
    await client.ask(b"HELLO", b"3")
    await client.ask(b"SUBSCRIBE", b"chan")
    client.send(b"MULTI")
    client.send(b"SET", b"k", b"v")
    assert await replies(client, 2) == [b"OK", b"QUEUED"]
    client.send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5000\r\n" + bytes(4_000))
    [session] = port.server.clients
    await until(lambda: session._scanner.held > 4_000)
    queued = len(wire.command(b"SET", b"k", b"v")) + 128
    assert session.measured() == session._scanner.held + NAME_BYTES + len("chan") + queued


@on_channels
async def test_a_subscriber_is_listed_as_one_as_long_as_it_listens(port):
    other, client = await port.client(), await port.client()
    await other.ask(b"ECHO", b"x")
    await client.ask(b"PSUBSCRIBE", b"p*")
    await client.ask(b"SUBSCRIBE", b"a")
    for kind, identity in ((b"pubsub", b"id=2"), (b"NORMAL", b"id=1")):
        [line] = (await other.ask(b"CLIENT", b"LIST", b"TYPE", kind)).splitlines()
        assert line.startswith(identity + b" ")
    facts = dict(fact.split(b"=") for fact in (await other.ask(b"CLIENT", b"LIST", b"ID", b"2")).split())
    assert (facts[b"flags"], facts[b"sub"], facts[b"psub"]) == (b"P", b"1", b"1")
    await client.ask(b"UNSUBSCRIBE")
    await client.ask(b"PUNSUBSCRIBE")
    facts = dict(fact.split(b"=") for fact in (await other.ask(b"CLIENT", b"LIST", b"ID", b"2")).split())
    assert (facts[b"flags"], facts[b"sub"], facts[b"psub"]) == (b"N", b"0", b"0")
    assert await other.ask(b"CLIENT", b"LIST", b"TYPE", b"pubsub") == b""


@on_channels
async def test_a_subscriber_whose_server_is_gone_is_closed_and_a_new_one_is_told(port):
    client, other = await port.client(), await port.client()
    await client.ask(b"SUBSCRIBE", b"c")
    port.listener.close()
    port.channels.writers[0].transport.abort()
    assert await client.closed()
    assert error(await other.ask(b"SUBSCRIBE", b"c")) == UNREACHABLE
    assert await other.ask(b"SET", b"k", b"v") == b"OK"
    assert await other.ask(b"UNSUBSCRIBE") == [b"unsubscribe", None, 0]


@on_channels
async def test_a_subscriber_that_leaves_takes_its_connection_with_it(port):
    client = await port.client()
    await client.ask(b"SUBSCRIBE", b"c")
    client.close()
    await until(lambda: not port.server.clients)
    await until(lambda: port.channels.writers[0].is_closing())


@pytest.mark.parametrize(
    ("name", "channels", "expected", "left"),
    [
        ("SUBSCRIBE", [b"x", b"x"], 2, {b"a", b"b", b"x"}),
        ("UNSUBSCRIBE", [], 2, set()),
        ("UNSUBSCRIBE", [b"a", b"z"], 2, {b"b"}),
        ("PUNSUBSCRIBE", [], 1, {b"a", b"b"}),
        ("SUNSUBSCRIBE", [b"z"], 1, {b"a", b"b"}),
    ],
)
def test_as_many_confirmations_are_expected_as_a_server_sends(name, channels, expected, left):
    subscription = Subscription(hand_on=lambda reply: None, on_lost=lambda: None)
    assert subscription.confirmations("SUBSCRIBE", [b"a", b"b"]) == 2
    assert subscription.confirmations(name, channels) == expected
    assert subscription.channels == left
    assert subscription.held_bytes == sum(NAME_BYTES + len(each) for each in left)
    assert subscription.restricts(2) is bool(left)
    assert not subscription.restricts(3)
