"""Goal: one connection of the port keeps order and state. Method: a real socket, a coordinator by hand."""

import pytest

from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import ServerError

from .conftest import error, on_port, until

OK = b"+OK\r\n"


@on_port()
async def test_answers_come_in_the_order_of_commands_whatever_is_answered_first(port):
    client = await port.client()
    client.send_raw(wire.command(b"SET", b"k", b"v") + wire.command(b"GET", b"k") + wire.command(b"ECHO", b"hi"))
    write, read = await port.coordinator.call(), await port.coordinator.call()
    read.answer(b"$1\r\nv\r\n")
    write.answer(OK)
    assert [await client.reply() for _ in range(3)] == [b"OK", b"v", b"hi"]


@on_port()
async def test_commands_of_one_kind_travel_together_and_as_the_client_wrote_them(port):
    client = await port.client()
    script = wire.command(b"EVAL", b"return 1", b"0")
    run = wire.command(b"set", b"a", b"1") + script + wire.command(b"SET", b"b", b"2")
    client.send_raw(run + wire.command(b"GET", b"a"))
    first, second = await port.coordinator.call(), await port.coordinator.call()
    assert (first.packed, len(first.commands)) == (run, 3)
    assert second.words == [[b"GET", b"a"]]


@on_port()
async def test_a_ping_goes_to_the_server_until_its_client_has_subscribed(port):
    client = await port.client()
    client.send(b"PING")
    call = await port.coordinator.call()
    assert call.words == [[b"PING"]]
    call.answer(b"+PONG\r\n")
    assert await client.reply() == b"PONG"


@on_port()
async def test_reads_and_writes_have_levels_of_their_own_and_a_client_may_choose_its_level(port):
    port.server.read_level = Level.DC_SAFE_QUORUM
    client = await port.client()
    client.send(b"SET", b"k", b"v")
    client.send(b"GET", b"k")
    levels = [(await port.coordinator.call()).level, (await port.coordinator.call()).level]
    assert levels == [Level.DC_ONE, Level.DC_SAFE_QUORUM]
    other = await port.client()
    assert await other.ask(b"DYNO_CONFIG:CONN_CONSISTENCY", b"dc_quorum") == b"OK"
    assert "accepted: DC_ONE" in error(await other.ask(b"dyno_config:conn_consistency", b"dc_two"))
    assert await other.ask(b"dyno_config:conn_consistency", b"dc_safe_quorumxyz") == b"OK"
    other.send(b"SET", b"k", b"v")
    assert (await port.coordinator.call()).level is Level.DC_SAFE_QUORUM


@on_port()
async def test_what_stores_nothing_is_a_read_whatever_the_server_says_of_its_name(port):
    port.server.read_level, port.server.write_level = Level.DC_ONE, Level.DC_QUORUM
    client = await port.client()
    for words, example, level in (
        ((b"SORT", b"l"), "GET", Level.DC_ONE),
        ((b"sort", b"l", b"store", b"d"), "SET", Level.DC_QUORUM),
    ):
        client.send(*words)
        call = await port.coordinator.call()
        assert (call.commands[0], call.level) == ((example,), level)
        call.answer(b":0\r\n")
        assert await client.reply() == 0


@on_port()
async def test_several_values_travel_apart_from_other_reads_because_they_are_voted_on_differently(port):
    client = await port.client()
    several = wire.command(b"MGET", b"a", b"b")
    client.send_raw(wire.command(b"GET", b"a") + several + several + wire.command(b"GET", b"a"))
    calls = [await port.coordinator.call() for _ in range(3)]
    assert [[command[0] for command in call.commands] for call in calls] == [["GET"], ["MGET", "MGET"], ["GET"]]
    assert calls[1].packed == several * 2


@pytest.mark.parametrize("protocol", [2, 3])
@on_port()
async def test_members_are_asked_for_in_order_at_safe_quorum_and_are_a_set_in_resp3(port, protocol):
    client = await port.client()
    await client.ask(b"HELLO", b"%d" % protocol)
    for level in Level:
        await client.ask(b"DYNO_CONFIG:CONN_CONSISTENCY", level.value.encode())
        client.send(b"smembers", b"k")
        call = await port.coordinator.call()
        safe = level is Level.DC_SAFE_QUORUM
        assert call.words == [[b"SORT", b"k", b"ALPHA"] if safe else [b"smembers", b"k"]]
        assert call.level is level
        assert call.commands[0] == ("GET",), "a read, in any form"
        call.answer(b"*2\r\n$1\r\n*\r\n$1\r\nb\r\n")
        as_set = safe and protocol == 3
        assert await client.raw_reply() == (b"~" if as_set else b"*") + b"2\r\n$1\r\n*\r\n$1\r\nb\r\n"
        assert error(await client.ask(b"SMEMBERS")) == "ERR wrong number of arguments for 'smembers' command"
    client.send(b"SMEMBERS", b"k")
    (await port.coordinator.call()).fail(ServerError("WRONGTYPE that"))
    assert error(await client.reply()) == "WRONGTYPE that"


@on_port(reply=OK)
async def test_names_are_known_in_any_case_and_unknown_ones_are_refused(port):
    client = await port.client()
    assert await client.ask(b"sEt", b"k", b"v") == b"OK"
    assert error(await client.ask(b"FROB", b"x")).startswith("ERR unknown command 'FROB'")
    assert error(await client.ask(b"SHUTDOWN")).startswith("ERR SHUTDOWN is not available")
    assert error(await client.ask(b"CONFIG", b"SET", b"a", b"b")).startswith("ERR CONFIG SET is not available")
    assert error(await client.ask(b"CONFIG", b"FROB")).startswith("ERR unknown subcommand 'FROB'")
    assert error(await client.ask(b"WAIT", b"1", b"0")).startswith("ERR WAIT is not available")
    assert error(await client.ask(b"ECHO")) == "ERR wrong number of arguments for 'echo' command"
    assert error(await client.ask(b"SELECT", b"1")).startswith("ERR DB index is out of range")
    assert error(await client.ask(b"BLNEW", b"k", b"0")).startswith("ERR BLNEW is not available")
    assert await client.ask(b"CONFIG", b"GET", b"x") == b"OK"


@on_port()
async def test_a_protocol_error_is_answered_after_all_that_came_before_and_ends_the_connection(port):
    client = await port.client()
    client.send_raw(wire.command(b"GET", b"k") + b"*1\r\n$1073741824\r\n" + wire.command(b"GET", b"z"))
    (await port.coordinator.call()).answer(b"$1\r\nv\r\n")
    assert await client.reply() == b"v"
    assert error(await client.reply()) == "ERR Protocol error: invalid bulk length"
    assert await client.closed()
    assert not port.coordinator.calls
    assert port.server.statistics.protocol_errors == 1


@on_port(reply=OK, password="sesame")
async def test_with_a_password_nothing_is_served_before_log_in(port):
    client = await port.client()
    assert error(await client.ask(b"GET", b"k")) == "NOAUTH Authentication required."
    assert error(await client.ask(b"NONE")) == "NOAUTH Authentication required."
    assert error(await client.ask(b"HELLO", b"3")).startswith("NOAUTH")
    assert error(await client.ask(b"AUTH", b"wrong")).startswith("WRONGPASS")
    assert error(await client.ask(b"AUTH", b"admin", b"sesame")).startswith("WRONGPASS")
    assert await client.ask(b"AUTH", b"sesame") == b"OK"
    assert await client.ask(b"SET", b"k", b"v" * 20_000) == b"OK"
    other = await port.client()
    assert (await other.ask(b"HELLO", b"3", b"AUTH", b"default", b"sesame", b"SETNAME", b"me"))[b"proto"] == 3
    assert await other.ask(b"CLIENT", b"GETNAME") == b"me"
    assert await other.ask(b"RESET") == b"RESET"
    assert error(await other.ask(b"GET", b"k")) == "NOAUTH Authentication required."
    greedy = await port.client()
    greedy.send_raw(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n")
    assert error(await greedy.reply()).startswith("NOAUTH") or await greedy.closed()


@on_port(reply=OK)
async def test_without_a_password_log_in_says_so(port):
    client = await port.client()
    assert "without any password configured" in error(await client.ask(b"AUTH", b"x"))
    for version, text in ((b"4", "NOPROTO"), (b"%d" % -(2**63), "NOPROTO"), (b"%d" % 2**63, "ERR Protocol version is")):
        assert error(await client.ask(b"HELLO", version)).startswith(text)
    assert (await client.ask(b"HELLO"))[:6] == [b"server", b"valkey", b"version", b"0.0.0", b"proto", 2]
    assert error(await client.ask(b"CLIENT", b"SETNAME", b"a b")).startswith("ERR Client names")
    assert error(await client.ask(b"CLIENT", b"REPLY", b"OFF")).startswith("ERR CLIENT REPLY is not available")


@on_port(level=Level.DC_QUORUM)
async def test_a_transaction_travels_as_one_piece_and_its_last_reply_is_the_answer(port):
    client = await port.client()
    assert await client.ask(b"MULTI") == b"OK"
    assert await client.ask(b"SET", b"k", b"v") == b"QUEUED"
    assert await client.ask(b"GET", b"k") == b"QUEUED"
    client.send(b"EXEC")
    call = await port.coordinator.call()
    assert call.words == [[b"MULTI"], [b"SET", b"k", b"v"], [b"GET", b"k"], [b"EXEC"]]
    assert (len(call.commands), call.commands.replies) == (1, 4)
    call.answer(b"*2\r\n+OK\r\n$1\r\nv\r\n")
    assert await client.reply() == [b"OK", b"v"]
    assert error(await client.ask(b"EXEC")) == "ERR EXEC without MULTI"


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ([[b"GET", b"k"], [b"HSTRLEN", b"h", b"f"]], Level.DC_ONE),
        ([[b"SET", b"k", b"v"]], Level.DC_SAFE_QUORUM),
        ([[b"GET", b"k"], [b"SET", b"k", b"v"]], Level.DC_SAFE_QUORUM),
    ],
)
@on_port()
async def test_a_transaction_of_reads_alone_is_a_read_and_any_other_a_write(port, words, level):
    port.server.read_level, port.server.write_level = Level.DC_ONE, Level.DC_SAFE_QUORUM
    client = await port.client()
    await client.ask(b"MULTI")
    for one in words:
        assert await client.ask(*one) == b"QUEUED"
    client.send(b"EXEC")
    assert (await port.coordinator.call()).level is level


@on_port()
async def test_a_transaction_with_a_wrong_command_is_not_sent_at_all(port):
    client = await port.client()
    for wrong in (
        [b"FROB"],
        [b"GET"],
        [b"CONFIG", b"SET", b"a", b"b"],
        [b"SELECT", b"0"],
        [b"SUBSCRIBE", b"c"],
        [b"MULTI"],
        [b"WATCH", b"k"],
    ):
        await client.ask(b"MULTI")
        assert await client.ask(b"SET", b"k", b"v") == b"QUEUED"
        assert isinstance(await client.ask(*wrong), ServerError)
        assert error(await client.ask(b"EXEC")).startswith("EXECABORT")
    await client.ask(b"MULTI")
    assert await client.ask(b"EXEC") == []
    await client.ask(b"MULTI")
    assert await client.ask(b"DISCARD") == b"OK"
    assert error(await client.ask(b"DISCARD")) == "ERR DISCARD without MULTI"
    assert not port.coordinator.calls


INFO = (
    b"# Clients\r\nconnected_clients:9\r\nmaxclients:10000\r\nblocked_clients:0\r\n\r\n"
    b"# Stats\r\ntotal_connections_received:9\r\n"
)


@pytest.mark.parametrize("protocol", [2, 3])
@on_port(clients_max=3)
async def test_what_a_server_says_of_its_clients_is_said_of_those_of_the_port(port, protocol):
    (await port.client()).close()
    await until(lambda: port.server.statistics.accepted == 1 and not port.server.clients)
    client, waiting = await port.client(), await port.client()
    await client.ask(b"HELLO", b"%d" % protocol)
    waiting.send(b"BLPOP", b"q", b"0")
    (await port.coordinator.call()).answer(b":0\r\n")
    await until(lambda: port.server.room.waiting == 1)
    port.coordinator.reply = b":0\r\n"
    for call in port.coordinator.calls:
        call.answer(b":0\r\n")
    port.coordinator.reply = wire.verbatim(INFO, protocol=protocol)
    client.send(b"INFO")
    said = await client.reply()
    lines = (said.decode() if isinstance(said, bytes) else said).splitlines()
    assert lines == [
        "# Clients", "connected_clients:2", "maxclients:3", "blocked_clients:1", "", "# Stats",
        "total_connections_received:3",
    ]  # fmt: skip


@on_port()
async def test_answers_for_a_client_that_has_left_go_nowhere(port):
    client = await port.client()
    client.send(b"GET", b"k")
    call = await port.coordinator.call()
    client.close()
    other = await port.client()
    assert await other.ask(b"ECHO", b"well") == b"well"
    call.answer(b"$1\r\nv\r\n")
    await until(lambda: len(port.server.clients) == 1)
    assert await other.ask(b"ECHO", b"well") == b"well"


@on_port()
async def test_quit_answers_what_came_before_and_then_closes(port):
    client = await port.client()
    client.send(b"GET", b"k")
    client.send(b"QUIT")
    client.send(b"GET", b"z")
    (await port.coordinator.call()).answer(b"$1\r\nv\r\n")
    assert [await client.reply(), await client.reply()] == [b"v", b"OK"]
    assert await client.closed()
    assert not port.coordinator.calls


@on_port()
async def test_commands_of_several_clients_in_one_turn_travel_together_if_they_are_alike(port):
    for _ in range(2):
        await (await port.client()).ask(b"ECHO", b"here")
    sessions = list(port.server.clients)
    for number, session in enumerate(sessions):
        session.data_received(wire.command(b"SET", b"k", b"%d" % number))
    assert not port.coordinator.calls
    sessions[0].data_received(wire.command(b"GET", b"k"))
    sessions[1].data_received(wire.command(b"SET", b"k", b"last"))
    first, second, third = [await port.coordinator.call() for _ in range(3)]
    assert [words[2] for words in first.words] == [b"0", b"1"]
    assert (second.words, third.words) == ([[b"GET", b"k"]], [[b"SET", b"k", b"last"]])


@on_port()
async def test_a_transaction_does_not_overtake_what_was_gathered_before_it(port):
    await (await port.client()).ask(b"ECHO", b"here")
    [session] = port.server.clients
    session.data_received(b"SET k 1\r\nMULTI\r\nSET k 2\r\nEXEC\r\n")
    first, second = [await port.coordinator.call() for _ in range(2)]
    assert first.words == [[b"SET", b"k", b"1"]]
    assert [words[0] for words in second.words] == [b"MULTI", b"SET", b"EXEC"]
