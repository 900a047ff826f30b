"""Windows of consumers: standing still, hand-over, cursors, attempts, dead letters, who is in the group."""

from support.engine.fifo import NS_PER_MS, Unsteady

from zonelab.cluster.clock import NodeClock
from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.settings import Begin
from zonelab.engine.ports import Unavailable
from zonelab.scenarios.faults.seen import MEMBERS, runs

SLOW_MS = 3_200


def w01_zombie_consumer(stage):
    stage.frozen().takes_over().pause_ms(500)
    stage.go_on("m")
    stage.pause_ms(300)
    return stage.says()


def w02_in_flight_at_revoke(stage):
    return stage.working().joins("a").takes_over("a").says()


def w03_forced_unlock(stage):
    return _joined_beside(stage, SLOW_MS)


def w03_listener_beyond_the_lease(stage):
    return _joined_beside(stage, 4 * stage.times_ms.lease)


def _joined_beside(stage, work_ms):
    stage.work_ms = work_ms
    stage.produce(3)
    stage.joins().until(lambda: stage.started("m"))
    stage.pause_ms(1_500)
    stage.joins("a").takes_over("a").until(lambda: stage.finished("m"))
    return stage.says()


def w04_unlock_before_offset(stage):
    stage.working().joins("n").pause_ms(3_000)
    stage.late("m", "HSET", 1_500)
    stage.pause_ms(1_000)
    stage.in_mid_message().close("m")
    stage.takes_over("n").pause_ms(3_000)
    return stage.says()


def w05_late_unlock(stage):
    stage.working()
    in_time = stage.late("m", "unlock", 4_000)
    stage.joins("a").pause_ms(400)
    stage.kill("a")
    in_time()
    stage.work_ms, known = 1_500, len(stage.started("m"))
    stage.until(lambda: len(stage.started("m")) > known, most_ms=20_000)
    stage.until(lambda: stage.told.of("release", member="m"), most_ms=20_000)
    stage.in_mid_message().joins("b").takes_over("b").pause_ms(2_000)
    return stage.says()


def w06_lock_table_lost(stage):
    """As a broker that was killed: its locks and members were in memory, log and cursors on its disk."""
    stage.produce(20)
    stage.joins().until(lambda: stage.finished("m"))
    stage.work_ms, group = 1_500, stage.settings.group
    stage.next_message()
    lost = [stage.keys.lock(stage.partition, group), stage.keys.members(group), stage.keys.membership(group)]
    stage.run(stage.lab.direct("a").execute(("DEL", *lost)))
    stage.joins("a").until(lambda: stage.told.of("grant", member="a"))
    granted = stage.told.of("grant", member="a")[0].outcome == "ok" and stage.works("m")
    stage.pause_ms(5_000)
    return stage.says("a gets the lock while m works" if granted else "a is refused while m works")


def w08_renewal_lost(stage):
    stage.working().joins("n")
    renewed = stage.late("m", "lock", 5_000)
    stage.pause_ms(5_000)
    renewed()
    stage.pause_ms(4_000)
    return stage.says()


def w09_stale_cache_after_regain(stage):
    stage.frozen()
    known = len(stage.started("m"))
    stage.takes_over().pause_ms(1_000)
    stage.go_on("m")
    stage.until(lambda: len(stage.started("m")) > known)
    behind = stage.finished("n")[-1] - stage.started("m")[known]
    stage.pause_ms(500)
    return stage.says(f"m begins {behind} behind n")


def w10_zombie_commit(stage):
    stage.frozen().takes_over().pause_ms(1_000)
    reached = stage.cursor()
    stage.go_on("m")
    least = reached
    for _ in range(50):
        stage.pause_ms(10)
        least = min(least, stage.cursor())
    return stage.says(f"the cursor falls by {reached - least}")


def w17_crash_before_flush(stage):
    stage.produce(20)
    stage.joins().until(lambda: len(stage.finished("m")) == 15)
    stage.joins("n")
    stage.kill("m")
    return stage.takes_over().until(lambda: stage.finished("n")[-1:] == [19]).says()


def _fails(*offsets):
    return lambda delivered, _: ConsumeStatus.SUSPEND if delivered[0].offset in offsets else ConsumeStatus.SUCCESS


def w18_poison_message(stage):
    stage.handle = _fails(3)
    stage.produce(10, keys="kl")
    stage.joins().pause_ms(10_000)
    return stage.says(f"{stage.started().count(3)} attempts", f"finished up to {max(stage.finished('m'))}")


def w19_attempts_forgotten(stage):
    stage.handle = _fails(3)
    stage.produce(10)
    for name in "mno":
        stage.joins(name).until(lambda name=name: stage.started(name).count(3) == 3 or stage.told.of("dead_letter"))
        stage.kill(name)
    return stage.says(f"{stage.started().count(3)} attempts, {len(stage.told.of('dead_letter'))} dead letters")


def w20_dead_letter_then_crash(stage):
    stage.handle = _fails(3)
    stage.produce(10)
    stage.joins().until(lambda: stage.told.of("dead_letter"))
    stage.kill("m")
    stage.joins("n").until(lambda: stage.finished("n")[-1:] == [9])
    return stage.says(f"{len(stage.told.of('dead_letter'))} dead letters of one message")


def w21_dead_letter_leaves_a_hole(stage):
    stage.handle = _fails(3)
    stage.produce(10)
    stage.joins().until(lambda: stage.finished("m")[-1:] == [9])
    return stage.says("later ones of its key are handled without it")


def w22_hung_listener(stage):
    stage.work_ms = 120_000
    stage.produce(5, keys="kl")
    stage.joins().until(lambda: stage.started("m"))
    stage.joins("n").pause_ms(20_000)
    return stage.says()


def w23_owner_not_in_its_own_list(stage):
    stage.working()
    known = len(stage.started("m"))
    view = stage.views["m"]
    hidden = view.alter(
        stage.lab.runtime, concerns=runs(MEMBERS), heard=lambda reply: [name for name in reply if name != b"m"]
    )
    stage.joins("z").until(lambda: stage.told.of("assign", member="m")[-1].status == "revoked", most_ms=5_000)
    stage.pause_ms(1_500)
    view.mend(hidden)
    begin_ms = stage.now_ms()
    known = len(stage.started("m"))
    stage.until(lambda: len(stage.started("m")) > known)
    return stage.says(f"nothing for {stage.now_ms() - begin_ms + 1_500:.0f} ms")


def w24_dropped_and_assigned_again(stage):
    stage.work_ms = 400
    stage.produce(50)
    stage.joins().until(lambda: stage.finished("m"))
    stage.in_mid_message()
    stage.joins("a").pause_ms(60)
    stage.kill("a")
    known, begin_ms = len(stage.started("m")), stage.now_ms()
    stage.until(lambda: len(stage.started("m")) > known + 1, most_ms=30_000)
    return stage.says(f"goes on after {stage.now_ms() - begin_ms:.0f} ms")


def w25_one_name_twice(stage):
    stage.working()
    stage.joins("m").pause_ms(2_000)
    return stage.says()


def w26_clock_steps(stage):
    own = NodeClock(epoch_ns=0, run_ns=stage.lab.runtime.now_ns)

    class Members:
        now_ms = staticmethod(lambda: own.now_ns() // NS_PER_MS)

    stage.work_ms = 2_000
    stage.produce(10)
    stage.joins(clock=Members).until(lambda: stage.finished("m"))
    stage.in_mid_message()
    stage.lab.cluster.clock("a").jump(stage.times_ms.lease * NS_PER_MS + NS_PER_MS)
    stage.joins("a", clock=Members).takes_over("a").pause_ms(2_000)
    return stage.says()


def w27_beginning_looked_up_twice(stage):
    stage.produce(5)
    stage.joins(begins=Begin.LAST).until(lambda: stage.told.of("grant"))
    stage.produce(3, first=5)
    stage.pause_ms(3_000)
    return stage.says(f"of 3 sent after the grant it begins {len(stage.started('m'))}")


def w28_cursor_not_readable(stage):
    stage.working().pause_ms(1_000)
    stage.close("m")
    first = stage.cursor()
    plan = [None] * 3 + [Unavailable("no answer")] * 4
    stage.start("n", Unsteady(stage.lab.direct("a"), stage.lab.runtime, *plan, applied=False))
    stage.takes_over()
    return stage.says("goes on at the cursor" if stage.started("n")[0] == first else "begins elsewhere")


def _by_hand(every):
    def handle(delivered, handling):
        handling.commits_itself = False
        return ConsumeStatus.COMMIT if delivered[0].offset % every == every - 1 else ConsumeStatus.SUCCESS

    return handle


def w29_unit_beyond_the_credit(stage):
    stage.handle = _by_hand(50)
    stage.produce(60, keys="kl")
    stage.joins(credit=20).pause_ms(15_000)
    return stage.says(f"{len(stage.finished('m'))} of a unit of 50 finished")


def w32_reset_while_it_works(stage):
    stage.working()
    stage.run(stage.logs.commit(stage.partition, stage.settings.group, Progress(0)))
    moved = stage.cursor()
    stage.joins("n").pause_ms(3_000)
    stage.kill("m")
    stage.takes_over().pause_ms(200)
    return stage.says(f"the reset cursor {moved} is overwritten: n begins at {stage.started('n')[0]}")


def w33_batch_fails_in_part(stage):
    failed = []

    def handle(delivered, _):
        if delivered[-1].offset == 3 and not failed:
            failed.append(True)
            return ConsumeStatus.SUSPEND
        return ConsumeStatus.SUCCESS

    stage.handle = handle
    stage.produce(8)
    stage.pause_ms(50)
    stage.joins(batch=4).until(lambda: stage.finished("m")[-1:] == [7])
    return stage.says(f"{stage.started().count(0)} deliveries of the first of the batch")


def w34_rollback_for_ever(stage):
    def handle(delivered, handling):
        handling.commits_itself = False
        return ConsumeStatus.ROLLBACK

    stage.handle = handle
    stage.produce(5)
    stage.joins().pause_ms(10_000)
    return stage.says(f"{stage.started().count(0)} deliveries, {len(stage.told.of('dead_letter'))} dead letters")


def w35_second_timer_locks_again(stage):
    stage.working().joins("n").pause_ms(3_000)
    stage.late("m", "leave", 1_200)
    closing = stage.lab.runtime.spawn(stage.programs["m"][0].close(), name="close")
    return stage.takes_over(most_ms=30_000).says(f"closed: {closing.done()}")


PHASED = ("w01_zombie_consumer", "w09_stale_cache_after_regain", "w10_zombie_commit")
"""Courses that depend on when, between two renewals and two flushes, a member stands still."""

MAX_2 = {"reconsumed_max": 2}
SETTINGS = {
    w18_poison_message: {"wait_ms": 5_000},
    w19_attempts_forgotten: {"reconsumed_max": 4},
    w20_dead_letter_then_crash: MAX_2,
    w21_dead_letter_leaves_a_hole: MAX_2,
    w22_hung_listener: {"wait_ms": 5_000},
    w24_dropped_and_assigned_again: {"wait_ms": 4_000},
    w29_unit_beyond_the_credit: {"wait_ms": 5_000},
    w33_batch_fails_in_part: {"batch": 4},
    w34_rollback_for_ever: {"wait_ms": 5_000, **MAX_2},
}
COURSES = {name: course for name, course in list(globals().items()) if name.startswith("w") and name[1:3].isdigit()}
