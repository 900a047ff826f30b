"""Goal: what a server says is known by what another has said, and is still its own. Method: drawn replies and cuts."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.real.upstream import ServerProtocol
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.upstream import GatheredWrites, RawUpstream, WireCommands
from zonelab.cluster.zone import Address
from zonelab.engine.ports import ServerError

REPLIES = (b"+OK\r\n", b":1\r\n", b":12\r\n", b"$-1\r\n", b"$2\r\nOK\r\n", b"*2\r\n$1\r\na\r\n:1\r\n", b"-ERR no\r\n")
large = st.just(wire.bulk(bytes(20_000)))
answers = st.lists(st.lists(st.sampled_from(REPLIES) | large, min_size=1, max_size=4), min_size=1, max_size=6)


class Transport:
    def set_write_buffer_limits(self, high):
        pass

    def write(self, data):
        pass


class OneServer(RawUpstream):
    """A connection that is there from the beginning."""

    def __init__(self):
        super().__init__(Address("nowhere", 1), loop=None, backlog_bytes=1, writes=GatheredWrites())
        self._protocol = self.protocol = self._new_protocol(lambda: None)
        assert isinstance(self.protocol, ServerProtocol)
        self.protocol.connection_made(Transport())


def parsed(reply):
    return ServerError(reply[1:-2].decode()) if reply[:1] == b"-" else reply


@given(answers, st.data())
def test_each_server_is_heard_whatever_another_has_said_and_however_it_comes(said, data):
    batches = [Batch(WireCommands([("GET",)] * len(replies)), writes=False, packed=b"") for replies in said]
    for zone in range(3):
        own = said if zone == 0 else [data.draw(st.just(one) | st.permutations(one), label="differs") for one in said]
        sent = b"".join(reply for replies in own for reply in replies)
        cuts = sorted({0, len(sent), *data.draw(st.lists(st.integers(0, len(sent)), max_size=4), label="cuts")})
        server, heard = OneServer(), []
        for batch in batches:
            server.send(batch, heard.append)
        for begin, end in pairwise(cuts):
            server.protocol.data_received(sent[begin:end])
        assert [list(map(str, replies)) for replies in heard] == [list(map(str, map(parsed, one))) for one in own]


def test_what_follows_the_same_replies_is_no_part_of_them():
    batch = Batch(WireCommands([("GET",)] * 2), writes=False, packed=b"")
    heard = []
    for sent in (b"+a\r\n+b\r\n", b"+a\r\n+bc\r\n"):
        server = OneServer()
        server.send(batch, heard.append)
        server.protocol.data_received(sent)
    assert heard == [[b"+a\r\n", b"+b\r\n"], [b"+a\r\n", b"+bc\r\n"]]
