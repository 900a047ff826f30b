"""Timers and the dispatcher: when a bucket is looked at, which bucket a card goes to, and how a program stops.

Method: one simulated server and a dispatcher; simulated time passes while the tests wait.
"""

import pytest
from support.engine.gmq import GmqBench, Refusing, Tapped

from engine.message import Message
from engine.ports import Indeterminate, ServerError, Unavailable

BROKEN = ServerError("ERR broken")


def one_bucket(lab, compat, **settings):
    """It begins at 200 ms of a second, so its timer first looks at 1,200 ms; buckets of leases never matter."""
    bench = GmqBench(lab, compat=compat, buckets=1, ttr_buckets=1, **settings)
    bench.until_ms(200)
    return bench.start()


def ready_at_ms(bench, job_id, *, until_ms):
    """When the job was ready, to 10 ms; None if it was not."""
    while "R" not in bench.state(job_id):
        if bench.now_ms() >= until_ms:
            return None
        bench.pause_ms(10)
    return bench.now_ms()


def test_a_timer_sleeps_until_the_next_job_is_due(lab):
    """In the third second after that of the push, most of a second early."""
    bench = one_bucket(lab, compat=False)
    bench.until_ms(900)
    bench.push("x", delay_s=3)
    assert 3_000 <= ready_at_ms(bench, "x", until_ms=9_000) <= 3_020


@pytest.mark.parametrize(("compat", "most"), [(False, 15), (True, 3)], ids=["default", "compat"])
def test_an_idle_bucket_is_hardly_looked_at(lab, compat, most):
    watched = Tapped(lab.direct("a"))
    bench = GmqBench(lab, compat=compat, buckets=1, ttr_buckets=1).start(watched)
    bench.pause_ms(13_000)
    assert 1 <= watched.steps.count("due") / 2 <= most


def test_the_original_looks_a_second_after_a_push_wakes_an_idle_bucket(lab):
    bench = one_bucket(lab, compat=True)
    bench.until_ms(2_500)  # the first scan found nothing: the next is in a day
    bench.push("x", delay_s=1)
    assert 3_500 <= ready_at_ms(bench, "x", until_ms=9_000) <= 3_520


@pytest.mark.parametrize(("compat", "first_ms"), [(False, 3_000), (True, 6_300)], ids=["default", "compat"])
def test_a_job_due_before_a_scan_that_is_near_waits_for_it_in_the_original(lab, compat, first_ms):
    """A delay-1 job was delivered 4.40 s after its push, 3 of 3."""
    bench = one_bucket(lab, compat)
    bench.until_ms(300)
    bench.push("far", delay_s=6)  # the scan at 1,200 ms says 5 s
    bench.until_ms(2_200)
    bench.push("x", delay_s=1)
    assert first_ms - 120 <= ready_at_ms(bench, "x", until_ms=9_000) <= first_ms + 20


@pytest.mark.parametrize(("compat", "seconds"), [(False, 0), (True, 3)], ids=["default", "compat"])
def test_an_overdue_backlog_goes_by_two_hundred_a_second_in_the_original(lab, compat, seconds):
    bench = GmqBench(lab, compat=compat, buckets=1)
    bench.list_in(bench.keys.delay_bucket(0), *(f"j{number}" for number in range(700)), at_s=-10)
    bench.start()
    begin_ms = bench.now_ms()
    for second in range(seconds):
        bench.until_ms(begin_ms + 1_000 * second + 1_900)
        assert bench.ready() == 200 * (second + 1)
    bench.until_ms(begin_ms + 1_000 * seconds + 1_900)
    assert bench.ready() == 700


def test_seven_hundred_jobs_of_the_present_second_are_made_ready_together(either):
    either.list_in(either.keys.delay_bucket(0), *(f"j{number}" for number in range(700)), at_s=1)
    either.start()
    either.until_ms(1_500)
    assert either.ready() == 700


def test_a_card_goes_to_the_bucket_that_lists_the_fewest(either):
    either.list_in(either.keys.delay_bucket(0), "a", "b", at_s=90)
    either.start().pause_ms(10)
    either.push(*"cdef", delay_s=80)
    either.pause_ms(100)
    assert [either.redis("ZCARD", either.keys.delay_bucket(number)) for number in (0, 1, 2)] == [2, 2, 2]


def test_leases_spread_over_their_own_buckets(either):
    either.start().push(*"abc")
    either.pause_ms(10)
    either.pop(3)
    either.pause_ms(10)
    assert [either.redis("ZCARD", either.keys.ttr_bucket(number)) for number in (0, 1, 2)] == [1, 1, 1]


@pytest.mark.parametrize(("compat", "served"), [(False, ["x"]), (True, [])], ids=["default", "compat"])
def test_n1_a_scan_that_fails_after_an_idle_time_puts_the_bucket_to_sleep_in_the_original(lab, compat, served):
    """Though pushes go on being confirmed."""
    broken = Refusing(lab.direct("a"), "due", BROKEN, times=0)
    bench = GmqBench(lab, compat=compat, buckets=1).start(broken)
    bench.until_ms(5_000)
    broken.times = 2  # of the delay bucket, then of nobody: the buckets of leases are asleep
    bench.push("x", delay_s=1)
    bench.until_ms(8_000)
    bench.push("y", delay_s=1)
    bench.until_ms(600_000)
    assert bench.pop() == served


def test_a_scan_that_fails_otherwise_is_made_again(lab, compat):
    broken = Refusing(lab.direct("a"), "due", BROKEN, times=0)
    bench = GmqBench(lab, compat=compat, buckets=1, ttr_buckets=1).start(broken)
    bench.push("far", delay_s=3)
    bench.push("x", delay_s=2)
    bench.until_ms(1_500)
    broken.times = 1
    bench.until_ms(6_000)
    assert bench.pop(2) == ["x", "far"]


@pytest.mark.parametrize(("compat", "served"), [(False, ["x"]), (True, [])], ids=["default", "compat"])
def test_n4_a_delay_that_lua_writes_as_a_power_of_ten_loses_what_is_due(lab, compat, served):
    """The reply cannot be read, and the script has removed the due ids."""
    bench = one_bucket(lab, compat)
    bench.store("far", delay_s=10**15, status=1)
    bench.redis("ZADD", bench.keys.delay_bucket(0), 10**15 + 2 * 10**9, "far")
    bench.push("x", delay_s=1)
    bench.until_ms(30_000)
    assert (bench.pop(), bench.state()) == (served, "PT" if served else "P")


@pytest.mark.parametrize(("compat", "served"), [(False, ["a\0b"]), (True, [])], ids=["default", "compat"])
def test_n5_an_id_with_a_zero_byte_and_a_delay_is_lost_in_the_original(lab, compat, served):
    bench = GmqBench(lab, compat=compat).start()
    bench.push("a\0b", delay_s=1)
    bench.until_ms(9_000)
    assert bench.pop() == served


@pytest.mark.parametrize(("compat", "state"), [(False, "PR"), (True, "PD")], ids=["default", "compat"])
def test_n6_a_second_dispatcher_does_not_wake_for_what_the_first_stored_in_the_original(lab, compat, state):
    bench = GmqBench(lab, compat=compat).start()
    second = bench.program(cards=type(bench.cards)(lab.runtime))
    bench.run(second.start())
    bench.until_ms(2_500)
    bench.push("x", delay_s=2)
    bench.pause_ms(100)
    bench.run(bench.dispatcher.close())
    bench.until_ms(11_000)
    assert bench.state() == state


def test_n6_two_dispatchers_serve_each_job_once(either):
    second = either.program(cards=type(either.cards)(either.lab.runtime))
    either.start()
    either.run(second.start())
    ids = [f"j{number}" for number in range(30)]
    either.push(*ids, delay_s=2)
    either.pause_ms(9_000)
    assert either.ready() == 30


def test_a_stop_lets_the_scan_at_hand_make_its_jobs_ready(lab, compat):
    bench = GmqBench(lab, compat=compat, buckets=1)

    async def stop():
        lab.runtime.spawn(bench.dispatcher.close(), name="stop")

    bench.list_in(bench.keys.delay_bucket(0), *"abcde", at_s=1)
    bench.start(Tapped(bench.direct, "ready", stop, nth=2))
    bench.until_ms(4_000)
    assert bench.ready() == 5
    with pytest.raises(Unavailable):
        bench.push("x")


@pytest.mark.parametrize(("compat", "left"), [(False, "PR"), (True, "P")], ids=["default", "compat"])
def test_n2_a_push_under_way_when_the_dispatcher_stops_leaves_an_orphan_in_the_original(lab, compat, left):
    bench = GmqBench(lab, compat=compat).start()
    instance = bench.another(Tapped(bench.direct, "HMSET" if compat else "push", bench.dispatcher.close, after=True))
    outcome = bench.outcome(instance.push([Message(id="x")]))
    assert (bench.state(), outcome == "Indeterminate") == (left, compat)


@pytest.mark.parametrize(("compat", "left"), [(False, "PT"), (True, "P")], ids=["default", "compat"])
def test_n2_a_pop_under_way_when_the_dispatcher_stops_loses_its_job_in_the_original(lab, compat, left):
    bench = GmqBench(lab, compat=compat).start()
    bench.push("x")
    bench.pause_ms(10)
    instance = bench.another(Tapped(bench.direct, "RPOP", bench.dispatcher.close, after=True))
    outcome = bench.outcome(instance.pop(1))
    assert (bench.state(), outcome == "Indeterminate") == (left, compat)


def test_a_dispatcher_can_be_started_again(either):
    either.start().push("x", delay_s=3)
    either.pause_ms(100)
    either.run(either.dispatcher.close())
    either.until_ms(6_000)
    assert either.state() == "PD"
    either.start().until_ms(8_000)
    assert either.pop() == ["x"]


@pytest.mark.parametrize("error", [BROKEN, Indeterminate("no answer")], ids=["refused", "unanswered"])
@pytest.mark.parametrize(("name", "delay_s", "in_compat"), [("add", 2, "P"), ("ready", 0, "P")], ids=["bucket", "list"])
def test_a_write_of_the_dispatcher_that_fails_is_made_again_but_not_in_the_original(
    lab, compat, name, delay_s, in_compat, error
):
    """The push had been confirmed."""
    bench = GmqBench(lab, compat=compat).start(Refusing(lab.direct("a"), name, error, times=2))
    bench.push("x", delay_s=delay_s)
    bench.until_ms(9_000)
    assert bench.state() == (in_compat if compat else "PR")
