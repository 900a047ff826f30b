"""Goal: one member consumes in order, and what its listener says has RocketMQ's effects. Method: simulated time."""

from dataclasses import replace

import pytest
from support.engine.fifo_group import GroupBench

from zonelab.engine.fifo.consumer.listener import ConsumeStatus
from zonelab.engine.fifo.consumer.offsets import COMMITS_MAX
from zonelab.engine.fifo.log.progress import Progress
from zonelab.engine.fifo.settings import Begin
from zonelab.engine.fifo.zones.dead_letters import DeadLetter


def failing(offset, *, times, said=ConsumeStatus.SUSPEND):
    """A handler that says so of the first ``times`` deliveries that begin at ``offset``."""
    left = [times]

    def handle(delivered, _handling):
        if delivered[0].offset == offset and left[0]:
            left[0] -= 1
            if isinstance(said, Exception):
                raise said
            return said
        return ConsumeStatus.SUCCESS

    return handle


def consumed(lab, mode, handle, *, messages=3, ends=None, **changes):
    """A bench whose one member has ended so many deliveries."""
    bench = GroupBench(lab, mode, work_ms=1, **changes)
    bench.handle = handle
    bench.produce(messages)
    bench.start("m").until(lambda: len(bench.finished()) >= (ends or messages))
    return bench


def pauses_ms(bench):
    """Between the end of each delivery and the begin of the next one."""
    starts, ends = bench.told.of("start"), bench.told.of("end")
    return [round(start.time_ms - end.time_ms, 3) for end, start in zip(ends, starts[1:], strict=False)]


def test_a_member_gets_every_message_once_and_in_order(lab, mode):
    bench = consumed(lab, mode, None, messages=40)
    assert bench.started() == list(range(40))
    bench.close("m")
    assert bench.cursor() == 40
    assert {each.attempt for each in bench.told.of("start")} == {1}


def test_what_fails_is_tried_again_after_a_pause_and_holds_up_the_rest(lab, mode):
    bench = consumed(lab, mode, failing(1, times=2), ends=5)
    assert bench.started() == [0, 1, 1, 1, 2]
    assert [each.attempt for each in bench.told.of("start")] == [1, 1, 2, 3, 1]
    assert pauses_ms(bench) == [0, bench.times_ms.suspend, bench.times_ms.suspend, 0]


@pytest.mark.parametrize("said", [RuntimeError("broken"), None])
def test_an_exception_and_no_answer_count_as_a_failure(lab, mode, said):
    bench = GroupBench(lab, mode)
    calls = []

    async def listen(delivered, _handling):
        calls.append(delivered[0].attempt)
        if len(calls) == 1 and said is not None:
            raise said
        return None if len(calls) == 1 else ConsumeStatus.SUCCESS

    bench.listener = listen
    bench.produce(1)
    bench.start("m").until(lambda: len(bench.finished()) == 2)
    assert calls == [1, 2]
    assert [each.status for each in bench.told.of("end")] == ["error", "success"]


@pytest.mark.parametrize(("wanted_ms", "pause_ms"), [(1, 10), (25, 25), (99_999, 1_500)])
def test_the_pause_that_a_listener_wants_is_clamped(lab, mode, wanted_ms, pause_ms):
    def handle(delivered, handling):
        handling.suspend_ms = wanted_ms
        return ConsumeStatus.SUSPEND if delivered[0].attempt == 1 else ConsumeStatus.SUCCESS

    bench = GroupBench(lab, mode)
    times = replace(bench.times_ms, suspend_least=10)
    bench = consumed(lab, mode, handle, messages=1, ends=2, times_ms=times)
    assert pauses_ms(bench) == [pause_ms]


@pytest.mark.parametrize("reconsumed_max", [0, 1, 2])
def test_after_one_delivery_more_than_the_maximum_a_message_is_dead(lab, mode, reconsumed_max):
    bench = consumed(
        lab, mode, failing(0, times=99), messages=2, ends=reconsumed_max + 2, reconsumed_max=reconsumed_max
    )
    assert bench.started() == [0] * (reconsumed_max + 1) + [1]
    newer = mode == "rocketmq-5.3"
    listed = bench.run(bench.zones(lab.direct("a")).dead_letters.listed(now_ms=2**50))
    assert listed == [DeadLetter(id="p1", partition="t/0", offset=0, attempts=reconsumed_max + newer)]
    at_once = bench.run(bench.zones(lab.direct("a")).dead_letters.listed(now_ms=lab.cluster.clock("a").now_ms()))
    assert bool(at_once) is newer  # the older one keeps it back for the delay of its level


def test_a_batch_of_which_one_fails_comes_again_as_a_whole(lab, mode):
    bench = consumed(lab, mode, failing(0, times=1), messages=4, ends=6, batch=2)
    assert bench.started() == [0, 1, 0, 1, 2, 3]


def by_hand(*said):
    """A handler that commits by hand and says this of one delivery after another."""
    answers = list(said)

    def handle(_delivered, handling):
        handling.commits_itself = False
        return answers.pop(0) if answers else ConsumeStatus.COMMIT

    return handle


def test_by_hand_a_success_commits_nothing(lab, mode):
    bench = consumed(lab, mode, by_hand(*[ConsumeStatus.SUCCESS] * 3))
    bench.close("m")
    assert bench.cursor() is None


def test_by_hand_a_commit_covers_what_succeeded_before(lab, mode):
    bench = consumed(lab, mode, by_hand(ConsumeStatus.SUCCESS, ConsumeStatus.COMMIT, ConsumeStatus.SUCCESS))
    bench.close("m")
    assert bench.cursor() == 2


def test_a_rollback_brings_all_back_since_the_last_commit_and_counts_no_attempt(lab, mode):
    said = (
        ConsumeStatus.COMMIT,
        ConsumeStatus.SUCCESS,
        ConsumeStatus.ROLLBACK,
        ConsumeStatus.SUCCESS,
        ConsumeStatus.COMMIT,
    )
    bench = consumed(lab, mode, by_hand(*said), ends=5, reconsumed_max=0)
    assert bench.started() == [0, 1, 2, 1, 2]
    assert {each.attempt for each in bench.told.of("start")} == {1}


def test_a_failure_by_hand_brings_only_its_own_batch_back(lab, mode):
    bench = consumed(lab, mode, by_hand(ConsumeStatus.SUCCESS, ConsumeStatus.SUSPEND, ConsumeStatus.COMMIT), ends=4)
    assert bench.started() == [0, 1, 1, 2]


@pytest.mark.parametrize("said", [ConsumeStatus.COMMIT, ConsumeStatus.ROLLBACK])
def test_where_commits_are_automatic_both_words_mean_success(lab, mode, said):
    bench = consumed(lab, mode, failing(0, times=1, said=said))
    assert bench.started() == [0, 1, 2]
    bench.close("m")
    assert bench.cursor() == 3


def test_a_unit_of_work_beyond_the_credit_stands_still(lab, mode):
    """Nothing is read any more, and nothing more comes after which the listener could commit."""
    unit = 41
    bench = GroupBench(lab, mode, work_ms=1, credit=20, pulled=10)
    bench.handle = by_hand(*[ConsumeStatus.SUCCESS] * (unit - 1))
    bench.produce(60)
    bench.start("m").pause_ms(5_000)
    assert bench.started() == list(range(30))


def test_after_its_slice_of_time_the_loop_pauses(lab, mode):
    times = replace(GroupBench(lab, mode).times_ms, slice=50, resume=7)
    bench = consumed(lab, mode, None, messages=120, times_ms=times)
    assert set(pauses_ms(bench)) == {0, 7}
    assert bench.started() == list(range(120))


@pytest.mark.parametrize(("begins", "first"), [(Begin.FIRST, 0), (Begin.LAST, 5)])
def test_a_group_without_a_cursor_begins_where_it_is_told_to(lab, mode, begins, first):
    bench = GroupBench(lab, mode, begins=begins)
    bench.produce(5)
    bench.start("m").pause_ms(3_000)
    bench.produce(2, first=5)
    bench.until(lambda: 6 in bench.finished())
    assert bench.started()[0] == first


def test_messages_that_come_while_a_member_waits_are_served(lab, mode):
    bench = GroupBench(lab, mode, work_ms=1, partitions=3)
    bench.start("m").pause_ms(3_000)
    bench.produce(5)
    bench.until(lambda: len(bench.finished()) == 5, most_ms=100)


class Watching:
    def __init__(self):
        self.heard = []

    def before(self, _partition, messages):
        self.heard.append([each.offset for each in messages])
        raise RuntimeError("lost")

    def after(self, handled):
        self.heard.append((str(handled.returned), handled.success))


@pytest.mark.parametrize(
    ("said", "returned", "ok"),
    [
        (ConsumeStatus.SUCCESS, "success", 2),
        (ConsumeStatus.SUSPEND, "failed", 1),
        (None, "returned null", 1),
        (ValueError("broken"), "exception", 1),
    ],
)
def test_hooks_hear_of_each_batch_and_what_is_ok_failed_and_how_long_it_took_is_counted(lab, said, returned, ok):
    bench = GroupBench(lab, "rocketmq-5.3")
    answers = [ConsumeStatus.SUCCESS, said]

    async def listen(_delivered, _handling):
        await lab.runtime.sleep(10_000_000)
        answer = answers.pop(0) if answers else ConsumeStatus.SUCCESS
        if isinstance(answer, Exception):
            raise answer
        return answer

    bench.hooks, bench.listener = [Watching()], listen
    bench.produce(2)
    bench.start("m").until(lambda: len(bench.finished()) == 2)
    assert bench.hooks[0].heard[:4] == [[0], ("success", True), [1], (returned, ok == 2)]
    counted = bench.programs["m"][0].statistics
    assert (counted.ok, counted.failed, counted.consumed_ms.count, counted.consumed_ms.total) == (ok, 2 - ok, 2, 20)


def test_a_cursor_beyond_the_end_of_a_log_is_put_there_and_consuming_goes_on(lab, mode):
    bench = GroupBench(lab, mode)
    bench.produce(3)
    bench.run(bench.logs.commit(bench.partition, "group", Progress(7)))
    bench.start("m").until(lambda: bench.cursor() == 3)
    bench.produce(6, first=3)
    bench.until(lambda: len(bench.finished()) == 6)
    assert bench.finished() == [3, 4, 5, 6, 7, 8]


class _SlowCommits:
    """A connection that counts the commits on it, whose answers come only when ``answer`` is called."""

    def __init__(self, inner, runtime):
        self._inner, self._runtime = inner, runtime
        self._answered = runtime.promise()
        self.under_way = self.most = 0

    async def execute(self, *commands):
        if not any(command[0] == "HSET" for command in commands):
            return await self._inner.execute(*commands)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        if not self._answered.done():
            await self._answered
        self.under_way -= 1
        return await self._inner.execute(*commands)

    def answer(self):
        self._answered.set_result(None)


def test_commits_without_an_answer_are_bounded_and_the_newest_cursor_is_written_when_they_are_answered(lab, mode):
    bench = GroupBench(lab, mode, work_ms=1)
    slow = _SlowCommits(lab.direct("a"), lab.runtime)
    bench.start("m", slow)
    for number in range(3 * COMMITS_MAX):
        bench.produce(1, first=number)
        bench.pause_ms(bench.times_ms.flush)
    assert slow.most == COMMITS_MAX
    slow.answer()
    bench.until(lambda: bench.cursor() == 3 * COMMITS_MAX, most_ms=bench.times_ms.flush // 2)
