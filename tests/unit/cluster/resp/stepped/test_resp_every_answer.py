"""Goal: whatever dies, each command gets one answer, in order, and nothing is held. Method: a port in virtual time.

Any number of clients send runs of commands, of any kinds, levels and RESP versions; servers die at any command and come
back; clients leave. A server says which command it answers, and in which version.
"""

import asyncio
import sys
from collections import deque
from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.cluster.stepped_port import SteppedPort, in_virtual_time, until

from zonelab.cluster.connections import server
from zonelab.cluster.resp.held_bytes import HeldBytes
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.session import ConnectionSession
from zonelab.cluster.resp.turn_batch import TurnBatch
from zonelab.cluster.resp.turn_shares import TURN
from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import ServerError

from ..conftest import COMMANDS

LONG_S = 200
"""In virtual time: longer than any time-outs and back-offs in a row."""

DEPTH_MAX = 60
"""Calls within each other, from the loop to the coordinator."""

LARGE = bytes(20_000)


def echo(words, protocol):
    if words[0] == b"EXISTS":
        return b":0\r\n"  # so BLPOP waits
    return b"+%b:%d\r\n" % (words[1] if len(words) > 1 else words[0], protocol)


@dataclass(frozen=True)
class Run:
    """Commands that a client sends in one piece: these, so many times."""

    names: tuple[str, ...]
    times: int = 1


@dataclass(frozen=True)
class Deaths:
    """Of one server: before which of its commands, and for how long."""

    zone: str
    at: int
    away_s: float


FORWARDED = {
    "GET": (b"GET",),
    "SET": (b"SET", b"v"),
    "EVAL": (b"EVAL", b"0"),
    "HGETALL": (b"HGETALL",),
    "PUBLISH": (b"PUBLISH", b"m"),
    "large": (b"SET", LARGE),
}
LEVELS = [level.value for level in Level]
NAMES = st.sampled_from([*FORWARDED, *LEVELS, "ECHO", "HELLO 2", "HELLO 3", "FROB", "MULTI", "WATCH", "BLPOP"])
MANY = st.builds(Run, st.lists(st.sampled_from(["GET", "SET"]), min_size=1, max_size=3).map(tuple), st.integers(1, 100))
SINGLE = st.sampled_from(["GET", "SET", "EVAL"]).map(lambda name: Run((name,)))
RUNS = st.one_of(MANY, MANY, SINGLE, SINGLE, st.builds(Run, st.lists(NAMES, min_size=1, max_size=12).map(tuple)))
WAITS_S = st.sampled_from([0.0, 0.0, 0.002, 0.1, 1.5, 10.0])
DEATHS = st.builds(Deaths, st.sampled_from("abc"), st.integers(1, 60), st.sampled_from([0.0, 0.5, 3.0, 30.0]))
BEGINNINGS = st.lists(
    st.tuples(st.sampled_from(["HELLO 2", "HELLO 3"]), st.sampled_from(LEVELS)).map(Run), min_size=1, max_size=6
)
"""How each client begins."""
STEPS = st.lists(
    st.one_of(
        st.dictionaries(st.integers(0, 5), RUNS, max_size=6),
        st.dictionaries(st.integers(0, 5), RUNS, max_size=6),
        st.dictionaries(st.integers(0, 5), st.none(), min_size=1, max_size=2),
        st.dictionaries(st.sampled_from("abc"), st.sampled_from(["kill", "start", "pause", "resume"]), max_size=2),
        WAITS_S,
    ),
    max_size=20,
)
"""What clients send in one turn of the loop (None: they leave), what happens to servers, or how long nothing does."""


class Talk:
    """A client, what it has sent, and how the answers have to be."""

    def __init__(self, port, number):
        self.client = port.client()
        self.left = False
        self._number = number
        self._ids = count()
        self._protocol = 2
        self._expected = []

    def do(self, run):
        """Send ``run``, or leave."""
        if run is None:
            self.left = True
            self.client.leave()
        elif not self.left:
            self.send(run)

    def send(self, run):
        data = []
        for name in run.names * run.times:
            data += self._words(name)
        self.client.send(b"".join(wire.command(*words) for words in data))

    def _words(self, name):
        identity = b"%d.%d" % (self._number, next(self._ids))
        its = b"%b:%d" % (identity, self._protocol)
        if name in FORWARDED:
            first, *rest = FORWARDED[name]
            self._expected.append([its])
            return [(first, identity, *rest)]
        if name in set(Level):
            self._expected.append([b"OK"])
            return [(b"DYNO_CONFIG:CONN_CONSISTENCY", name.encode())]
        if name == "MULTI":
            self._expected += [[b"OK"], [b"QUEUED"], [b"QUEUED"], [[its, its], None]]
            return [(b"MULTI",), (b"GET", identity), (b"SET", identity, b"v"), (b"EXEC",)]
        if name == "ECHO":
            self._expected.append([identity])
        elif name == "BLPOP":
            self._expected.append([None])
            return [(b"BLPOP", identity, b"0.1")]
        elif name == "WATCH":
            self._expected.append([its])
        elif name == "FROB":
            self._expected.append([])
        else:
            self._protocol = int(name[-1])
            self._expected.append(["HELLO"])
            return [(b"HELLO", name[-1:].encode())]
        return [(name.encode(), identity)]

    @property
    def complete(self):
        return self.left or len(self.client.replies) >= len(self._expected)

    def check(self):
        if self.left:
            return
        assert len(self.client.replies) == len(self._expected)
        for reply, accepted in zip(self.client.replies, self._expected, strict=True):
            right = reply in accepted or isinstance(reply, ServerError)
            assert right or (accepted == ["HELLO"] and isinstance(reply, dict | list)), (reply, accepted)


async def talked(port: SteppedPort, beginnings, steps, deaths):
    """Carry ``steps`` out and fail if an answer is missing, wrong or in the wrong place, or if anything is held."""
    talks = [Talk(port, number) for number in range(len(beginnings))]
    for talk, beginning in zip(talks, beginnings, strict=True):
        talk.send(beginning)
    await asyncio.sleep(1)
    for death in deaths:
        server = port.servers[death.zone]
        server.dies_at[server.taken + death.at] = death.away_s
    _watch_turns(port)
    for step in steps:
        if isinstance(step, float):
            await asyncio.sleep(step)
            continue
        for whom, what in step.items():
            if isinstance(whom, str):
                getattr(port.servers[whom], what)()
            elif whom < len(talks):
                talks[whom].do(what)
    await asyncio.sleep(LONG_S / 4)
    for server in port.servers.values():
        server.dies_at.clear()
        server.start()
        server.resume()
    await until(lambda: all(talk.complete for talk in talks), within_s=LONG_S)
    for talk in talks:
        talk.check()
        talk.client.leave()
    await asyncio.sleep(LONG_S / 4)
    port.nothing_held()


def _watch_turns(port):
    """Fail if too much is handed to the coordinator in a turn of the loop, or calls are too deep then.

    Clients get a share of ``TURN`` commands in a turn, and may have had the last one in the same turn.
    """
    begin, most, coordinator = [0, _depth()], 2 * TURN * len(port.host.clients), port.host.coordinator
    submit, together = coordinator.submit, coordinator.submit_together

    def note(commands):
        begin[0] += len(commands)
        assert begin[0] <= most
        assert _depth() <= begin[1] + DEPTH_MAX

    def noted(level, commands, done, *, packed=None):
        note(commands)
        submit(level, commands, done, packed=packed)

    def noted_together(level, members, commands, packed):
        note(commands)
        together(level, members, commands, packed)

    def turn_ends():
        begin[:] = 0, _depth()

    coordinator.submit, coordinator.submit_together = noted, noted_together
    port.loop.after_turn = turn_ends


def _depth():
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def play(beginnings, steps, deaths):
    in_virtual_time(lambda port: talked(port, beginnings, steps, deaths), COMMANDS, [echo] * 3)


DRAWN = given(beginnings=BEGINNINGS, steps=STEPS, deaths=st.lists(DEATHS, max_size=3))


@settings(max_examples=200)
@DRAWN
def test_each_command_has_one_answer_in_order_and_then_nothing_is_held(beginnings, steps, deaths):
    play(beginnings, steps, deaths)


TEN_THOUSAND = (
    [Run(("HELLO 2", level.value)) for level in (Level.DC_ONE, Level.DC_QUORUM)],
    [{"a": "kill", "b": "kill"}, 0.1, {client: Run(("SET", "GET"), 2_500) for client in range(2)}],
    [],
)


def test_ten_thousand_commands_at_dead_servers_have_their_turns_and_no_deep_calls():
    play(*TEN_THOUSAND)


def overwrites_a_run(plant):
    begin = TurnBatch._begin

    def overwriting(turn, kind, level, protocol):
        if (earlier := turn._latest.get(kind)) is not None:
            turn._waiting.remove(earlier)
        return begin(turn, kind, level, protocol)

    plant.setattr(TurnBatch, "_begin", overwriting)


def forgets_the_last_caller_of_a_broken_connection(plant):
    fail = server._fail
    plant.setattr(server, "_fail", lambda requests: fail(deque(list(requests)[:-1])))


def answers_what_is_ready_first(plant):
    answered = ConnectionSession.answered

    def at_once(session, slot):
        if slot in session.slots:
            session.slots.remove(slot)
            session.slots.appendleft(slot)
        answered(session, slot)

    plant.setattr(ConnectionSession, "answered", at_once)


def keeps_memory_for_what_has_arrived(plant):
    plant.setattr(HeldBytes, "arrived", lambda held, count: None)


@pytest.mark.parametrize(
    "planted",
    [
        overwrites_a_run,
        forgets_the_last_caller_of_a_broken_connection,
        answers_what_is_ready_first,
        keeps_memory_for_what_has_arrived,
    ],
)
def test_a_port_that_is_broken_is_found(planted, monkeypatch):
    planted(monkeypatch)
    found = settings(max_examples=1_000, phases=[Phase.generate], derandomize=True, report_multiple_bugs=False)
    with pytest.raises(AssertionError):
        found(DRAWN(play))()


def test_a_turn_without_bound_is_found(monkeypatch):
    monkeypatch.setattr(
        ConnectionSession, "_go_on", lambda session, share, go_on=ConnectionSession._go_on: go_on(session, 1_000_000)
    )
    with pytest.raises(AssertionError):
        play(*TEN_THOUSAND)
