"""Goal: what mode ``fenced`` keeps while a zone loses its data or a member stands still, which processes decide, and
what breaks without a fenced sink or with all zones lost.

Method: producers and members on three simulated zones, judged by the checker of ordered messages.
"""

import pytest
from support.engine.fenced import ZONES, FencedBench, Sink, on

from zonelab.cluster.zone import Restart
from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.fenced.mechanisms import Fencing


@pytest.mark.parametrize("restart", list(Restart))
def test_a_zone_that_died_votes_again_only_after_it_was_admitted(restart):
    with FencedBench() as bench:
        seen = []

        async def dies():
            zone = bench.cluster.zones["c"]
            await zone.kill()
            await bench.pause_ms(300)
            await zone.restart(restart, warm_from=bench.cluster.zones["a"] if restart is Restart.WARM else None)
            seen.append(await bench.admitted("c"))
            await bench.pause_ms(4 * bench.settings.times_ms.renew)
            seen.append(await bench.admitted("c"))

        assert bench.work(dies)
        assert seen == [False, True]
        assert max(row["generation"] or 0 for row in bench.rows("commit")) > 1
        bench.assert_kept("I3", "I4", "I9", "I14")


def test_a_member_that_stands_still_beyond_its_lease_is_refused_by_zones_and_sink():
    with FencedBench() as bench:

        async def stands_still():
            bench.programs["ma"][1].stop()
            await bench.pause_ms(3 * bench.settings.times_ms.lease)
            bench.programs["ma"][1].go_on()
            await bench.pause_ms(bench.settings.times_ms.renew)

        assert bench.work(stands_still)
        assert any(row["status"] == "fenced" for row in bench.rows() if row["kind"] in ("commit", "renew", "sink"))
        bench.assert_kept("I7", "I8", "I14")


def test_what_is_handed_out_before_it_is_decided_is_written_all_the_same():
    with FencedBench(without=[Fencing.PROVEN_ENTRIES]) as bench:
        assert bench.work(messages=6)
        held = []

        async def look():
            for zone in ZONES:
                logs = [("HLEN", bench.keys.log(partition)) for partition in bench.partitions]
                held.append(sum(await bench.cluster.direct(zone).execute(*logs)))

        bench.run(look())
        assert held == [len(bench.confirmed)] * 3


def test_failures_are_counted_across_members_and_a_poison_message_is_set_aside():
    with FencedBench(partitions=1) as bench:
        bench.handle = lambda one: ConsumeStatus.SUSPEND if one.record.id == "ka0-3" else None

        async def killed():
            await bench.until(lambda: any(row["message_id"] == "ka0-3" for row in bench.rows("fail")))
            for name in [name for name, (member, *_) in bench.programs.items() if member._context.queues]:
                await bench.kill(name)

        assert bench.work(killed)
        attempts = [row["attempt"] for row in bench.rows("start") if row["message_id"] == "ka0-3"]
        assert attempts == sorted(attempts)
        assert attempts[-1] == bench.settings.reconsumed_max + 1
        assert [row["outcome"] for row in bench.rows("dead_letter")] == ["ok"]
        bench.assert_kept("I11")


def test_a_graceful_stop_hands_over_what_it_has_finished():
    with FencedBench(partitions=1) as bench:

        async def leaves():
            name = next(name for name, (member, *_) in bench.programs.items() if member._context.queues)
            await bench.programs.pop(name)[0].close()

        assert bench.work(leaves)
        finished = [row["message_id"] for row in bench.rows("end")]
        assert len(finished) == len(set(finished))
        bench.assert_kept("I7")


def test_one_zone_is_enough_for_nothing():
    """Two zones that died at once: nobody knows what they decided, so the partition stands still and says so."""
    with FencedBench(partitions=1) as bench:

        async def both_die():
            for name in "bc":
                await bench.cluster.zones[name].kill()
            for name in "bc":
                await bench.cluster.zones[name].restart(Restart.WIPE)
            bench.standstill = len(bench.handled())
            await bench.pause_ms(3 * bench.settings.times_ms.lease)

        assert not bench.work(both_die, messages=10, most_ms=bench.settings.times_ms.lease)
        assert len(bench.handled()) <= bench.standstill + 1  # one may have been in work
        assert {row["status"] for row in bench.rows("grant") if row["outcome"] == "info"} == {"unadmitted"}


class Unfenced(Sink):
    """Takes whatever comes."""

    def take(self, told, one, fence):
        self._fences.clear()
        self._last.clear()
        return super().take(told, one, fence)


def test_a_fence_at_the_cursor_alone_lets_a_zombie_have_its_effect_again():
    """Its commit is refused; the sink has its message a second time."""

    def played(sink):
        with FencedBench(partitions=1) as bench:
            bench.sink, bench.work_ms = sink(bench.observer), 50

            async def course():
                for zone in "ab":
                    await bench.start(f"m{zone}", zone)
                await bench.push_all(bench.producer("c"), range(3))
                await bench.until(lambda: bench.rows("start"))
                zombie = bench.programs[bench.rows("start")[0]["member"]][1]
                zombie.stop()
                await bench.until(lambda: len(bench.handled()) == 3)
                zombie.go_on()
                await bench.pause_ms(bench.settings.times_ms.lease)

            bench.run(course())
            assert any(row["status"] == "fenced" for row in bench.rows() if row["kind"] in ("commit", "sink"))
            return bench.verdict().shown

    assert "I14" not in played(Sink)
    assert "I14" in played(Unfenced)


@on(FencedBench, partitions=1)
async def test_a_counter_that_all_zones_lost_at_once_gives_a_token_again(bench):
    """More than the mode promises to survive: the partition begins anew, and so do its tokens."""
    await bench.start("ma", "a")
    await bench.push_all(bench.producer("c"), range(3))
    await bench.until(lambda: len(bench.handled()) == 3)
    await bench.kill("ma")
    for name in ZONES:
        await bench.cluster.zones[name].kill()
    for name in ZONES:
        await bench.cluster.zones[name].restart(Restart.WIPE)
    await bench.pause_ms(2 * bench.settings.times_ms.lease)
    await bench.start("mb", "b")
    await bench.until(lambda: len(bench.rows("grant")) > 1)
    assert "I8" in bench.verdict().shown
