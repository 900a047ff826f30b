"""Goal: who wants no message gets none without a word to a server, and who does not say how long to wait waits not.

Method: every pop and peek of every queue, in simulated time, on a server without lag and without messages.
"""

import pytest
from support.engine.dyno import SettableClock, fresh_name, make_queue
from support.engine.dyno_v2 import make_multi, make_pipelined
from support.engine.hardened import commands_of, hardened_lab
from support.engine.youzan import YouzanBench

from zonelab.engine.zset import ZsetQueue


def youzan(connection, lab, _clock):
    return YouzanBench(lab, poll_interval_ms=50).another(connection)


def zset(connection, lab, clock):
    return ZsetQueue(fresh_name(), runtime=lab.runtime, clock=clock, quorum=connection, local=connection)


def v1(compat):
    return lambda connection, lab, clock: make_queue(connection, runtime=lab.runtime, clock=clock, compat=compat)


def v2(make, compat):
    return lambda connection, lab, clock: make(connection, runtime=lab.runtime, clock=clock, compat=compat)


QUEUES = {
    "youzan": (youzan, ("pop",)),
    "zset": (zset, ("pop",)),
    **{
        f"v1 {compat}": (v1(compat), ("pop", "bulk_pop", "unsafe_pop_all_shards", "unsafe_bulk_pop"))
        for compat in (False, True)
    },
    **{
        f"{make.__name__} {compat}": (v2(make, compat), ("pop",))
        for make in (make_pipelined, make_multi)
        for compat in (False, True)
    },
}
POPS = [(name, pop) for name, (_, pops) in QUEUES.items() for pop in pops]


class Counting:
    """A connection that counts what it carries."""

    def __init__(self, inner):
        self._inner = inner
        self.commands = 0

    async def execute(self, *commands):
        self.commands += len(commands)
        return await self._inner.execute(*commands)


def made(lab, name):
    connection = Counting(lab.direct("a"))
    return QUEUES[name][0](connection, lab, SettableClock()), connection


def took_ns(lab, operation):
    begin_ns = lab.runtime.now_ns()
    assert lab.run(operation) == []
    return lab.runtime.now_ns() - begin_ns


@pytest.mark.parametrize(("name", "pop"), [each for each in POPS if each[0] not in ("youzan", "zset")])
def test_a_pop_of_no_message_asks_nobody_and_does_not_wait(lab, name, pop):
    queue, connection = made(lab, name)
    for count in (0, -1):
        assert took_ns(lab, getattr(queue, pop)(count, wait_ms=1_000)) == 0
    assert connection.commands == 0


@pytest.mark.parametrize(("name", "pop"), POPS)
def test_a_pop_that_says_nothing_of_waiting_takes_as_long_as_one_look(lab, name, pop):
    queue, connection = made(lab, name)
    at_once_ns = took_ns(lab, getattr(queue, pop)(1, wait_ms=0))
    looks = connection.commands
    assert looks > 0
    assert took_ns(lab, getattr(queue, pop)(1)) == at_once_ns < 20_000_000
    assert connection.commands == 2 * looks
    assert took_ns(lab, getattr(queue, pop)(1, wait_ms=30)) >= 30_000_000


@pytest.mark.parametrize(
    ("name", "peek"),
    [(each, "peek") for each in QUEUES if each not in ("youzan", "zset")] + [("v1 False", "unsafe_peek_all_shards")],
)
def test_a_peek_at_no_message_asks_nobody(lab, name, peek):
    queue, connection = made(lab, name)
    for count in (0, -1):
        assert took_ns(lab, getattr(queue, peek)(count)) == 0
    assert connection.commands == 0


def test_so_it_is_with_a_hardened_queue():
    with hardened_lab() as lab:

        async def nothing():
            queue = lab.queue()
            sent = commands_of(queue)
            for count in (0, -1):
                begin_ns = lab.runtime.now_ns()
                assert await queue.pop(count, wait_ms=1_000) == await queue.dead_letters(count) == []
                assert lab.runtime.now_ns() == begin_ns
            assert sent == []
            assert await queue.pop(1, wait_ms=0) == []
            one_look = len(sent)
            assert await queue.pop(1) == []
            assert len(sent) == 2 * one_look > 0

        lab.run(nothing())
