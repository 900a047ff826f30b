"""Goal: what the port answers itself is what a plain server says. Method: the same commands to both, bytes compared."""

import asyncio
import socket

import pytest
import uvloop

from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.replies import ReplyCutter
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import NetworkSettings

pytestmark = pytest.mark.real

DEADLINE_S = 30

SAME = [
    # forms of commands that wait, which neither may wait for
    b"BLMOVE nol b UP LEFT 0",
    b"BLMOVE nol b LEFT UP x",
    b"BLMOVE nol b LEFT LEFT x",
    b"BLMPOP 0 1 nol UP",
    b"BLMPOP 0 2 nol LEFT",
    b"BLMPOP 0 0 nol LEFT",
    b"BLMPOP 0.1 \xb2 k LEFT",
    b"BLMPOP 0.1 -1 k LEFT",
    b"BLMPOP 0.1 01 k LEFT",
    b"BLMPOP 0 9223372036854775807 nol LEFT",
    b"BLMPOP 0 1 nol LEFT COUNT 0",
    b"BLMPOP 0 1 nol LEFT COUNT x",
    b"BLMPOP 0 1 nol LEFT COUNT",
    b"BLMPOP 0 1 nol LEFT COUNT 1 COUNT 1",
    b"BLMPOP 0 1 nol LEFT OTHER 1",
    b"BLMPOP x 0 nol UP",
    b"BZMPOP 0 1 noz BAD",
    b"BZMPOP 0 1 noz LEFT",
    b"BZMPOP 0 1 noz MIN COUNT -1",
    b"BRPOPLPUSH nol b x",
    *(b"BLPOP nol " + text for text in (
        b"0.0_1", b"inf", b"-inf", b"infinity", b"nan", b"-1", b"-0.1", b"x", b"1e400", b"1e16", b"9e18", b"0x",
        b"1.5.1", b"0.01x", b"+-1", b"1e", b".", b"\xb2",
    )),
    *(b"BZPOPMIN noz " + text for text in (b"0.01", b"1e-3", b".01", b"+.001", b"0x0.01", b"1.e-3")),
    # the same commands in a form that is right
    b"BLMOVE nol b left Right 0.01",
    b"BRPOPLPUSH nol b 0.01",
    b"BLMPOP 0.01 2 nol nol2 left count 2",
    b"BZMPOP 0.01 2 noz noz2 min COUNT 2",
    b"RPUSH l 1 2 3; BLMPOP 0 2 nol l RIGHT COUNT 2; BLPOP nol l 0; EXISTS l",
    b"ZADD z 1 a 2 b; BZMPOP 0 1 z MAX; BZPOPMIN z 0; EXISTS z",
    b"RPUSH l 1; BLMOVE l b LEFT LEFT 0; LRANGE b 0 -1",
    b"SET s v; BLPOP s 0; BLPOP nol s 0; BLMPOP 0 1 s LEFT; BLMOVE s b LEFT LEFT 0; BZMPOP 0 1 s MIN; BZPOPMAX s 0",
    # streams
    b"XREAD COUNT 1 BLOCK",
    b"XREAD BLOCK 0.5 STREAMS s 0",
    b"XREAD BLOCK -1 STREAMS s 0",
    b"XREAD BLOCK 010 STREAMS s 0",
    b"XREAD BLOCK 9223372036854775807 STREAMS s 0",
    b"XREAD BLOCK 9223372036854775808 STREAMS s 0",
    b"XREAD OTHER BLOCK 1 STREAMS s 0",
    b"XREAD COUNT x BLOCK y STREAMS s 0",
    b"XREAD BLOCK y COUNT x STREAMS s 0",
    b"XREAD COUNT BLOCK 1 STREAMS s 0",
    b"XREAD BLOCK 0 STREAMS",
    b"XREAD BLOCK 0 STREAMS s",
    b"XREAD BLOCK 0 STREAMS s 0 1",
    b"XREAD BLOCK 0 COUNT 1",
    b"XREAD BLOCK 0 STREAMS s x",
    b"XREAD BLOCK 0 NOACK STREAMS s 0",
    b"XREAD BLOCK 0 GROUP g c STREAMS s 0",
    b"XREAD BLOCK 5 BLOCK 10 STREAMS s 0",
    b"XREAD BLOCK 5 STREAMS BLOCK 0",
    b"XADD s 1-1 f v; XREAD BLOCK 0 COUNT -1 STREAMS s 0; XREAD BLOCK 5 STREAMS s $",
    b"XREADGROUP GROUP g c BLOCK",
    b"XREADGROUP BLOCK 5 GROUP g c STREAMS s >",
    b"XREADGROUP GROUP g c BLOCK x STREAMS s >",
    b"XREADGROUP BLOCK 5 STREAMS s >",
    b"XADD s 1-1 f v; XGROUP CREATE s g 0; XREADGROUP GROUP g BLOCK BLOCK 0 NOACK STREAMS s >",
    # transactions
    b"MULTI; MULTI; SET k v; EXEC; GET k",
    b"MULTI; WATCH k; SET k v; EXEC; GET k",
    b"WATCH k; MULTI; UNWATCH; EXEC",
    b"MULTI; BLPOP nol 0; XREAD BLOCK 0 STREAMS nos $; EXEC",
    b"DISCARD; EXEC",
    # unknown commands
    b"nosuch",
    b"nosuch a b",
    b"nosuch " + b" ".join(b"a%d" % number for number in range(30)),
    b"nosuch " + b"x" * 200 + b" b",
    b"n" * 200 + b" a",
    b"CONFIG nosuch",
    # lists of clients
    b"CLIENT LIST TYPE bogus",
    b"CLIENT LIST TYPE",
    b"CLIENT LIST ID x",
    b"CLIENT LIST ID",
    b"CLIENT LIST ID 0",
    b"CLIENT LIST ID -1",
    b"CLIENT LIST OTHER",
    b"CLIENT LIST TYPE replica",
    b"CLIENT LIST type pubsub",
    b"CLIENT LIST TYPE master ID 1000000",
    # found by drawn commands, 24 November 2026
    b"XREAD BLOCK 10 STREAMS a b TIME $ 0",
    b"XREADGROUP g c BLOCK 10 STREAMS l1 0",
    b"SUBSCRIBE ch; EXEC; PING a b; COMMAND LIST; COMMAND nosuch; COMMAND",
    b"MULTI; COMMAND nosuch; EXEC",
    b"MULTI; EXEC x; SET k v; EXEC y",
    b"HELLO x; HELLO 4; HELLO 3 AUTH no default OTHER; HELLO 2 \0\xff",
    b"CLIENT NO-EVICT x; CLIENT NO-TOUCH x; CLIENT NO-TOUCH off; CLIENT CAPA x; CLIENT SETINFO Other x",
    b"CLIENT KILL ID 0; CLIENT KILL ID x",
]  # fmt: skip


TWO_CLIENTS = [
    # each command begins with the number of the client that sends it
    # a transaction that was aborted, refused or discarded ends the watch: the next one is carried out
    b"0 WATCH k; 0 MULTI; 0 NOSUCH; 0 EXEC; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 0 GET k",
    b"0 WATCH k; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 1 SET k 3; 0 MULTI; 0 SET k 4; 0 EXEC; 0 GET k",
    b"0 WATCH k; 0 MULTI; 0 DISCARD; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 0 GET k",
    b"0 WATCH k; 0 UNWATCH; 1 SET k 1; 0 MULTI; 0 SET k 2; 0 EXEC; 0 GET k",
    b"0 WATCH k; 0 MULTI; 0 SET k 1; 0 EXEC; 1 SET k 2; 0 MULTI; 0 SET k 3; 0 EXEC; 0 GET k",
    b"0 WATCH k; 1 SET k 1; 0 MULTI; 0 EXEC; 0 WATCH k l; 1 SET l 1; 0 MULTI; 0 GET k; 0 EXEC",
    b"0 WATCH k; 1 WATCH k; 0 MULTI; 0 INCR k; 1 MULTI; 1 INCR k; 0 EXEC; 1 EXEC; 1 MULTI; 1 INCR k; 1 EXEC; 0 GET k",
    # what an aborted transaction had queued is gone
    b"0 MULTI; 0 SET k 1; 0 NOSUCH; 0 EXEC; 0 MULTI; 0 GET k; 0 EXEC; 0 MULTI; 0 SET k 2; 0 EXEC; 1 GET k",
    # reads alone, and reads among writes
    b"0 SET k 1; 0 MULTI; 0 GET k; 0 EXISTS k; 0 EXEC; 0 MULTI; 0 GET k; 0 SET k 2; 0 GET k; 0 EXEC; 1 GET k",
    b"0 RPUSH l 1 2; 1 BLPOP l 0; 1 MULTI; 1 BLPOP l 0; 1 BLPOP l 0; 1 EXEC; 0 EXISTS l",
]


class Talk:
    """One connection, and the replies on it as bytes."""

    def __init__(self, address):
        self._socket = socket.create_connection(address, timeout=DEADLINE_S)
        self._cutter = ReplyCutter()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._socket.close()

    def ask(self, words):
        self._socket.sendall(wire.command(*words.split(b" ")))
        return self.next()

    def next(self):
        while (reply := self._cutter.next()) is None:
            data = self._socket.recv(65536)
            assert data, "closed"
            self._cutter.feed(data)
        return reply


def said(address, line):
    """The replies to the commands of ``line``, each sent once the one before is answered."""
    with Talk(address) as one:
        return [one.ask(words) for words in line.split(b"; ")]


def said_by_two(address, line):
    """The replies to the commands of ``line``, which two clients send in turn."""
    with Talk(address) as first, Talk(address) as second:
        words = [words.split(b" ", 1) for words in line.split(b"; ")]
        return [(first, second)[int(number)].ask(command) for number, command in words]


@pytest.fixture
def addresses(cluster, quorum):
    """Of a plain server and of the port."""
    return (cluster.addresses["a"].host, cluster.addresses["a"].port), (quorum.host, quorum.port)


@pytest.mark.parametrize("line", SAME, ids=lambda line: line[:60].decode("latin-1"))
def test_the_port_answers_what_a_plain_server_answers(cluster, addresses, line):
    replies = []
    for address in addresses:
        cluster.flush()
        replies.append(said(address, line))
    assert replies[1] == replies[0]


@pytest.mark.parametrize("line", TWO_CLIENTS, ids=lambda line: line[:60].decode())
def test_two_clients_hear_what_they_hear_of_a_plain_server(cluster, addresses, line):
    replies = []
    for address in addresses:
        cluster.flush()
        replies.append(said_by_two(address, line))
    assert replies[1] == replies[0]


def test_so_they_do_where_reads_have_a_level_of_their_own(cluster):
    uvloop.run(at_two_levels(cluster))


async def at_two_levels(cluster):
    """A write is waited for by a quorum, of which the own zone is one that a read at DC_ONE asks, in its order."""
    plain = cluster.addresses["a"].host, cluster.addresses["a"].port
    async with ZoneGateway("a", cluster.addresses, level=Level.DC_QUORUM, settings=NetworkSettings(seed=1)) as one:
        one.set_level(read=Level.DC_ONE)
        port = one.address.host, one.address.port
        alone = [
            (said, line) for line in SAME if any(name in line for name in (b"BL", b"BZ", b"BR", b"XREAD", b"EXEC"))
        ]
        for ask, line in alone + [(said_by_two, line) for line in TWO_CLIENTS]:
            replies = []
            for address in (plain, port):
                await asyncio.to_thread(cluster.flush)
                replies.append(await asyncio.to_thread(ask, address, line))
            assert replies[1] == replies[0], line


def test_a_subscriber_that_goes_back_to_resp2_is_told_so_and_gets_every_message(addresses):
    heard = [], []
    for address, replies in zip(addresses, heard, strict=True):
        with Talk(address) as subscriber, Talk(address) as other:
            for words in (b"HELLO 3", b"SUBSCRIBE ch", b"HELLO 2", b"HELLO 3"):
                replies.append(subscriber.ask(words)[:9])  # what follows are versions and addresses
                for number in (b"1", b"2") if len(replies) > 1 else ():
                    other.ask(b"PUBLISH ch " + number)
                    replies.append(subscriber.next())
    assert heard[1] == heard[0]
