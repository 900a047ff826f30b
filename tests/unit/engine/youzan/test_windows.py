"""Every window of the Youzan design and of ouqiang v0.4 ends as docs/youzan.md says.

Method: a connection that breaks at a command, or another program that comes in between, on one simulated server; then
what Redis holds of the job: P pool, B a bucket, R a list of ready jobs. Twice a letter is twice listed.
"""

import pytest
from support.cluster.sim_lab import simulated_lab
from support.engine.dyno import CuttingConnection, Interceptor
from support.engine.youzan import TTR_S, YouzanBench

from cluster.votes.levels import Level
from engine.message import Message
from engine.ports import Indeterminate, ServerError


def cut(bench, *, after, applied=1):
    """A connection of a program that dies after so many commands; by default the one after is still carried out."""
    connection = CuttingConnection(bench.direct)
    connection.cut(after_pipelines=after, applied=applied)
    return connection


def later_delivered(bench):
    bench.later_s(TTR_S)
    bench.tick()
    return bench.pop(5)


def ready(bench):
    bench.push("x")
    bench.tick()
    assert bench.state() == "PR"


def test_a_push_that_dies_after_the_pool_leaves_an_orphan_and_a_second_push_heals_it(either):
    with pytest.raises(Indeterminate):
        either.run(either.another(cut(either, after=0)).push([Message(id="x")]))
    assert (either.state(), later_delivered(either)) == ("P", [])
    either.push("x")
    assert later_delivered(either) == ["x"]


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_a_timer_that_dies_after_making_a_job_ready_doubles_it(lab, compat):
    bench = YouzanBench(lab, compat=compat, buckets=1, lock_ms=5)
    bench.push("x")
    bench.die_after("RPUSH", bucket=1)
    assert bench.state() == "PBR"
    bench.run(lab.runtime.sleep(10_000_000))
    bench.tick()
    assert bench.state() == "PRR"


@pytest.mark.parametrize("command", [0, 1], ids=["LPOP", "GET"])
def test_a_consumer_that_dies_before_its_lease_loses_the_job(either, command):
    ready(either)
    with pytest.raises(Indeterminate):
        either.run(either.another(cut(either, after=command)).pop(1))
    assert (either.state(), later_delivered(either)) == ("P", [])


def test_a_pop_that_breaks_later_gives_what_it_has(either):
    either.push("x", "y")
    either.tick()
    got = either.run(either.another(cut(either, after=3)).pop(2))
    assert len(got) == 1


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_a_timer_removes_the_lease_that_a_pop_wrote_into_its_bucket_meanwhile(lab, compat):
    """https://github.com/ouqiang/delay-queue/issues/19; the order of steps is the article's, too."""
    bench = YouzanBench(lab, compat=compat, buckets=1)
    bench.push("x")
    got = []

    async def pop():
        got.extend(await bench.queue.pop(1))

    bench.tick(bench.program("t0", Interceptor(bench.direct, "ZREM", pop)))
    assert ([each.message.id for each in got], bench.state()) == (["x"], "P")
    assert later_delivered(bench) == []


def test_with_several_buckets_the_lease_is_most_often_in_another(bench):
    bench.push("x")

    async def pop():
        assert await bench.queue.pop(1)

    bench.tick(bench.program("t0", Interceptor(bench.direct, "ZREM", pop)))
    assert (bench.state(), later_delivered(bench)) == ("PB", ["x"])


@pytest.mark.parametrize(
    ("compat", "name", "left"), [(False, "ZADD", "PBB"), (True, "ZREM", "PB")], ids=["default", "compat"]
)
def test_a_timer_that_dies_while_it_schedules_again_loses_nothing(lab, compat, name, left):
    """Only an overwritten job is scheduled again, and its second entry is in another bucket."""
    bench = YouzanBench(lab, compat=compat, buckets=2, lock_ms=5)
    bench.push("x", timeout_ms=1_000)
    bench.push("x", timeout_ms=3_000)
    bench.later_s(1)
    bench.die_after(name, bucket=2)
    assert bench.state() == left
    bench.later_s(2)
    bench.run(lab.runtime.sleep(10_000_000))
    bench.tick()
    assert "x" in bench.pop(5)


@pytest.mark.parametrize("compat", [False, True], ids=["default", "compat"])
def test_a_job_scheduled_again_into_its_own_bucket_stays_there(lab, compat):
    """The removal of the old entry must not take the new one, which is the old one with another score."""
    bench = YouzanBench(lab, compat=compat, buckets=1)
    bench.push("x", timeout_ms=1_000)
    bench.redis("ZADD", bench.keys.bucket(1), bench.clock.now_ms() // 1_000, "x")
    bench.tick()
    assert (bench.state(), bench.scores()) == ("PB", [1])


@pytest.mark.parametrize(("compat", "got"), [(False, ["y"]), (True, [])], ids=["default", "compat"])
def test_a_pop_that_meets_a_finished_job_goes_on_but_not_in_the_original(lab, compat, got):
    bench = YouzanBench(lab, compat=compat)
    ready(bench)
    bench.run(bench.queue.finish("x"))
    bench.push("y")
    bench.tick()
    assert bench.pop() == got


def test_a_late_finish_deletes_what_another_works_on(either):
    ready(either)
    (late,) = either.run(either.queue.pop(1))
    assert later_delivered(either) == ["x"]
    assert either.run(either.queue.ack(late)) is True
    assert later_delivered(either) == []


def test_an_id_pushed_again_with_another_delay_comes_once_too_often(either):
    either.push("x", timeout_ms=1_000)
    either.push("x", timeout_ms=3_000)
    either.later_s(1)
    either.tick()
    either.later_s(2)
    either.tick()
    assert either.state() == "PRR"


@pytest.mark.parametrize(("compat", "state"), [(False, "PR"), (True, "PRR")], ids=["default", "compat"])
def test_two_programs_of_timers_make_a_job_ready_twice_unless_there_is_a_lock(lab, compat, state):
    bench = YouzanBench(lab, compat=compat, buckets=1)
    bench.push("x")
    other = bench.program("t2")

    async def scan_too():
        await other.scan(1)

    bench.tick(bench.program("t1", Interceptor(bench.direct, "RPUSH", scan_too)))
    assert bench.state() == state


def test_a_lock_that_only_a_minority_of_zones_gave_is_given_back():
    """Of three programs that ask at the same time each may have it in one zone, and by its vote in none."""
    with simulated_lab("a", "b", "c", lag="0") as lab:
        bench = YouzanBench(lab, buckets=1)
        others = {zone: lab.direct(zone) for zone in "bc"}
        for zone, direct in others.items():
            lab.run(direct.execute(("SET", bench.keys.lock(1), f"of {zone}")))
        quorum = lab.connection("a", Level.DC_QUORUM)
        lab.run(quorum.execute(("ZADD", bench.keys.bucket(1), 0, "x")))
        lab.run(bench.program("t1", quorum).scan(1))
        assert bench.redis("EXISTS", bench.keys.lock(1)) == 0
        assert bench.redis("ZCARD", bench.keys.bucket(1)) == 1
        assert [lab.run(direct.execute(("GET", bench.keys.lock(1)))) for direct in others.values()] == [
            [b"of b"],
            [b"of c"],
        ]


def test_a_lock_shorter_than_a_scan_lets_two_scan(lab):
    bench = YouzanBench(lab, buckets=1, lock_ms=5)
    bench.push("x")
    other = bench.program("t2")

    async def scan_too():
        await lab.runtime.sleep(10_000_000)
        await other.scan(1)

    bench.tick(bench.program("t1", Interceptor(bench.direct, "RPUSH", scan_too)))
    assert bench.state() == "PRR"


def test_whoever_is_late_leaves_the_lock_of_another(lab):
    bench = YouzanBench(lab, buckets=1, lock_ms=5)
    bench.push("x")

    async def lose_lock():
        bench_lock = ("SET", bench.keys.lock(1), "t2")
        await bench.direct.execute(bench_lock)

    bench.tick(bench.program("t1", Interceptor(bench.direct, "ZREM", lose_lock)))
    assert bench.redis("GET", bench.keys.lock(1)) == b"t2"


@pytest.mark.parametrize(("lock_ms", "served"), [(5, ["x"]), (None, [])], ids=["with expiry", "without"])
def test_a_holder_that_dies_blocks_its_bucket_until_the_lock_ends(lab, lock_ms, served):
    bench = YouzanBench(lab, buckets=1, lock_ms=lock_ms)
    bench.push("x")
    bench.die_after("GET", bucket=1)
    bench.run(lab.runtime.sleep(10_000_000_000))
    bench.tick()
    assert bench.pop() == served


@pytest.mark.parametrize(("compat", "calls"), [(False, 1), (True, 3)], ids=["default", "compat"])
def test_a_job_that_cannot_be_read_is_asked_for_again_at_once_in_the_original(lab, compat, calls):
    bench = YouzanBench(lab, compat=compat, buckets=1)
    bench.push("x")
    asked = []

    class Failing:
        async def execute(self, *commands):
            if commands[0][0] == "GET":
                asked.append(commands)
                if len(asked) < 3:
                    raise ServerError("ERR no")
            return await bench.direct.execute(*commands)

    outcome = bench.outcome(bench.program("t0", Failing()).scan(1))
    assert (outcome, len(asked)) == (None if compat else "ServerError", calls)
    assert bench.redis("EXISTS", bench.keys.lock(1)) == 0
