"""Goal: what the port answers itself is what a plain server says. Method: the same commands to both, bytes compared."""

import asyncio

import pytest
import uvloop
from support.cluster.port_lines import (
    SAME,
    TWO_CLIENTS,
    Talk,
    recorded_commands,
    recorded_lines,
    said,
    said_by_two,
    table_of,
)

from zonelab.cluster.resp.gateway.gateway import ZoneGateway
from zonelab.cluster.votes.levels import Level
from zonelab.cluster.wiring.settings import NetworkSettings

pytestmark = pytest.mark.real


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
    assert replies[1] == replies[0] == recorded_lines()[line]


@pytest.mark.parametrize("line", TWO_CLIENTS, ids=lambda line: line[:60].decode())
def test_two_clients_hear_what_they_hear_of_a_plain_server(cluster, addresses, line):
    replies = []
    for address in addresses:
        cluster.flush()
        replies.append(said_by_two(address, line))
    assert replies[1] == replies[0] == recorded_lines()[line]


def test_the_table_of_commands_is_as_recorded(addresses):
    with Talk(addresses[0]) as one:
        assert sorted(table_of(one)) == recorded_commands()


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
