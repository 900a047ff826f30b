"""Goal: looks at the level are shared, bounded and fair, and what they have seen counts until it is taken.

Method: keys of a level that the test plays, in virtual time; the properties hold for drawn waits, and a schedule that
serves whoever comes last must be caught.
"""

from contextlib import suppress
from functools import partial
from operator import sub

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zonelab.cluster.commands import level_looks
from zonelab.cluster.commands.level_looks import AGAIN_NS, APART_NS, LevelLooks
from zonelab.cluster.sim.runtime import SimRuntime

SECOND_NS = 1_000_000_000


def _tried(callback):
    with suppress(ConnectionError):
        callback()


class Going(SimRuntime):
    """An error of a callback ends nothing else, as in a loop of asyncio."""

    def __init__(self):
        super().__init__(seed=1)
        later = self.call_later
        self.call_later = lambda delay_ns, callback: later(delay_ns, partial(_tried, callback))


class Lab:
    """A level that has something at ``full``, and when it was asked about which key."""

    def __init__(self, made=LevelLooks):
        self.sim = Going()
        self.full = set()
        self.asked = []
        self.silent = False
        self.failing = False
        self.looks = made(self.sim, self._ask)

    def _ask(self, key, answered):
        self.asked.append((self.sim.now_ns(), key))
        if self.failing:
            raise ConnectionError(key)
        if not self.silent:
            self.sim.call_later(1_000_000, lambda: answered(key in self.full))

    def after(self, duration_ns):
        self.sim.run_until_complete(self.sim.sleep(duration_ns))

    def times_of(self, key):
        return [time for time, one in self.asked if one == key]


def test_all_that_wait_on_a_key_share_its_looks():
    lab = Lab()
    for _ in range(20):
        assert lab.looks.wait(["q", "q"])
    lab.after(10 * SECOND_NS - 1)
    assert [time // SECOND_NS for time in lab.times_of("q")] == [0, 2, 4, 6, 8]
    for _ in range(19):
        lab.looks.leave(["q", "q"])
    lab.after(2 * SECOND_NS)
    assert len(lab.asked) == 6
    lab.looks.leave(["q", "q"])
    lab.after(10 * SECOND_NS)
    assert len(lab.asked) == 6, "nobody waits"


def test_a_key_that_is_waited_on_for_short_times_has_its_looks_all_the_same():
    lab = Lab()
    for _ in range(100):
        lab.looks.wait(["q"])
        lab.after(100_000_000)
        lab.looks.leave(["q"])
        lab.after(1_000_000)
    times = lab.times_of("q")
    assert len(times) >= 5
    assert closest(times) >= AGAIN_NS


def test_a_key_that_is_new_does_not_wait_for_those_that_are_due_later():
    lab = Lab()
    lab.looks.wait(["old"])
    lab.after(SECOND_NS)
    lab.looks.wait(["new"])
    lab.after(APART_NS)
    assert len(lab.times_of("new")) == 1


def test_what_was_seen_counts_until_somebody_got_nothing():
    lab = Lab()
    lab.looks.wait(["q", "empty"])
    lab.after(SECOND_NS)
    assert not lab.looks.seen("q")
    lab.full.add("q")
    lab.after(2 * SECOND_NS)
    assert lab.looks.seen("q")
    assert not lab.looks.seen("empty")
    looks = len(lab.times_of("q"))
    lab.looks.leave(["q", "empty"])
    lab.looks.wait(["q"])
    lab.after(SECOND_NS // 2)
    assert lab.looks.seen("q"), "whoever comes next need not wait for a look"
    lab.after(10 * SECOND_NS)
    assert len(lab.times_of("q")) == looks, "what is known need not be asked"
    lab.full.clear()
    lab.looks.taken("q")
    assert not lab.looks.seen("q")
    lab.after(2 * SECOND_NS + APART_NS)
    assert len(lab.times_of("q")) == looks + 1


def test_while_the_level_does_not_answer_it_is_not_asked_again():
    lab = Lab()
    lab.silent = True
    lab.looks.wait(["q"])
    lab.after(30 * SECOND_NS)
    assert len(lab.asked) == 1


def test_a_look_that_could_not_be_made_is_made_again():
    lab = Lab()
    lab.failing = True
    lab.looks.wait(["q", "r"])
    lab.after(SECOND_NS)
    assert {key for _, key in lab.asked} == {"q", "r"}
    lab.failing = False
    lab.full.update("qr")
    lab.after(AGAIN_NS)
    assert lab.looks.seen("q")
    assert lab.looks.seen("r")


def test_more_keys_than_are_kept_are_not_taken_until_others_have_left(monkeypatch):
    monkeypatch.setattr(level_looks, "KEYS_MAX", 3)
    lab = Lab()
    assert lab.looks.wait("ab")
    assert not lab.looks.wait("bcd")
    assert lab.looks.wait("bc")
    lab.looks.leave("ab")
    lab.looks.leave("bc")
    assert lab.looks.wait("xyz")


class LastComeFirst(LevelLooks):
    """A planted bug: the key that was added last is next."""

    def _next(self):
        return next(reversed({**self._again, **self._new}), None)


class Impatient(LevelLooks):
    """A planted bug: nothing keeps looks apart."""

    _free_ns = property(lambda self: 0, lambda self, at_ns: None)


@st.composite
def waits(draw):
    """Who waits on which keys, from when to when, in milliseconds."""
    keys = st.sets(st.integers(0, 150), min_size=1, max_size=100)
    times = st.tuples(st.integers(0, 4_000), st.integers(1, 6_000))
    return draw(st.lists(st.tuples(keys, times), min_size=1, max_size=6))


def broken(lab, plan):
    """Which promise ``lab`` breaks when commands wait as planned; None if it keeps them all."""

    async def one(keys, begin_ms, for_ms):
        await lab.sim.sleep(begin_ms * 1_000_000)
        lab.looks.wait(keys)
        await lab.sim.sleep(for_ms * 1_000_000)
        lab.looks.leave(keys)

    async def all_of_them():
        for task in [lab.sim.spawn(one(keys, *times), name="waiting") for keys, times in plan]:
            await task.join()

    lab.sim.run_until_complete(all_of_them())
    lab.after(5 * SECOND_NS)
    if closest([time for time, _ in lab.asked]) < APART_NS:
        return "looks too close to each other"
    keys = sorted({key for keys, _ in plan for key in keys})
    longest_ns = AGAIN_NS + (len(keys) + 1) * APART_NS
    for key in keys:
        looks = lab.times_of(key)
        if closest(looks) < AGAIN_NS:
            return "a key was looked at too often"
        for its_keys, (begin_ms, for_ms) in plan:
            begin_ns, end_ns = begin_ms * 1_000_000, (begin_ms + for_ms) * 1_000_000
            seen = [begin_ns, *(time for time in looks if begin_ns <= time <= end_ns), end_ns]
            if key in its_keys and max(map(sub, seen[1:], seen)) > longest_ns:
                return "a key waited too long for a look"
    return None


def closest(times):
    return min(map(sub, times[1:], times), default=AGAIN_NS)


@settings(max_examples=40)
@given(plan=waits())
def test_looks_are_apart_and_every_key_that_is_waited_on_has_its_turn(plan):
    assert broken(Lab(), plan) is None


@pytest.mark.parametrize(
    ("planted", "noticed"),
    [(LastComeFirst, "a key waited too long for a look"), (Impatient, "looks too close to each other")],
)
def test_a_schedule_that_breaks_a_promise_is_noticed(planted, noticed):
    plan = [(set(range(100)), (0, 6_000)), (set(range(50, 150)), (500, 5_000))]
    assert broken(Lab(), plan) is None
    assert broken(Lab(planted), plan) == noticed
