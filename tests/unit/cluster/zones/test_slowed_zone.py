"""Goal: a zone that is slow stops and goes on in turns, whatever else is done to it, until that ends.

Method: the verbs of real zones on a server that is played, which refuses what no server could do.
"""

import asyncio
from itertools import pairwise

import pytest
from support.coroutines import given, until

from zonelab.cluster.real.zones.base import RealZone
from zonelab.cluster.real.zones.settings import ProcessZoneSettings
from zonelab.cluster.zone import Address, Restart, ZoneError, ZoneState

FACTOR = 5.0


class PlayedServer(RealZone):
    """``events``: what was done to the server, and when."""

    def __init__(self):
        super().__init__("a", ProcessZoneSettings())
        self.events = []
        self.lives = self.stands = self.broken = False
        self.thawing = asyncio.Event()

    def _did(self, what):
        self.events.append((asyncio.get_running_loop().time(), what))

    @property
    def done(self):
        return [what for _, what in self.events]

    async def _create(self):
        self._address = Address("127.0.0.1", 1)

    async def _launch(self, *, private):
        self.lives, self.stands = True, False
        self._did("launch")
        return self._address

    async def _until_ready(self, address):
        pass

    async def _terminate(self):
        self.lives = False
        self._did("kill")

    async def _freeze(self):
        if self.broken:
            raise ZoneError("zone a: it cannot be stopped")
        assert (self.lives, self.stands) == (True, False)
        self.stands = True
        self._did("freeze")

    async def _thaw(self):
        assert (self.lives, self.stands) == (True, True)
        self.stands = False
        self.thawing.set()
        await asyncio.sleep(0)  # as a daemon that is asked over a socket
        self.thawing.clear()
        self._did("thaw")

    async def _limit_memory(self, limit_bytes):
        assert not self.stands
        self._did("memory")

    async def _remove(self):
        self.lives = False
        self._did("remove")

    def _has_exited(self):
        return not self.lives

    async def _wipe(self): ...
    async def _log_tail(self, lines): ...
    async def _replication_address(self): ...
    def _serving_port(self): ...
    def remove_now(self): ...
    @classmethod
    async def remove_stale(cls): ...


async def until_periods_have_passed():
    """Long enough for turns that should not be taken."""
    end_s = asyncio.get_running_loop().time() + 0.25
    await until(lambda: asyncio.get_running_loop().time() > end_s)


async def played(test):
    zone = PlayedServer()
    await zone.start()
    await zone.slow_down(FACTOR)
    await until(lambda: zone.done.count("thaw") >= 2)
    await test(zone)


on_slowed_zone = given("zone", lambda test: asyncio.run(played(test)))


async def assert_it_runs(zone):
    """And goes on to run: nothing is left that would stop it."""
    await zone.slow_down(1)
    assert (zone.stands, zone.state, zone.slowed) == (False, ZoneState.RUNNING, False)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@on_slowed_zone
async def test_it_runs_for_its_share_of_every_period_and_is_running_for_all_others(zone):
    states = set()
    await until(lambda: states.add(zone.state) or zone.done.count("thaw") >= 10)
    assert states == {ZoneState.RUNNING}
    await assert_it_runs(zone)
    turns = [(what, later - earlier) for (earlier, what), (later, _) in pairwise(zone.events[1:])]
    stood_s = sorted(for_s for what, for_s in turns if what == "freeze")
    ran_s = sorted(for_s for what, for_s in turns if what == "thaw")
    # A busy machine makes single turns longer; none is shorter but the last, which the end cuts off.
    assert stood_s[1] > 0.078
    assert ran_s[0] > 0.018


@on_slowed_zone
async def test_it_is_woken_once_if_it_gets_its_speed_back_while_it_is_woken(zone):
    """A container that runs refuses to be woken, which a process does not."""
    await zone.thawing.wait()
    await assert_it_runs(zone)
    assert zone.done.count("freeze") == zone.done.count("thaw")


@on_slowed_zone
async def test_other_verbs_find_it_running_and_have_it_as_they_leave_it(zone):
    await zone.fill_memory()
    await zone.pause()
    at = len(zone.events)
    await until_periods_have_passed()
    assert (zone.state, zone.done[at:]) == (ZoneState.PAUSED, [])
    await zone.resume()
    await until(lambda: zone.done[at:].count("freeze") >= 2)
    await zone.kill()
    at = len(zone.events)
    await until_periods_have_passed()
    assert (zone.state, zone.done[at:]) == (ZoneState.DEAD, [])
    await zone.restart(Restart.KEEP)
    await until(lambda: zone.done[at:].count("freeze") >= 2)
    await assert_it_runs(zone)


@on_slowed_zone
async def test_a_verb_that_does_not_fit_its_state_is_refused_and_does_nothing(zone):
    await zone.pause()
    at = len(zone.events)
    for verb, name in ((zone.pause, "pause"), (zone.start, "start"), (zone.fill_memory, "fill the memory")):
        with pytest.raises(ZoneError, match=rf"^zone a: cannot {name} while paused; it must be "):
            await verb()
    assert zone.done[at:] == []
    await zone.kill()
    with pytest.raises(ZoneError, match=r"^zone a: cannot kill while dead; it must be running or paused$"):
        await zone.kill()


@on_slowed_zone
async def test_it_can_be_made_slower_and_is_slow_no_longer_when_it_has_been_stopped(zone):
    await zone.slow_down(2 * FACTOR)
    await until(lambda: zone.stands)
    await zone.stop()
    assert zone.done[-1] == "remove"
    await zone.start()
    await assert_it_runs(zone)


@on_slowed_zone
async def test_a_server_that_cannot_be_stopped_is_an_error_at_its_end_and_no_silent_success(zone):
    zone.broken = True
    await until(lambda: not zone.slowed)
    with pytest.raises(ZoneError, match="zone a: it cannot be stopped"):
        await zone.slow_down(1)
    await assert_it_runs(zone)


@on_slowed_zone
async def test_a_factor_below_one_is_refused(zone):
    with pytest.raises(ZoneError, match=r"zone a: a slow-down must be at least 1, got 0\.5"):
        await zone.slow_down(0.5)
    await assert_it_runs(zone)
