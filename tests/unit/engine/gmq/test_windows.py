"""Every window of gmq v1.0 ends as docs/gmq.md says, and the default mends those that are defects.

Method: a program that dies at a command, a command that fails, or another program that comes in between, on one
simulated server; then what Redis holds of the job: P pool, D a delay bucket, T a TTR bucket, R a list of ready jobs.
"""

import pytest
from support.engine.dyno import CuttingConnection
from support.engine.gmq import TTR_S, GmqBench, Refusing, Tapped

from engine.message import Message
from engine.ports import Indeterminate, ServerError

X = Message(id="x", payload="p")
MINUTE_MS = 60_000


class Killed(BaseException):
    """The end of a program."""


async def die():
    raise Killed


def killed_at(bench, name, *, nth=1):
    """A connection of a dispatcher that is killed just before its nth such step."""
    return Tapped(bench.direct, name, die, nth=nth)


def cut(bench, *, after, applied=1):
    """A connection of a program that dies after so many commands; by default the one after is still carried out."""
    connection = CuttingConnection(bench.direct)
    connection.cut(after_pipelines=after, applied=applied)
    return connection


def ready(bench, *ids):
    """A bench with ready jobs."""
    bench.start().push(*(ids or "x"))
    bench.pause_ms(10)
    return bench


def test_a_push_that_dies_after_the_pool_leaves_an_orphan_whose_id_is_refused(either):
    either.start()
    steps = 1 if either.compat else 0
    with pytest.raises(Indeterminate):
        either.run(either.another(cut(either, after=steps)).push([X]))
    with pytest.raises(ServerError, match="has exist"):
        either.push("x")
    either.until_ms(MINUTE_MS)
    assert (either.state(), either.pop()) == ("P", [])


@pytest.mark.parametrize(("delay_s", "name"), [(0, "ready"), (2, "add")])
def test_a_confirmed_push_is_lost_if_the_dispatcher_is_killed_before_it_writes(either, delay_s, name):
    either.start(killed_at(either, name))
    assert either.push("x", delay_s=delay_s)
    either.pause_ms(10)
    assert either.state() == "P"
    either.dispatcher = either.program()
    either.start().until_ms(MINUTE_MS)
    assert (either.state(), either.pop()) == ("P", [])


def test_a_dispatcher_that_is_killed_during_a_scan_loses_the_rest_of_it(either):
    """Each id is in no bucket any more and in no list yet."""
    either.list_in(either.keys.delay_bucket(0), *"abcde", at_s=1)
    either.start(killed_at(either, "ready", nth=3))
    either.until_ms(3_000)
    either.dispatcher = either.program()
    either.start().until_ms(MINUTE_MS)
    assert [either.state(each) for each in "abcde"] == ["PR", "PR", "P", "P", "P"]


def test_what_is_left_of_the_dead_leaves_its_successor_alone(bench):
    """The dispatcher dies at ``y``; its bucket comes to its next command only when it tries to write ``x`` again."""
    busy = Refusing(Tapped(bench.direct, "add", die), "add", ServerError("ERR busy"))
    bench.start(Tapped(busy, "ready", die))
    bench.push("x", delay_s=2)
    bench.push("y")
    bench.pause_ms(100)
    bench.dispatcher = bench.program()
    bench.start().pause_ms(2_000)
    bench.push("z")
    bench.pause_ms(100)
    assert bench.pop() == ["z"]


def test_a_scan_whose_reply_is_lost_loses_its_jobs(either):
    either.list_in(either.keys.delay_bucket(0), "a", at_s=1)
    either.start(Refusing(either.direct, "due", Indeterminate("no answer"), times=6, applied=True))
    either.until_ms(MINUTE_MS)
    assert either.state("a") == "P"


def test_an_ack_before_its_job_is_made_ready_leaves_a_stub_in_the_original(lab, compat):
    """Between HGETALL and the script of a job whose lease has ended."""
    bench = GmqBench(lab, compat=compat)
    bench.store(status=1, consumed=1)
    bench.redis("ZADD", bench.keys.ttr_bucket(0), 0, "x")

    async def finish():
        await bench.direct.execute(("DEL", bench.keys.job("x")))

    bench.start(Tapped(bench.direct, "ready", finish))
    bench.until_ms(3_000)
    assert bench.state() == ("PR" if compat else "")
    assert bench.field("status") == ("2" if compat else None)
    assert bench.outcome(bench.queue.pop(1)) == ("Indeterminate" if compat else [])


@pytest.mark.parametrize("after", [0, 1])
def test_a_consumer_that_dies_before_its_lease_loses_the_job_whatever_its_time_to_run(either, after):
    ready(either)
    with pytest.raises(Indeterminate):
        either.run(either.another(cut(either, after=after)).pop(1))
    either.until_ms(MINUTE_MS)
    assert (either.state(), either.pop()) == ("P", [])


def test_a_consumer_that_dies_after_its_lease_is_written_gets_it_back(original):
    ready(original)
    with pytest.raises(Indeterminate):
        original.run(original.another(cut(original, after=3, applied=None)).pop(1))
    original.pause_ms(1_000 * (TTR_S + 5))
    assert (original.pop(), original.field("consume_num")) == (["x"], "1")


def test_a_lease_whose_card_was_taken_is_lost_if_the_dispatcher_is_killed(either):
    """The consumer has the job, and dies, too."""
    ready(either.start(killed_at(either, "add")))
    assert either.pop() == ["x"]
    either.pause_ms(10)
    either.dispatcher = either.program()
    either.start().until_ms(MINUTE_MS)
    assert (either.state(), either.pop()) == ("P", [])


def test_a_pop_that_breaks_later_gives_what_it_has(either):
    ready(either, *"xyz")
    steps = 4 if either.compat else 2
    assert len(either.run(either.another(cut(either, after=steps)).pop(3))) == 1


def test_a_pop_of_a_job_that_is_gone_is_an_error_and_leaves_a_stub_in_the_original(lab, compat):
    bench = ready(GmqBench(lab, compat=compat), *"xy")
    bench.redis("DEL", bench.keys.job("x"))
    outcome = bench.outcome(bench.queue.pop(2))
    assert (outcome == "Indeterminate") is compat
    assert (bench.state("y") == "PR") is compat
    assert bench.field("status") == ("3" if compat else None)


def test_n8_an_ack_before_the_delivery_is_counted_leaves_a_stub_in_the_original(original):
    ready(original)

    async def finish():
        await original.direct.execute(("DEL", original.keys.job("x")))

    original.run(original.another(Tapped(original.direct, "HINCRBY", finish)).pop(1))
    assert (original.redis("HGETALL", original.keys.job("x"))) == [b"consume_num", b"1"]


@pytest.mark.parametrize(("compat", "left"), [(False, "PR"), (True, "PRR")], ids=["default", "compat"])
def test_of_two_pushes_of_one_id_at_once_both_are_confirmed_in_the_original(lab, compat, left):
    """With its delay 0 the id stands in the list twice."""
    bench = GmqBench(lab, compat=compat).start()

    async def push_too():
        await bench.another().push([X])

    outcome = bench.outcome(bench.another(Tapped(bench.direct, "HMSET" if compat else "push", push_too)).push([X]))
    bench.pause_ms(10)
    assert (bench.state(), outcome == "ServerError") == (left, not compat)


@pytest.mark.parametrize(("compat", "served"), [(False, ["x"]), (True, [])], ids=["default", "compat"])
def test_a_lease_written_over_an_old_entry_of_its_bucket_loses_a_delayed_job_in_the_original(lab, compat, served):
    """ZADD answers 0, so the status stays 3, which the scan takes and the list refuses."""
    bench = GmqBench(lab, ttr_buckets=1, compat=compat).start()
    bench.push("x", delay_s=1)
    bench.until_ms(5_000)
    bench.redis("ZADD", bench.keys.ttr_bucket(0), 10**10, "x")
    assert bench.pop() == ["x"]
    bench.pause_ms(10)
    bench.redis("ZADD", bench.keys.ttr_bucket(0), 0, "x")
    bench.push("wake")
    bench.run(bench.dispatcher.close())
    bench.start().pause_ms(3_000)
    assert bench.pop(2) == ["wake", *served]


@pytest.mark.parametrize(("compat", "early"), [(False, False), (True, True)], ids=["default", "compat"])
def test_the_lease_of_an_id_s_former_life_releases_its_next_job_early_in_the_original(lab, compat, early):
    bench = ready(GmqBench(lab, ttr_s=1, compat=compat))
    bench.run(bench.queue.ack(bench.taken()))
    bench.pause_ms(10)
    bench.run(bench.queue.push([Message(id="x", timeout_ms=60_000)]))
    bench.until_ms(9_000)
    assert ("R" in bench.state()) is early


def test_a_late_ack_ends_what_another_works_on(either):
    ready(either)
    late = either.taken()
    either.pause_ms(1_000 * (TTR_S + 5))
    assert either.run(either.queue.ack(late)) is False  # ready again: refused
    assert either.pop() == ["x"]
    either.pause_ms(10)
    assert either.run(either.queue.ack(late)) is True
    either.until_ms(MINUTE_MS)
    assert either.pop() == []
