"""Goal: how a partition goes from one member to another, and what then breaks in RocketMQ's modes and what does not.

Method: two members on one simulated zone, times divided by 20. Each test is a window that was measured on 4.9.4 and
5.3.1 themselves.
"""

from dataclasses import replace
from itertools import pairwise

import pytest
from support.engine.fifo_group import GroupBench

from zonelab.scenarios.clients.program_crash import CrashSwitch
from zonelab.scenarios.faults.seen import runs

SLOW_MS = 300


def working(lab, mode, *, work_ms=24, messages=500, partitions=1, **settings):
    """Member m is in the middle of a message, some seconds after it began."""
    bench = GroupBench(lab, mode, work_ms=work_ms, partitions=partitions, **settings)
    bench.produce(messages)
    bench.start("m").until(lambda: bench.finished("m"))
    bench.pause_ms(2_000)
    return bench.until(lambda: len(bench.started("m")) > len(bench.finished("m")))


def takes_over(bench, name="n", *, most_ms=20_000):
    """How long until ``name`` begins a message."""
    begin_ms = bench.now_ms()
    bench.until(lambda: bench.started(name), most_ms=most_ms)
    return bench.now_ms() - begin_ms


def concurrent(bench, *, but=None):
    """Offsets whose delivery began while another of the partition was open, and in which member.

    ``but``: the work of a member that was killed, which ended with it.
    """
    opened, found = {}, []
    for event in bench.told.events:
        if event.kind == "start" and event.member != but:
            found += [(event.offset, event.member)] * bool(opened)
            opened[event.op_id] = event
        elif event.kind == "end":
            opened.pop(event.op_id, None)
    return found


def shortly_before_a_renewal(bench, *, before_ms):
    """Member m has renewed its locks and will do so again at the time that this returns."""
    known = len(bench.told.of("renew", member="m"))
    bench.until(lambda: len(bench.told.of("renew", member="m")) > known)
    due_ms = bench.told.of("renew", member="m")[-1].time_ms + bench.times_ms.renew
    bench.pause_ms(due_ms - before_ms - bench.now_ms())
    return due_ms


def first_deliveries(bench):
    return list(dict.fromkeys(bench.started()))


def test_whoever_joins_gets_its_share_and_everything_is_served_in_order(lab, mode):
    bench = GroupBench(lab, mode, partitions=4, work_ms=40)
    for partition in bench.partitions:
        bench.partition = partition
        bench.produce(75)
    bench.start("m").until(lambda: len(bench.finished("m")) > 20)
    bench.start("n").until(lambda: len({(each.partition, each.offset) for each in bench.told.of("end")}) == 300)
    for partition in bench.partitions:
        served = [each.offset for each in bench.told.of("start") if each.partition == partition.name]
        assert list(dict.fromkeys(served)) == list(range(75))
    assert {each.partition for each in bench.told.of("start", member="n")} == {"t/2", "t/3"}
    owners = [each.member for each in bench.told.of("assign") if each.status == "revoked"]
    assert owners == ["m", "m"]


def test_the_batch_in_flight_at_a_revoke_is_delivered_again(lab, mode):
    """The partition is marked as dropped before its listener ends, and whoever has dropped it commits nothing."""
    bench = working(lab, mode)
    in_flight = bench.started("m")[-1]
    bench.start("a")  # first in the order of names, so the only partition is its own from now on
    takes_over(bench, "a")
    assert bench.started("a")[0] == in_flight == bench.finished("m")[-1]
    assert concurrent(bench) == []


def test_a_graceful_stop_hands_over_quickly_only_in_the_newer_version(lab, mode):
    bench = working(lab, mode)
    bench.start("n").pause_ms(3_300)
    bench.close("m")
    took_ms = takes_over(bench)
    if mode == "rocketmq-5.3":
        assert took_ms <= 2 * bench.times_ms.first_pull
    else:  # the lock at once; but it says so only at its next renewal, and the pull looks again after its pause
        assert 2 * bench.times_ms.first_pull < took_ms <= bench.times_ms.renew + 2 * bench.times_ms.pull_retry


def test_a_graceful_stop_sends_its_offset_and_does_not_wait_for_it(lab, mode):
    """What is held on its way for longer than the hand-over comes again."""
    switch, late_ms = CrashSwitch("m"), 1_500
    bench = GroupBench(lab, mode, work_ms=24)
    bench.produce(500)
    bench.start("m", switch.wrap(lab.direct("a"))).until(lambda: bench.finished("m"))
    bench.start("n").pause_ms(3_000)
    switch.view.alter(lab.runtime, concerns=runs("HSET"), late_ms=late_ms)
    begin_ms, known = bench.now_ms(), bench.cursor()
    bench.pause_ms(bench.times_ms.flush)
    done = bench.finished("m")[-1]
    bench.close("m")
    assert bench.now_ms() - begin_ms < bench.times_ms.flush + 100
    takes_over(bench)
    assert bench.now_ms() - begin_ms < bench.times_ms.flush + late_ms
    assert bench.started("n")[0] == known <= done
    bench.until(lambda: bench.cursor() > known, most_ms=2 * late_ms)


@pytest.mark.parametrize("work_ms", [24, SLOW_MS])
def test_a_graceful_stop_overlaps_if_and_only_if_the_listener_has_more_left_than_it_takes(lab, work_ms):
    bench = working(lab, "rocketmq-5.3", work_ms=work_ms)
    bench.start("n").pause_ms(3_000)
    bench.until(lambda: len(bench.started("m")) > len(bench.finished("m")))
    open_since_ms = bench.told.of("start", member="m")[-1].time_ms
    bench.close("m")
    took_ms = takes_over(bench)
    left_ms = open_since_ms + work_ms - (bench.now_ms() - took_ms)
    assert bool(concurrent(bench)) is (left_ms > took_ms)
    assert (work_ms == SLOW_MS) is (left_ms > took_ms)


def test_after_a_kill_the_lock_lasts_its_lease_and_what_was_not_flushed_is_repeated(lab, mode):
    """Nothing is flushed in the first 10 s, or 0.5 s scaled."""
    bench = GroupBench(lab, mode, work_ms=20)
    bench.produce(20)
    bench.start("m").until(lambda: len(bench.finished("m")) == 15)
    bench.start("n")
    bench.kill("m")
    took_ms, times = takes_over(bench), bench.times_ms
    late_ms = 0 if mode == "rocketmq-5.3" else times.rebalance + times.renew + times.pull_retry
    assert times.lease - times.renew <= took_ms <= times.lease + times.rebalance_least + times.first_pull + late_ms
    assert bench.started("n")[0] == 0
    assert concurrent(bench, but="m") == []


def test_both_timers_of_the_newer_version_renew_together_so_a_lock_is_up_to_an_interval_old_at_a_kill(lab, mode):
    bench = working(lab, mode)
    bench.start("n").pause_ms(3_000)
    times = bench.times_ms
    due_ms = [each.time_ms for each in bench.told.of("renew", member="m")]
    gaps_ms = {round(later - earlier) for earlier, later in pairwise(due_ms)}
    assert gaps_ms == ({0, times.renew} if mode == "rocketmq-5.3" else {times.renew})
    shortly_before_a_renewal(bench, before_ms=5)
    bench.kill("m")
    took_ms = takes_over(bench)
    late_ms = 0 if mode == "rocketmq-5.3" else times.renew + times.rebalance
    least_ms = times.lease - times.renew
    assert least_ms <= took_ms <= least_ms + times.rebalance_least + 2 * times.first_pull + late_ms


def test_a_stop_just_before_a_renewal_is_due_may_lock_again_in_the_newer_version_only(lab, mode):
    """Its second timer goes on until it has left, which takes a drawn time; then its lock lasts for a lease."""
    bench = GroupBench(lab, mode)
    bench.settings = replace(bench.settings, times_ms=replace(bench.times_ms, leave=50))
    bench.start("n")
    again = []
    for _ in range(12):
        bench.start("m")
        due_ms = shortly_before_a_renewal(bench, before_ms=25)
        begin_ms, partition = bench.now_ms(), bench.programs["m"][0].owned[0]
        bench.close("m")
        assert bench.now_ms() - begin_ms <= 52
        again.append(bench.told.of("renew", member="m")[-1].time_ms >= due_ms)
        bench.until(lambda: partition in bench.programs["n"][0].owned)  # noqa: B023
        assert again[-1] is (bench.now_ms() - begin_ms > bench.times_ms.lease)
    assert set(again) == ({True, False} if mode == "rocketmq-5.3" else {False})


def test_a_member_that_stops_does_not_ask_for_a_lock_that_it_waited_for(lab, mode):
    switch, pause_ms = CrashSwitch("m"), 500
    bench = GroupBench(lab, mode)
    bench.settings = replace(bench.settings, times_ms=replace(bench.times_ms, relock=pause_ms))
    bench.produce(500)
    bench.start("m", switch.wrap(lab.direct("a"))).until(lambda: bench.finished("m"))
    lock, locks = bench.keys.lock(bench.partition, bench.settings.group), bench.zones(lab.direct("a")).locks
    bench.run(lab.direct("a").execute(("DEL", lock)))
    bench.run(locks.try_lock([bench.partition], "other"))
    bench.until(lambda: bench.told.of("grant", member="m")[-1].outcome == "fail")
    bench.run(locks.unlock([bench.partition], "other"))
    asked = len(bench.told.of("grant", member="m"))
    bench.pause_ms(bench.times_ms.relock_retry + pause_ms / 2)
    switch.view.alter(lab.runtime, concerns=runs("leave"), late_ms=pause_ms)
    bench.close("m")
    assert len(bench.told.of("grant", member="m")) == asked


def test_after_a_kill_only_what_was_done_since_the_last_flush_is_repeated(lab, mode):
    bench = working(lab, mode)
    bench.start("n").pause_ms(3_000)
    done = bench.finished("m")[-1]
    bench.kill("m")
    takes_over(bench)
    repeated = done - bench.started("n")[0]
    assert 0 <= repeated <= bench.times_ms.flush // bench.work_ms
    assert first_deliveries(bench) == list(range(max(bench.started()) + 1))


def frozen(lab, mode, **settings):
    """Member m stands still in the middle of a message; n has been a member for some time."""
    bench = working(lab, mode, **settings)
    bench.start("n").pause_ms(3_000)
    bench.until(lambda: len(bench.started("m")) > len(bench.finished("m")))
    bench.stop("m")
    return bench


def test_a_member_that_stands_still_beyond_its_expiry_ends_its_message_beside_its_successor(lab, mode):
    bench = frozen(lab, mode)
    in_hand = bench.started("m")[-1]
    took_ms, times = takes_over(bench), bench.times_ms
    # The lock is free long before: nobody is told of a member that was removed for its silence.
    least_ms = times.member_expiry - times.heartbeat
    assert least_ms <= took_ms <= times.member_expiry + times.member_scan + 2 * times.rebalance + 2 * times.renew
    bench.pause_ms(500)
    bench.go_on("m")
    bench.until(lambda: in_hand in bench.finished("m"))
    assert (bench.started("n")[0], "n") in concurrent(bench)  # its predecessor's message was open all the time
    assert bench.finished("n")[-1] > in_hand  # and ended when later ones had been done
    bench.pause_ms(3_000)
    assert {member for _, member in concurrent(bench)} == {"n"}  # the zombie began none beside the successor's
    assert first_deliveries(bench) == list(range(max(bench.started()) + 1))


def test_a_member_that_comes_back_runs_finished_messages_of_its_old_cache_again(lab, mode):
    """It was never told that the partition was not its own meanwhile, and has it again when it is a member again."""
    bench = frozen(lab, mode)
    known = len(bench.started("m"))
    takes_over(bench)
    bench.pause_ms(1_000)
    bench.go_on("m")
    bench.until(lambda: len(bench.started("m")) > known)
    done = bench.finished("n")[-1]
    assert bench.started("m")[known] < done - 20
    assert concurrent(bench)[-1][1] == "n"  # it waited for the lock


def test_a_zombie_writes_its_old_cursor_over_that_of_its_successor(lab, mode):
    bench = frozen(lab, mode)
    takes_over(bench)
    bench.pause_ms(1_000)
    reached, in_hand = bench.cursor(), bench.started("m")[-1]
    bench.go_on("m")
    bench.until(lambda: bench.cursor() < reached, most_ms=1_000)
    assert bench.cursor() <= in_hand + 1


def test_standing_still_beyond_the_lease_breaks_nothing_while_one_is_still_a_member(lab, mode):
    bench = frozen(lab, mode)
    bench.pause_ms(1.5 * bench.times_ms.lease)
    assert bench.started("n") == []
    bench.go_on("m")
    bench.pause_ms(4_000)
    assert concurrent(bench) == []
    assert bench.started("n") == []
    assert bench.started("m") == list(range(len(bench.started("m"))))


def test_two_members_of_one_name_both_own_the_lock(lab, mode):
    """The lock goes by the name."""
    bench = working(lab, mode)
    first = len(bench.started("m"))
    bench.start("m").pause_ms(2_000)
    assert len(bench.started("m")) > first
    assert concurrent(bench)


def test_a_revoke_is_forced_upon_a_slow_listener_in_the_newer_version_only(lab, mode):
    """If the listener has more left than half a second, or 25 ms scaled, and the last renewal is old."""
    work_ms = 3_200
    bench = GroupBench(lab, mode, work_ms=work_ms)
    bench.produce(3)
    bench.start("m").until(lambda: bench.started("m"))
    bench.pause_ms(1_500)
    bench.start("a")  # the partition is its own now
    took_ms = takes_over(bench, "a")
    assert bool(concurrent(bench)) is (mode == "rocketmq-5.3")
    if mode == "rocketmq-5.3":
        assert took_ms <= bench.times_ms.forced_unlock + 2 * bench.times_ms.rebalance
    else:
        assert took_ms > work_ms - 1_500


def test_a_partition_that_waits_for_its_listener_is_renewed_in_the_older_version_only(lab, mode):
    """4.9 looks up its locks without asking whether a queue was dropped, so nobody else gets it meanwhile."""
    bench = GroupBench(lab, mode)
    bench.work_ms = 4 * bench.times_ms.lease
    bench.produce(3)
    bench.start("m").until(lambda: bench.started("m"))
    bench.start("a").until(lambda: bench.told.of("assign", member="m")[-1].status == "revoked")
    revoked_ms = bench.told.of("assign", member="m")[-1].time_ms
    takes_over(bench, "a", most_ms=2 * bench.work_ms)
    renewed = [each for each in bench.told.of("renew", member="m") if each.time_ms > revoked_ms]
    assert bool(renewed) is (mode == "rocketmq-4.9")
    assert bool(concurrent(bench)) is (mode == "rocketmq-5.3")


def test_a_stop_unlocks_a_partition_that_waits_for_its_listener_in_the_older_version_only(lab, mode):
    """The same look-up: in 5.3 nobody renews such a lock and nobody frees it, so it lasts for the rest of its lease."""
    bench = GroupBench(lab, mode, work_ms=60_000)
    bench.produce(3)
    bench.start("m").until(lambda: bench.told.of("renew", member="m"))
    bench.start("a").until(lambda: bench.told.of("assign", member="m")[-1].status == "revoked")
    renewed_ms = bench.told.of("renew", member="m")[-1].time_ms
    bench.close("m")
    took_ms, times = takes_over(bench, "a"), bench.times_ms
    if mode == "rocketmq-5.3":
        assert renewed_ms + times.lease < bench.now_ms() <= renewed_ms + times.lease + times.rebalance
    else:
        assert took_ms <= times.renew + times.rebalance
