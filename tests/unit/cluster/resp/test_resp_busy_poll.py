"""Goal: a gateway may stay awake for a while after a request, and no longer. Method: a loop and a clock by hand."""

import pytest

from zonelab.cluster.resp import busy_poll as polling
from zonelab.cluster.resp.busy_poll import BUSY_POLL_US_MAX, BusyPoll
from zonelab.cluster.resp.settings import PortSettings

from .conftest import opened


class Loop:
    """Turns when it is told to; each turn takes 10 µs."""

    def __init__(self, monkeypatch):
        self.now_ns = 0
        self.ready = []
        self.yields = 0
        monkeypatch.setattr(polling.time, "monotonic_ns", lambda: self.now_ns)
        monkeypatch.setattr(polling.os, "sched_yield", self._yielded)

    def _yielded(self):
        self.yields += 1

    def call_soon(self, callback):
        self.ready.append(callback)

    def turns(self):
        """How many turns until there is nothing to do."""
        count = 0
        while self.ready:
            assert len(self.ready) == 1
            self.now_ns += 10_000
            count += 1
            self.ready.pop()()
        return count


def test_it_turns_until_the_time_after_the_last_request_is_over_and_offers_the_processor(monkeypatch):
    loop = Loop(monkeypatch)
    poll = BusyPoll(loop, duration_us=100)
    poll.touch()
    poll.touch()
    assert loop.turns() == 10
    assert loop.yields == 9
    poll.touch()
    loop.now_ns += 50_000
    poll.touch()
    assert loop.turns() == 10


def test_when_many_ask_in_one_turn_it_goes_to_sleep_and_wakes_with_the_next(monkeypatch):
    loop = Loop(monkeypatch)
    poll = BusyPoll(loop, duration_us=100)
    for _ in range(5):
        poll.touch()
    assert loop.turns() == 1
    poll.touch()
    assert loop.turns() == 10


def test_without_a_duration_it_does_nothing(monkeypatch):
    loop = Loop(monkeypatch)
    BusyPoll(loop, duration_us=0).touch()
    assert loop.turns() == 0


@pytest.mark.parametrize("wrong", [-1, BUSY_POLL_US_MAX + 1])
def test_other_durations_are_refused(wrong):
    with pytest.raises(ValueError, match=f"busy_poll_us must be 0 to {BUSY_POLL_US_MAX}, got {wrong}"):
        PortSettings(busy_poll_us=wrong)


@pytest.mark.parametrize(
    ("settings", "awake"), [({}, True), ({"busy_poll_us": 500}, True), ({"busy_poll_us": 0}, False)]
)
def test_a_port_stays_awake_unless_it_was_asked_not_to(runner, monkeypatch, settings, awake):
    turns = []
    turn = BusyPoll._turn
    monkeypatch.setattr(BusyPoll, "_turn", lambda self: (turns.append(1), turn(self)))

    async def program():
        async with opened(reply=b"+OK\r\n", **settings) as port:
            client = await port.client()
            assert [await client.ask(b"SET", b"k", b"v") for _ in range(3)] == [b"OK"] * 3

    runner.run(program())
    assert bool(turns) is awake
