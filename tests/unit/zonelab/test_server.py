"""Goal: servers that are there are reached as their URLs say, and what is wrong with them is said. Method: servers that
speak a script, and keep what they were asked.
"""

import asyncio
from collections.abc import Mapping

import hiredis
import pytest
from support.coroutines import coroutine

from zonelab import ClusterError, ServerError, connect
from zonelab._face.server import ServerUrl, _GivenZone
from zonelab.cluster.zone import Address, Restart, ZoneError

PROBE = "DYNO_CONFIG:CONN_CONSISTENCY ?"
PLAIN, PORT = b"-ERR unknown command 'DYNO_CONFIG'\r\n", b"-ERR level: got '?'\r\n"


class Scripted:
    """A server that answers as ``replies`` say, in two pieces each, else OK; an empty reply ends the connection."""

    def __init__(self, replies: Mapping[str, bytes]) -> None:
        self.replies = dict(replies)
        self.asked: list[list[str]] = []

    async def __aenter__(self) -> "Scripted":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parser, asked = hiredis.Reader(), []
        self.asked.append(asked)
        while data := await reader.read(4_096):
            parser.feed(data)
            while (words := parser.gets()) is not False:
                asked.append(b" ".join(words).decode())
                if not (reply := self.replies.get(asked[-1], b"+OK\r\n")):
                    writer.close()
                    return
                writer.write(reply[:3])
                await writer.drain()
                writer.write(reply[3:])
        writer.close()


def url(server: Scripted, before: str = "", after: str = "") -> str:
    return f"redis://{before}127.0.0.1:{server.port}{after}"


@pytest.mark.parametrize(
    ("text", "address", "greeting"),
    [
        ("redis://h", Address("h", 6379), ()),
        ("redis://h:1/0", Address("h", 1), ()),
        ("redis://h/1", Address("h", 6379), (("SELECT", 1),)),
        ("redis://:p%40ss@h/", Address("h", 6379), (("AUTH", "p@ss"),)),
        ("redis://u%3A:p@h:7/12", Address("h", 7), (("AUTH", "u:", "p"), ("SELECT", 12))),
        ("redis://u@h", Address("h", 6379), ()),
    ],
)
def test_a_url_says_where_a_server_is_and_how_a_connection_begins(text, address, greeting):
    found = ServerUrl.of(text)
    assert (found.address, found.greeting) == (address, greeting)


@pytest.mark.parametrize("text", ["redis://", "redis://h/1?x=1", "redis://h#1", "redis://h/-1", "h:6379"])
def test_what_is_no_url_of_a_server_is_refused(text):
    with pytest.raises(ClusterError, match=r"accepted: redis://\[\[user\]:password@\]host\[:port\]\[/db\]"):
        ServerUrl.of(text)


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ({PROBE: PLAIN}, False),
        ({PROBE: PORT}, True),
        ({}, True),
        ({"AUTH u p": b"-WRONGPASS no\r\n", PROBE: PLAIN}, "refused: WRONGPASS no"),
        ({"SELECT 3": b"-ERR DB index is out of range\r\n", PROBE: PLAIN}, "refused: ERR DB index is out of range"),
        ({"AUTH u p": b"-ERR 1\r\n", "SELECT 3": b"-ERR 2\r\n"}, "refused: ERR 1"),
        ({PROBE: b"-NOAUTH Authentication required.\r\n"}, "refused: NOAUTH Authentication required."),
        ({PROBE: b""}, "no server answers at"),
        ({PROBE: b"HTTP/1.1 400\r\n"}, "it is no Redis server"),
    ],
)
def test_a_probe_tells_a_plain_server_from_the_port_of_a_zone_and_says_what_is_wrong(replies, said):
    async def probed() -> bool | str:
        async with Scripted(replies) as server:
            try:
                found = await ServerUrl.of(url(server, "u:p@", "/3")).probe(timeout_s=20)
            except ClusterError as error:
                return str(error)
            finally:
                assert server.asked[0] == ["AUTH u p", "SELECT 3", PROBE][: len(server.asked[0])]
            return found

    found = asyncio.run(probed())
    assert found is said if isinstance(said, bool) else said in found


@coroutine
async def test_a_server_that_does_not_answer_is_named_with_the_time_it_had():
    async with Scripted({PROBE: b"$5\r\nab"}) as server:
        with pytest.raises(ClusterError) as silent:
            await ServerUrl.of(url(server)).probe(timeout_s=0.05)
        assert str(silent.value) == f"no server answers at 127.0.0.1:{server.port} within 0.05 s"


@coroutine
async def test_commands_go_to_the_server_after_its_greeting_and_errors_are_raised():
    async with Scripted({PROBE: PLAIN, "GET k": b"$1\r\nv\r\n", "INCR k": b"-ERR no integer\r\n"}) as server:
        async with connect(url(server, ":p@", "/2")) as place:
            assert (place.zone, place.zones, place.is_port) == ("a", ("a",), False)
            assert await place.execute("GET", "k") == b"v"
            with pytest.raises(ServerError, match="ERR no integer"):
                await place.execute("INCR", "k")
        with pytest.raises(ClusterError):
            await place.execute("GET", "k")
        probe, *others = server.asked
    assert probe == ["AUTH p", "SELECT 2", PROBE]
    assert all(asked[:2] == ["AUTH p", "SELECT 2"] for asked in others if asked)
    assert [words for asked in others for words in asked if words in ("GET k", "INCR k")] == ["GET k", "INCR k"]


@pytest.mark.parametrize(("level", "greeting"), [(None, []), ("DC_ONE", ["DYNO_CONFIG:CONN_CONSISTENCY DC_ONE"])])
def test_the_port_of_a_zone_is_told_the_level_if_one_is_given(level, greeting):
    async def used() -> list[list[str]]:
        async with Scripted({PROBE: PORT, "GET k": b"$1\r\nv\r\n"}) as server:
            async with connect(url(server), level=level) as place:
                assert place.is_port
                assert await place.execute("GET", "k") == b"v"
            return server.asked

    asked = next(asked for asked in asyncio.run(used()) if "GET k" in asked)
    assert [words for words in asked if words.startswith("DYNO_CONFIG")] == greeting


@coroutine
async def test_a_port_among_several_servers_is_refused():
    async with Scripted({PROBE: PLAIN}) as one, Scripted({PROBE: PORT}) as other:
        opening = connect({"a": url(one), "b": url(other)})
        with pytest.raises(ClusterError, match="got the port of a zone among several"):
            await opening.__aenter__()


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        *((verb, ()) for verb in ("start", "stop", "kill", "pause", "resume", "fill_memory", "free_memory")),
        ("slow_down", (2.0,)),
        ("restart", (Restart.WIPE,)),
    ],
)
def test_nothing_can_be_done_to_a_server_that_is_somebody_elses(verb, given):
    with pytest.raises(ZoneError, match="zone z: its server is not ours"):
        asyncio.run(getattr(_GivenZone("z", Address("h", 1)), verb)(*given))
