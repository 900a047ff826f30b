"""Goal: what clients say of themselves is what is told of them, and each can be found, listed and closed.

Method: real sockets; whole lines of CLIENT LIST are read, by name.
"""

import re

import pytest
from support.cluster.port_lines import recorded_commands
from support.coroutines import coroutine

from zonelab.cluster.resp.commands.client_list import TURN_CLIENTS
from zonelab.cluster.resp.commands.connection_commands import NAME_BYTES_MAX, WRONG_PASSWORD
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import table_from

from ..conftest import error, opened, until

WHOLE = table_from(recorded_commands())
OK = b"+OK\r\n"


def port_of(**settings):
    return opened(reply=OK, table=WHOLE, **settings)


def facts(line):
    return dict(fact.split("=", 1) for fact in line.decode().split(" "))


async def listed(client, *filters):
    said = await client.ask(b"CLIENT", b"LIST", *filters)
    assert said == b"" or said.endswith(b"\n")
    return [facts(line) for line in said.splitlines()]


def address_of(client, end):
    return "{}:{}".format(*client.writer.get_extra_info(end)[:2])


@coroutine
async def test_a_line_tells_all_of_a_client():
    async with port_of() as port:
        one, other = await port.client(), await port.client()
        await one.ask(b"CLIENT", b"SETNAME", b"worker")
        await one.ask(b"CLIENT", b"SETINFO", b"LIB-NAME", b"lib(x)")
        await one.ask(b"CLIENT", b"SETINFO", b"lib-ver", b"1.2")
        await other.ask(b"HELLO", b"3")
        await one.ask(b"MULTI")
        for _ in range(2):
            await one.ask(b"SET", b"k", b"v")
        said = (await other.ask(b"CLIENT", b"LIST")).splitlines()
        lines = list(map(facts, said))
        whole = {
            "id": "1",
            "addr": address_of(one, "sockname"),
            "laddr": address_of(one, "peername"),
            "fd": "-1",
            "name": "worker",
            "age": "0",
            "idle": "0",
            "flags": "N",
            "db": "0",
            "sub": "0",
            "psub": "0",
            "ssub": "0",
            "multi": "2",
            "cmd": "set",
            "user": "default",
            "redir": "-1",
            "resp": "2",
            "lib-name": "lib(x)",
            "lib-ver": "1.2",
        }
        assert [list(line) for line in lines] == [list(whole)] * 2
        assert lines[0] | {"age": "0", "idle": "0"} == whole
        assert lines[1] | {"age": "0", "idle": "0"} == whole | {
            "id": "2",
            "addr": address_of(other, "sockname"),
            "name": "",
            "multi": "-1",
            "cmd": "client|list",
            "resp": "3",
            "lib-name": "",
            "lib-ver": "",
        }
        [session, _] = port.server.clients
        session.born_s -= 100
        session.last_s -= 40
        other.send(b"CLIENT", b"LIST", b"ID", b"1")
        [aged] = (await other.reply()).splitlines()
        assert re.search(rb" age=10[01] idle=4[01] ", aged)


@coroutine
async def test_a_line_names_the_last_command_whichever_way_it_took():
    ways = {
        b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n": "get",
        b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" * 2: "get",
        b"ECHO x\r\nsEt k v\r\n": "set",
        b"GET k\r\nNOSUCH\r\n": "NULL",
        b"CLIENT ID\r\n": "client|id",
        b"CLIENT NOSUCH\r\n": "NULL",
        b"SET k\r\n": "set",
    }
    async with port_of() as port:
        one, other = await port.client(), await port.client()
        assert (await listed(other))[0]["cmd"] == "NULL"
        for sent, name in ways.items():
            for _ in range(3):  # from the second one on it may go the short way
                one.send_raw(sent)
                for _ in range(sent.count(b"\r\n") if sent[:1] != b"*" else sent.count(b"*")):
                    await one.reply()
                assert (await listed(other))[0]["cmd"] == name, sent


@coroutine
async def test_filters_choose_by_all_of_their_words():
    async with port_of() as port:
        clients = [await port.client() for _ in range(4)]
        for client in clients:
            await client.ask(b"ECHO", b"x")
        asking = clients[0]
        for filters, identities in (
            ((), "1234"),
            ((b"id", b"3", b"1", b"9"), "13"),
            ((b"TYPE", b"normal"), "1234"),
            ((b"type", b"REPLICA"), ""),
            ((b"ID", b"2", b"4", b"TYPE", b"normal"), "24"),
            ((b"TYPE", b"normal", b"ID", b"4"), "4"),
            ((b"ID", b"1", b"2", b"ID", b"2", b"3"), "2"),
            ((b"TYPE", b"pubsub", b"ID", b"1"), ""),
        ):
            assert [line["id"] for line in await listed(asking, *filters)] == list(identities), filters
        for filters, told in (
            ((b"TYPE", b"odd\0more"), "ERR Unknown client type 'odd'"),
            ((b"ID", b"1", b"0"), "ERR client-id should be greater than 0"),
            ((b"ID", b"1", b"x"), "ERR syntax error"),
            ((b"ID", b"9223372036854775808"), "ERR syntax error"),
            ((b"MAXAGE", b"1"), "ERR syntax error"),
        ):
            assert error(await asking.ask(b"CLIENT", b"LIST", *filters)) == told
        assert port.server.counts()["error_replies"] == 5


@pytest.mark.parametrize("many", [False, True])
@coroutine
async def test_clients_are_closed_by_number_or_address_and_nobody_else_is(many):
    async with port_of() as port:
        clients = [await port.client() for _ in range(TURN_CLIENTS + 5 if many else 4)]
        await until(lambda: len(port.server.clients) == len(clients))
        asking, by_number, by_address, *_, last = clients
        assert await asking.ask(b"CLIENT", b"KILL", b"id", b"2") == 1
        assert await asking.ask(b"CLIENT", b"KILL", address_of(by_address, "sockname").encode()) == b"OK"
        assert await by_number.closed()
        assert await by_address.closed()
        await until(lambda: len(port.server.clients) == len(clients) - 2)
        assert await asking.ask(b"CLIENT", b"KILL", b"ID", b"2") == 0
        assert error(await asking.ask(b"CLIENT", b"KILL", b"127.0.0.1:0")) == "ERR No such client"
        left = [str(number) for number in range(1, len(clients) + 1) if number not in (2, 3)]
        assert [line["id"] for line in await listed(asking)] == left
        assert await last.ask(b"CLIENT", b"ID") == len(clients)
        for words, told in (
            ((b"ID", b"0"), "ERR client-id should be greater than 0"),
            ((b"ID", b"x"), "ERR syntax error"),
            ((b"SKIPME", b"yes"), "ERR syntax error; accepted here: CLIENT KILL addr:port, CLIENT KILL ID number"),
            ((b"ID", b"1", b"2"), "ERR syntax error; accepted here: CLIENT KILL addr:port, CLIENT KILL ID number"),
        ):
            assert error(await asking.ask(b"CLIENT", b"KILL", *words)) == told
        assert await asking.ask(b"CLIENT", b"KILL", address_of(asking, "sockname").encode()) == b"OK"
        assert await asking.closed()


@coroutine
async def test_hello_takes_its_options_in_any_order_and_all_or_none_of_them():
    async with port_of() as port:
        client = await port.client()
        told = await client.ask(b"HELLO", b"3", b"setname", b"first")
        assert told == {
            b"server": b"valkey",
            b"version": b"0.0.0",
            b"proto": 3,
            b"id": 1,
            b"mode": b"standalone",
            b"role": b"master",
            b"modules": [],
        }
        assert (await client.ask(b"HELLO"))[b"proto"] == 3
        assert await client.ask(b"CLIENT", b"GETNAME") == b"first"
        for words, said in (
            ((b"2", b"SETNAME"), "ERR Syntax error in HELLO option 'SETNAME'"),
            ((b"2", b"SETNAME", b"a", b"AUTH", b"default"), "ERR Syntax error in HELLO option 'AUTH'"),
            ((b"2", b"frob\0x", b"y"), "ERR Syntax error in HELLO option 'frob'"),
            ((b"2", b"SETNAME", b"a b"), "ERR Client names cannot contain spaces, newlines or special characters."),
            ((b"2", b"AUTH", b"nobody", b"x", b"SETNAME", b"a"), WRONG_PASSWORD),
        ):
            assert error(await client.ask(b"HELLO", *words)) == said
        assert await client.ask(b"CLIENT", b"GETNAME") == b"first"
        assert (await client.ask(b"HELLO"))[b"proto"] == 3, "what was refused has changed nothing"
        told = await client.ask(b"HELLO", b"2", b"AUTH", b"default", b"any", b"SETNAME", b"second")
        assert told[:6] == [b"server", b"valkey", b"version", b"0.0.0", b"proto", 2]
        assert await client.ask(b"CLIENT", b"GETNAME") == b"second"


@coroutine
async def test_names_have_a_longest_and_no_odd_byte():
    async with port_of() as port:
        client = await port.client()
        longest = b"~" * NAME_BYTES_MAX
        assert await client.ask(b"CLIENT", b"SETNAME", longest) == b"OK"
        long = f"of more than {NAME_BYTES_MAX} bytes are not available here, got {NAME_BYTES_MAX + 1}"
        assert error(await client.ask(b"CLIENT", b"SETNAME", longest + b"~")) == f"ERR Client names {long}"
        assert error(await client.ask(b"CLIENT", b"SETINFO", b"lib-name", longest + b"x")) == f"ERR lib-name {long}"
        assert error(await client.ask(b"CLIENT", b"SETINFO", b"x\0y", b"z")) == "ERR Unrecognized option 'x'"
        assert await client.ask(b"CLIENT", b"GETNAME") == longest
        assert await client.ask(b"CLIENT", b"SETNAME", b"") == b"OK"
        assert await client.ask(b"CLIENT", b"GETNAME") is None


@coroutine
async def test_help_names_what_the_port_answers():
    async with port_of() as port:
        client = await port.client()
        names = ["CAPA", "GETNAME", "HELP", "ID", "INFO", "KILL", "LIST", "NO-EVICT", "NO-TOUCH", "SETINFO", "SETNAME"]
        assert await client.ask(b"CLIENT", b"HELP") == [f"CLIENT {name}".encode() for name in names]
        info = await client.ask(b"CLIENT", b"INFO")
        assert facts(info.rstrip(b"\n")) | {"cmd": "client|list"} == (await listed(client))[0]


@coroutine
async def test_the_port_counts_what_clients_did_also_of_those_that_have_left():
    async with port_of(clients_max=2) as port:
        one, other = await port.client(), await port.client()
        for client in (one, other):
            client.send_raw(wire.command(b"SET", b"k", b"v") * 3 + wire.command(b"FROB") + b"*1\r\n$x\r\n")
            await client.closed()
        await until(lambda: not port.server.clients)
        one, other = await port.client(), await port.client()
        await one.ask(b"ECHO", b"x")
        await other.ask(b"SET", b"k", b"v")
        third = await port.client()
        await third.closed()
        assert port.server.counts() == {
            "accepted": 4,
            "refused_full": 1,
            "protocol_errors": 2,
            "error_replies": 2,
            "over_memory": 0,
            "commands": 2 * 4 + 2,
            "clients": 2,
            "held_bytes": 0,
        }
        assert port.server.figures() == {
            b"blocked_clients": 0,
            b"connected_clients": 2,
            b"maxclients": 2,
            b"rejected_connections": 1,
            b"total_connections_received": 4,
        }
