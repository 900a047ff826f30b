"""Goal: with leases by observation no clock makes a session take what another renews, and it is taken soon after.

Method: sessions that want one register on three simulated zones, with clocks that differ by an hour; then members.
"""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from support.engine.fenced import FencedBench, on

from zonelab.engine.fifo.fenced.register import Fenced, Register
from zonelab.engine.fifo.settings import LeaseClock

LEASE_MS = 200
STEP_MS = 20
HOUR_MS = 3_600_000


@dataclass
class Shifted:
    """A clock that differs from another one."""

    true: Any
    by_ms: int = 0

    def now_ms(self):
        return self.true.now_ms() + self.by_ms


class ReadBefore:
    """Views of zones, on which ``happens`` comes after they were read."""

    def __init__(self, views, happens):
        self._views, self._happens = views, happens

    async def of(self, *asked):
        found = await self._views.of(*asked)
        await self._happens()
        return found


class LeaseBench(FencedBench):
    """Sessions, each with a clock of its own, and the register that they want."""

    def session(self, zone, lease_clock, by_ms=0):
        clock = Shifted(self.cluster.clock(zone), by_ms)
        wires = replace(self.wires(zone, f"s{zone}"), clock=clock)
        store = wires.store(lease_ms=LEASE_MS, margin_ms=20, lease_clock=lease_clock)
        return Register(store=store, partition=self.partitions[0], name="r"), clock

    async def owned(self, lease_clock=LeaseClock.OBSERVATION, *, by_ms=0):
        """One session that has the register, its clock, and another one that has not, whose clock differs ``by_ms``."""
        (owner, clock), (other, _) = self.session("a", lease_clock), self.session("b", lease_clock, by_ms)
        while await owner.claim() is None:
            await self.pause_ms(STEP_MS)
        await owner.write("state")
        return owner, clock, other

    async def takes_in(self, register, *, most_ms, each=None):
        """After how many ms it has the register; None: not in time."""
        begun_ns = self.runtime.now_ns()
        while (now_ms := (self.runtime.now_ns() - begun_ns) / 1e6) < most_ms:
            if await register.claim() is not None:
                return now_ms
            if each is not None:
                await each()
            await self.pause_ms(STEP_MS)
        return None


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS])
@pytest.mark.parametrize("lease_clock", list(LeaseClock))
@on(LeaseBench)
async def test_a_lease_that_is_renewed_is_not_over_whatever_clocks_say(bench, lease_clock, by_ms):
    owner, _, other = await bench.owned(lease_clock, by_ms=by_ms)
    taken = await bench.takes_in(other, most_ms=5 * LEASE_MS, each=owner.renew)
    assert (taken is not None) is (lease_clock is LeaseClock.MARGIN and by_ms > 0)


@pytest.mark.parametrize("by_ms", [-HOUR_MS, 0, HOUR_MS])
def test_a_lease_that_nobody_renews_is_over_a_lease_after_the_first_look(by_ms):
    with LeaseBench() as bench:

        async def course():
            owner, _, other = await bench.owned(by_ms=by_ms)
            took_ms = await bench.takes_in(other, most_ms=10 * LEASE_MS)
            with pytest.raises(Fenced):
                await owner.write("late")
            return took_ms

        assert LEASE_MS <= bench.run(course()) <= LEASE_MS + 3 * STEP_MS


@on(LeaseBench)
async def test_renewals_are_seen_though_the_clock_of_the_owner_goes_back(bench):
    owner, clock, other = await bench.owned()
    clock.by_ms = -HOUR_MS
    assert await bench.takes_in(other, most_ms=5 * LEASE_MS, each=owner.renew) is None


@on(LeaseBench)
async def test_what_is_given_up_is_free_at_once(bench):
    owner, _, other = await bench.owned(by_ms=-HOUR_MS)
    await owner.give_up()
    assert await bench.takes_in(other, most_ms=LEASE_MS) is not None


@on(LeaseBench)
async def test_a_zone_does_not_promise_what_was_renewed_since_it_was_looked_at(bench):
    owner, _, other = await bench.owned()
    await bench.pause_ms(STEP_MS)  # until the third zone has heard of it, too
    assert await other.claim() is None
    await bench.pause_ms(2 * LEASE_MS)
    other.store = replace(other.store, views=ReadBefore(other.store.views, owner.renew))
    assert await other.claim() is None
    await owner.write("still ours")
    assert owner.state == "still ours"


@on(FencedBench, partitions=1, lease_clock=LeaseClock.OBSERVATION)
async def test_a_partition_of_a_member_that_died_goes_on_within_two_leases(bench):
    for zone in "ab":
        await bench.start(f"m{zone}", zone)
    await bench.push_all(bench.producer("c"), range(5))
    await bench.until(lambda: bench.rows("commit"))
    (owner,) = [name for name, (member, *_) in bench.programs.items() if member._context.queues]
    await bench.kill(owner)
    killed_ns = bench.runtime.now_ns()
    assert await bench.until(lambda: len(bench.handled()) == 5)
    granted = [row for row in bench.rows("grant") if row["outcome"] == "ok" and row["time_ns"] > killed_ns]
    took_ms = (granted[0]["time_ns"] - killed_ns) / 1e6
    lease_ms = bench.settings.times_ms.lease
    assert lease_ms < took_ms < 2 * lease_ms
    bench.assert_kept()
