"""Goal: a watched transaction, which has connections of its own, does not overtake hints for the same zone.

Method: a channel with hints and another one to the same server, whose answers the test gives.
"""

from zonelab.cluster.connections.batch import Batch
from zonelab.cluster.connections.failures import STORAGE_REFUSED, ZoneFailure
from zonelab.cluster.options.hinted_handoff import HandoffSettings, HintedChannel
from zonelab.cluster.resp.gateway.behind_hints import BehindHints
from zonelab.cluster.resp.protocol import wire
from zonelab.cluster.resp.protocol.command_table import KINDS, CommandRoute
from zonelab.cluster.resp.protocol.upstream import WireCommands
from zonelab.cluster.resp.protocol.wire_codec import WireCodec
from zonelab.cluster.sim.runtime import SimRuntime

S = 1_000_000_000


class Way:
    """One of two connections to a server; what it has sent is carried out in the order of ``server``."""

    def __init__(self, server):
        self.connected = True
        self.server = server
        self.waiting = []
        self.breaks = 0

    def submit(self, batch, done):
        if self.connected:
            self.waiting.append((batch, done))
        else:
            done(ZoneFailure(STORAGE_REFUSED, maybe_applied=False))

    def serve(self):
        batch, done = self.waiting.pop(0)
        self.server.append(batch.packed)
        done([b"+OK\r\n"] * len(batch.commands))

    def reset(self):
        self.breaks += 1


class Stage:
    def __init__(self, *, hints):
        self.server, self.runtime, self.counts = [], SimRuntime(seed=1), {}
        self.shared, self.own = Way(self.server), Way(self.server)
        self.hinted = HintedChannel(
            self.shared, runtime=self.runtime, settings=HandoffSettings(), count=self.count, codec=WireCodec()
        )
        self.watching = BehindHints(self.own, self.hinted)
        self.shared.connected = False
        for number in range(hints):
            self.set(number)

    def count(self, what, number):
        self.counts[what] = self.counts.get(what, 0) + number

    def set(self, number):
        packed, answers = wire.command(b"SET", b"k", b"%d" % number), []
        self.hinted.submit(Batch(KINDS[CommandRoute.WRITE].run(1, 2), writes=True, packed=packed), answers.append)
        return answers

    def send(self, packed, *, name="EXEC", **marks):
        answers = []
        batch = Batch(WireCommands([(name,)], **marks), writes=name != "WATCH", packed=packed)
        self.watching.submit(batch, answers.append)
        return answers

    def pass_time(self, nanoseconds):
        async def later():
            await self.runtime.sleep(nanoseconds)

        self.runtime.run_until_complete(later())


def test_watch_and_its_exec_wait_for_the_hints_that_are_older_and_what_is_newer_waits_for_them():
    stage = Stage(hints=2)
    stage.shared.connected = True
    watched = stage.send(b"watch", name="WATCH", watches=(1, 1))
    newer = stage.set(2)
    stage.shared.serve()
    assert (watched, stage.own.waiting) == ([], [])
    stage.shared.serve()
    stage.own.serve()
    executed = stage.send(b"exec", watched=(1, 1), replies=3)
    assert (watched, executed) == ([[b"+OK\r\n"]], [])
    stage.shared.serve()
    stage.own.serve()
    assert (newer, executed) == ([[b"+OK\r\n"]], [[b"+OK\r\n"]])
    hints = [wire.command(b"SET", b"k", b"%d" % number) for number in range(3)]
    assert stage.server == [*hints[:2], b"watch", hints[2], b"exec"]


def test_while_hints_wait_for_a_zone_that_is_away_it_refuses_them_and_they_are_no_hints():
    stage = Stage(hints=1)
    (watched,) = stage.send(b"watch", name="WATCH", watches=(1, 1))
    (executed,) = stage.send(b"exec", watched=(1, 1), replies=3)
    assert (watched.maybe_applied, executed.maybe_applied, stage.own.waiting) == (False, False, [])
    assert stage.counts == {"hints stored": 1}


def test_what_waits_is_refused_when_the_way_is_lost_or_it_takes_too_long():
    stage = Stage(hints=1)
    stage.shared.connected = True
    executed = stage.send(b"exec", watched=(1, 1), replies=3)
    stage.pass_time(S)
    assert executed == []
    stage.pass_time(5 * S)
    second = stage.send(b"exec", watched=(1, 2), replies=3)
    stage.shared.connected = False
    stage.pass_time(S)
    assert [answer.maybe_applied for answer in executed + second] == [False, False]
    assert (stage.own.waiting, stage.counts) == ([], {"hints stored": 1})


def test_without_hints_and_for_all_else_it_is_the_connection_itself():
    stage = Stage(hints=0)
    stage.send(b"watch", name="WATCH", watches=(1, 1))
    assert len(stage.own.waiting) == 1
    away = Stage(hints=1)
    away.watching.submit(Batch((("UNWATCH",),), writes=True, packed=b"unwatch"), lambda answer: None)
    assert [batch.packed for batch, _ in away.own.waiting] == [b"unwatch"]
    away.watching.reset()
    away.own.connected = False
    assert (away.watching.connected, away.own.breaks, away.shared.breaks) == (False, 1, 0)


def test_what_ends_a_watch_does_not_overtake_the_exec_that_waits_for_hints():
    stage, ended = Stage(hints=1), []
    stage.shared.connected = True
    stage.send(b"exec", watched=(1, 1), replies=3)
    unwatch = Batch(WireCommands([("UNWATCH",)]), writes=True, packed=b"unwatch")
    stage.watching.submit(unwatch, ended.append)
    assert (stage.own.waiting, ended) == ([], [])
    stage.shared.serve()
    stage.own.serve()
    stage.own.serve()
    assert (stage.server[1:], ended) == ([b"exec", b"unwatch"], [[b"+OK\r\n"]])
