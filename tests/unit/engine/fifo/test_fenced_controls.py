"""Goal: what fenced partitions rest on outside themselves: without it the checker says what broke.

Method: producers and members on three simulated zones.
"""

from support.engine.fenced import ZONES, FencedBench, Sink

from cluster.zone import Restart


class Unfenced(Sink):
    """Takes whatever comes."""

    def take(self, told, one, fence):
        self._fences.clear()
        self._last.clear()
        return super().take(told, one, fence)


def pushed(bench, producer, number):
    async def course():
        for index in range(number):
            await bench.push(producer, "k", index)

    return course()


def test_a_fence_at_the_cursor_alone_lets_a_zombie_have_its_effect_again():
    """Its commit is refused; the sink has its message a second time."""

    def played(sink):
        with FencedBench(partitions=1) as bench:
            bench.sink, bench.work_ms = sink(bench.observer), 50

            async def course():
                for zone in "ab":
                    await bench.start(f"m{zone}", zone)
                await pushed(bench, bench.producer("c"), 3)
                await bench.until(lambda: bench.rows("start"))
                zombie = bench.programs[bench.rows("start")[0]["member"]][1]
                zombie.stop()
                await bench.until(lambda: len(bench.handled()) == 3)
                zombie.go_on()
                await bench.pause_ms(bench.settings.times_ms.lease)

            bench.run(course())
            assert any(row["status"] == "fenced" for row in bench.rows() if row["kind"] in ("commit", "sink"))
            return bench.verdict().broken

    assert "I14" not in played(Sink)
    assert "I14" in played(Unfenced)


def test_a_counter_that_all_zones_lost_at_once_gives_a_token_again():
    """More than the mode promises to survive: the partition begins anew, and so do its tokens."""
    with FencedBench(partitions=1) as bench:

        async def course():
            await bench.start("ma", "a")
            await pushed(bench, bench.producer("c"), 3)
            await bench.until(lambda: len(bench.handled()) == 3)
            await bench.kill("ma")
            for name in ZONES:
                await bench.cluster.zones[name].kill()
            for name in ZONES:
                await bench.cluster.zones[name].restart(Restart.WIPE)
            await bench.pause_ms(2 * bench.settings.times_ms.lease)
            await bench.start("mb", "b")
            await bench.until(lambda: len(bench.rows("grant")) > 1)

        bench.run(course())
        assert "I8" in bench.verdict().broken
