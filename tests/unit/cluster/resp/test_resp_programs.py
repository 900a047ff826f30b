"""Goal: a port counts what each program asks, and holds a program at exactly the command that is meant.

Method: real sockets at a program's own address; a played coordinator of three zones, which keeps what each zone got.
"""

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from time import monotonic_ns
from types import SimpleNamespace

import pytest
from support.coroutines import within

from zonelab.cluster.resp.programs.hold import HoldState
from zonelab.cluster.resp.programs.point import CommandPoint, Moment
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.session import ConnectionSession
from zonelab.cluster.resp.single_commands import QUIET
from zonelab.cluster.zone import ClusterError

from .conftest import Call, Client, PlayedCoordinator, opened, until

OK = b"+OK\r\n"


class PlayedChannel:
    """A way to a zone that answers at once, or, while it is stalled, when ``answer`` is called."""

    def __init__(self):
        self.connected = True
        self.waiting = deque()
        self.stalled = False

    def submit(self, batch, done):
        if self.stalled:
            self.waiting.append(done)
        else:
            done([b"+PONG\r\n"])

    def answer(self):
        self.stalled = False
        while self.waiting:
            self.waiting.popleft()([b"+PONG\r\n"])


class CountingCoordinator(PlayedCoordinator):
    """Answers every command at once with its reply, and keeps the words of all that it was asked."""

    def __init__(self, reply=OK):
        super().__init__(reply=reply)
        self.channels = [PlayedChannel() for _ in self.zones]
        self.words = []
        self.replies = {}

    def submit(self, level, commands, done, *, packed=None):
        self.asked += len(commands)
        found = wire_commands(packed)
        self.words += found
        if getattr(commands, "replies", 1) > 1:
            done([b"*%d\r\n" % (len(found) - 2) + OK * (len(found) - 2)])
        else:
            done([self.replies.get(words[0], self.reply) for words in found])


def wire_commands(packed):
    return Call(None, None, None, packed).words


def commands_of(*lines):
    return b"".join(wire.command(*line.encode().split()) for line in lines)


async def connected(program):
    return Client(*await asyncio.open_connection(program.address.host, program.address.port))


async def reached(program):
    async with asyncio.timeout(30):
        await program.hold.reached.wait()
    return program.hold.where


async def hears_nothing_more(client):
    with pytest.raises((EOFError, ConnectionError)):
        await client.reply()


@asynccontextmanager
async def one_program():
    """A port whose coordinator answers, and one program with an address of its own."""
    coordinator = CountingCoordinator()
    async with opened(coordinator=coordinator) as port:
        yield SimpleNamespace(port=port, coordinator=coordinator, program=await port.server.add_program("worker-b-0"))


in_lab = within("lab", one_program)


@in_lab
async def test_each_program_has_an_address_and_each_of_its_commands_counts_once(lab):
    other = await lab.port.server.add_program("other-a-0")
    client, second, stranger = await connected(lab.program), await connected(lab.program), await lab.port.client()
    assert lab.program.address != other.address != lab.port.server.address
    await counts_what_arrives(lab, client, second)
    assert await stranger.ask(b"GET", b"k") == b"OK"
    assert (other.commands, lab.program.as_dict()["connections"]) == (0, 2)
    counted = lab.program.commands
    client.close()
    second.close()
    await until(lambda: not lab.program.sessions)
    assert lab.program.commands == counted, "what connections that are gone have asked still counts"
    assert lab.port.server.counts()["commands"] == counted + 1


async def counts_what_arrives(lab, client, second):
    """Ask in every way that a port has of taking commands, and compare with what came to the lab.coordinator."""
    before = lab.program.commands, lab.coordinator.asked
    for _ in range(3):
        assert await client.ask(b"SET", b"k", b"v") == b"OK"  # the short way of single commands
    client.send_raw(commands_of(*["SET k v"] * 10))  # one run
    client.send_raw(commands_of("SET k v", "GET k", "ECHO x", "GET k"))  # several kinds
    second.send_raw(commands_of("GET k"))
    assert [await client.reply() for _ in range(14)] == [b"OK"] * 12 + [b"x", b"OK"]
    assert await second.reply() == b"OK"
    assert lab.coordinator.asked - before[1] == 17
    assert lab.program.commands - before[0] == 18, "ECHO is the port's own, and counts"


@in_lab
async def test_counting_twice_is_noticed(lab, monkeypatch):
    take_whole = ConnectionSession._take_whole

    def twice(self, room):
        taken = take_whole(self, room)
        self.commands += taken
        return taken

    monkeypatch.setattr(ConnectionSession, "_take_whole", twice)

    with pytest.raises(AssertionError):
        await counts_what_arrives(lab, await connected(lab.program), await connected(lab.program))


@pytest.mark.parametrize("when", list(Moment))
@pytest.mark.parametrize("number", [1, 4])
@in_lab
async def test_a_pipeline_is_one_point_whichever_of_its_commands_is_meant(lab, when, number):
    client = await connected(lab.program)
    assert await client.ask(b"SET", b"first", b"v") == b"OK"
    lab.program.arm(CommandPoint(at_command=number, when=when))
    pipeline = commands_of("SET a 1", "GET a", "SET b 2", "ECHO x", "SET c 3")
    client.send_raw(pipeline)
    where = await reached(lab.program)
    assert (where.number, where.together) == (number, 5)
    assert where.command == ("SET a 1", "ECHO x")[number == 4]
    asked = [b" ".join(words) for words in lab.coordinator.words[1:]]
    assert asked == ([] if when is Moment.BEFORE else [b"SET a 1", b"GET a", b"SET b 2", b"SET c 3"])
    lab.program.hit()
    answers = [] if when is not Moment.REPLIED else [b"OK", b"OK", b"OK", b"x", b"OK"]
    assert [await client.reply() for _ in answers] == answers
    await hears_nothing_more(client)
    assert lab.program.hold.state is HoldState.OVER
    assert len(lab.coordinator.words) == 1 + len(asked)


@pytest.mark.parametrize("when", list(Moment))
@in_lab
async def test_the_death_of_a_machine_cuts_a_pipeline(lab, when):
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(at_command=2, when=when, cut=True))
    client.send_raw(commands_of("SET a 1", "SET b 2", "SET c 3"))
    assert (await reached(lab.program)).together == 1
    lab.program.hit()
    applied = [b"a"] if when is Moment.BEFORE else [b"a", b"b"]
    answered = 2 if when is Moment.REPLIED else 1
    assert [await client.reply() for _ in range(answered)] == [b"OK"] * answered
    await hears_nothing_more(client)
    assert [words[1] for words in lab.coordinator.words] == applied


@in_lab
async def test_a_transaction_that_arrived_whole_is_one_point(lab):
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(at="SET b *", when=Moment.APPLIED))
    client.send_raw(commands_of("MULTI", "SET a 1", "SET b 2", "EXEC"))
    where = await reached(lab.program)
    assert (where.number, where.together) == (3, 4)
    assert [words[0] for words in lab.coordinator.words] == [b"MULTI", b"SET", b"SET", b"EXEC"]
    lab.program.hit()
    assert await client.closed()


@in_lab
async def test_a_point_names_the_commands_before_it(lab):
    client, second = await connected(lab.program), await connected(lab.program)
    lab.program.arm(CommandPoint(at="SET c *", when=Moment.APPLIED, cut=True))
    armed_ns = monotonic_ns()
    for number in range(8):
        assert await second.ask(b"SET", b"x", b"%d" % number) == b"OK"
    client.send_raw(commands_of("SET a 1", f"SET b {'2' * 50}", "SET c 3", "SET d 4"))
    where = await reached(lab.program)
    assert where.earlier == ("SET x 4", "SET x 5", "SET x 6", "SET x 7", "SET a 1", f"SET b {'2' * 40}…")
    assert list(where.earlier_ns) == sorted(where.earlier_ns)
    assert armed_ns < where.earlier_ns[0] < where.earlier_ns[3] < where.earlier_ns[4] == where.earlier_ns[5]
    assert where.command == "SET c 3"


@in_lab
async def test_what_arrives_is_heard_once_whether_there_is_a_point_or_not(lab):
    heard = {}
    lab.program.listen(lambda peer: heard.setdefault(peer, []).append)
    client, second = await connected(lab.program), await connected(lab.program)
    for one in (client, second, client):
        assert await one.ask(b"SET", b"a", b"1") == b"OK"
    assert [one.single for one in lab.program.sessions] == [QUIET, QUIET], "who is heard keeps the short way"
    client.send_raw(commands_of("SET b 2")[:9])
    await until(lambda: sum(map(len, heard.values())) == 4)
    lab.program.arm(CommandPoint(at="SET d *", when=Moment.APPLIED, cut=True))
    client.send_raw(commands_of("SET b 2")[9:])
    assert await client.reply() == b"OK"
    client.send_raw(commands_of("SET c 3", "SET d 4", "SET e 5"))
    where = await reached(lab.program)
    for one in (client, second):
        one.send_raw(commands_of("SET f 6"))
    lab.program.hit(peers=[where.peer])
    assert await client.closed()
    assert await second.reply() == b"OK"
    sent = commands_of(
        "SET a 1", "SET a 1", "SET b 2", "SET c 3", "SET d 4", "SET e 5"
    )  # not what came when it was held
    assert [b"".join(pieces) for pieces in heard.values()] == [sent, commands_of("SET a 1", "SET f 6")]
    assert next(iter(heard)) == where.peer


@in_lab
async def test_a_transaction_that_is_cut_is_never_carried_out(lab):
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(at="SET b *", when=Moment.APPLIED, cut=True))
    client.send_raw(commands_of("MULTI", "SET a 1", "SET b 2", "EXEC"))
    assert (await reached(lab.program)).together == 1
    lab.program.hit()
    assert await client.closed()
    assert lab.coordinator.words == []


@in_lab
async def test_applied_waits_for_every_zone(lab):
    slow = lab.coordinator.channels[2]
    slow.stalled = True
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(when=Moment.APPLIED))
    client.send(b"SET", b"k", b"v")
    await until(lambda: slow.waiting)
    assert not lab.program.hold.reached.is_set()
    slow.answer()
    assert (await reached(lab.program)).command == "SET k v"
    lab.program.hit()
    await hears_nothing_more(client)


@in_lab
async def test_a_program_is_held_as_a_whole_and_no_other_one_is(lab):
    client, second, stranger = await connected(lab.program), await connected(lab.program), await lab.port.client()
    other = await connected(await lab.port.server.add_program("other-a-0"))
    for one in (client, second, stranger, other):
        assert await one.ask(b"SET", b"first", b"v") == b"OK"
    lab.program.arm(CommandPoint(at="get it", when=Moment.BEFORE))
    assert await client.ask(b"SET", b"not", b"it") == b"OK"
    client.send(b"GET", b"it")
    await reached(lab.program)
    second.send(b"SET", b"second", b"v")
    third = await connected(lab.program)
    third.send(b"SET", b"third", b"v")
    for one in (stranger, other):
        assert await one.ask(b"SET", b"other", b"v") == b"OK"
        assert await one.ask(b"SET", b"other", b"v") == b"OK"
    quiet = [one.single for one in lab.port.server.clients if one not in lab.program.sessions]
    assert quiet == [QUIET, QUIET], "others keep the short way"
    assert not {b"it", b"second", b"third"} & {words[1] for words in lab.coordinator.words}
    lab.program.hit()
    assert [await one.closed() for one in (client, second, third)] == [True] * 3
    assert not {b"it", b"second", b"third"} & {words[1] for words in lab.coordinator.words}


@pytest.mark.parametrize("when", list(Moment))
@in_lab
async def test_what_is_kept_goes_on_as_if_nothing_had_been(lab, when):
    client, second = await connected(lab.program), await connected(lab.program)
    assert await second.ask(b"SET", b"k", b"v") == b"OK"
    lab.program.arm(CommandPoint(at_command=2, when=when))
    client.send_raw(commands_of("SET a 1") + commands_of("SET b 2")[:9])
    assert await client.reply() == b"OK"
    client.send_raw(commands_of("SET b 2")[9:])
    await reached(lab.program)
    client.send(b"SET", b"c", b"3")
    second.send(b"SET", b"d", b"4")
    lab.program.hit(peers=[lab.program.hold.where.peer], keep=True)
    assert await second.reply() == b"OK", "another process of the program goes on"
    assert [b"SET", b"c", b"3"] not in lab.coordinator.words
    lab.program.release()
    assert [await client.reply() for _ in range(2)] == [b"OK"] * 2
    assert await client.ask(b"ECHO", b"x") == b"x"
    assert [words[1] for words in lab.coordinator.words if words[1] in (b"a", b"b", b"c")] == [b"a", b"b", b"c"]
    assert not lab.program.watched


@in_lab
async def test_only_the_connections_of_those_that_are_hit_are_dropped(lab):
    client, second = await connected(lab.program), await connected(lab.program)
    lab.program.arm(CommandPoint())
    client.send(b"SET", b"a", b"1")
    where = await reached(lab.program)
    second.send(b"SET", b"b", b"2")
    lab.program.hit(peers=[where.peer])
    assert await client.closed()
    assert await second.reply() == b"OK"
    assert [words[1] for words in lab.coordinator.words] == [b"b"]


@in_lab
async def test_a_program_of_which_nobody_says_what_becomes_of_it_goes_on(lab):
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(hold_s=0.05, when=Moment.APPLIED))
    assert await client.ask(b"SET", b"a", b"1") == b"OK"
    assert lab.program.hold.state is HoldState.EXPIRED
    assert await client.ask(b"SET", b"a", b"1") == b"OK"


@pytest.mark.parametrize(
    "answer", [b":1\r\n", b"$1\r\n0\r\n", b"+OK\r\n", b"*2\r\n:0\r\n$3\r\njob\r\n", b"*1\r\n*2\r\n$-1\r\n:-1\r\n"]
)
@in_lab
async def test_an_answer_that_holds_anything_is_no_empty_one(lab, answer):
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(at="GET *", when=Moment.APPLIED, nonempty=True))
    lab.coordinator.replies[b"GET"] = b"*0\r\n"
    assert await client.ask(b"GET", b"job") == []
    lab.coordinator.replies[b"GET"] = answer
    client.send(b"GET", b"job")
    assert (await reached(lab.program)).number == 2


EMPTY = ("*-1", "*0", ":0", "$0 ", "-NOSCRIPT", "*2 :0 :0", "*2 $-1 :0", "*2 *0 *1 $-1", "*2 $0  *-1")


@in_lab
async def test_empty_answers_can_be_passed_over(lab):
    client, second = await connected(lab.program), await connected(lab.program)
    lab.program.arm(CommandPoint(at="GET *", when=Moment.APPLIED, nonempty=True))
    nothing = [wire.NIL[2], *(words.replace(" ", "\r\n").encode() + b"\r\n" for words in EMPTY)]
    for answer in nothing:
        lab.coordinator.replies[b"GET"] = answer
        await client.ask(b"GET", b"job")
        await second.ask(b"GET", b"job")
    lab.coordinator.replies[b"GET"] = wire.bulk(b"job")
    second.send(b"GET", b"job")
    where = await reached(lab.program)
    assert (where.number, where.command) == (2 * len(nothing) + 1, "GET job")
    lab.program.hit()
    assert await second.closed()


@in_lab
async def test_a_point_can_be_taken_back_and_another_one_armed(lab):
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(at_command=2))
    with pytest.raises(ClusterError, match="has a point already"):
        lab.program.arm(CommandPoint())
    with pytest.raises(ClusterError, match="is not held"):
        lab.program.hit()
    assert await client.ask(b"SET", b"a", b"1") == b"OK"
    client.send(b"SET", b"b", b"2")
    await reached(lab.program)
    lab.program.disarm()
    assert await client.reply() == b"OK"
    lab.program.arm(CommandPoint())
    client.send(b"SET", b"c", b"3")
    await reached(lab.program)
    assert b"c" not in [words[1] for words in lab.coordinator.words]


@in_lab
async def test_what_is_no_resp_is_answered_as_ever_while_a_program_is_watched(lab):
    client = await connected(lab.program)
    lab.program.arm(CommandPoint(at_command=100))
    client.send_raw(commands_of("SET a 1") + b"*1\r\n$-5\r\n")
    assert await client.reply() == b"OK"
    assert "Protocol error" in str(await client.reply())
    assert await client.closed()


@in_lab
async def test_a_coordinator_that_comes_back_has_the_same_addresses(lab):
    address = lab.program.address
    await lab.port.server.stop()
    await lab.port.server.start()
    client = await connected(lab.program)
    assert lab.program.address == address
    assert await client.ask(b"SET", b"a", b"1") == b"OK"
