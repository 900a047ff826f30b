"""The life of a job: added, made ready by a timer, leased, finished or delivered again; times in whole seconds.

Method: scans by hand on one simulated server, with a clock that stands still.
"""

import pytest
from support.engine.dyno import EPOCH_MS, CuttingConnection
from support.engine.youzan import TTR_S, YouzanBench

from zonelab.engine.message import Message
from zonelab.engine.youzan import YouzanJob, YouzanSettings
from zonelab.engine.youzan.jobs import DELAY_S_MAX

X = Message(id="x", payload="p", timeout_ms=2_000)
DUE_S = EPOCH_MS // 1_000 + 2


def test_a_job_goes_from_a_bucket_to_the_ready_list_to_a_bucket_and_out(either):
    (receipt,) = either.push("x", timeout_ms=2_000)
    assert (receipt.id, receipt.shard, receipt.due_ms) == ("x", "jobs", EPOCH_MS + 2_000)
    either.tick()
    assert (either.state(), either.pop()) == ("PB", [])
    either.later_s(2)
    either.tick()
    assert either.state() == "PR"
    (delivery,) = either.run(either.queue.pop(1))
    assert (delivery.message.id, delivery.message.payload) == ("x", "p")
    assert delivery.lease_end_ms == EPOCH_MS + 2_000 + 1_000 * TTR_S
    assert (either.state(), either.scores()) == ("PB", [2 + TTR_S])
    assert either.run(either.queue.ack(delivery)) is True
    either.later_s(TTR_S)
    either.tick()
    assert either.state() == ""


def test_what_is_not_finished_comes_again_after_its_time_to_run(either):
    either.push("x")
    either.tick()
    assert either.pop() == ["x"]
    either.later_s(TTR_S - 1)
    either.tick()
    assert either.pop() == []
    either.later_s(1)
    either.tick()
    assert either.pop() == ["x"]


@pytest.mark.parametrize(("timeout_ms", "seconds"), [(-5, 0), (0, 0), (1, 1), (1_000, 1), (1_001, 2)])
def test_a_delay_is_rounded_up_to_seconds(bench, timeout_ms, seconds):
    bench.push("x", timeout_ms=timeout_ms)
    assert bench.scores() == [seconds]


def test_a_job_may_come_most_of_a_second_early(either):
    either.clock.advance(990)
    either.push("x", timeout_ms=1_000)
    either.clock.advance(10)
    either.tick()
    assert either.pop() == ["x"]


def test_buckets_are_filled_in_turn(bench):
    bench.push("x", "y", "z", timeout_ms=5_000)
    assert [bench.redis("ZCARD", bench.keys.bucket(number)) for number in (1, 2, 3)] == [1, 1, 1]


def test_a_pop_gives_the_topics_in_strict_order_and_each_first_in_first_out(lab):
    bench = YouzanBench(lab, topics=("urgent", "jobs"))
    for topic, ids in (("jobs", "ab"), ("urgent", "cd")):
        for each in ids:
            bench.redis(
                "SET", bench.keys.job(each), YouzanJob(id=each, topic=topic, due_s=0, ttr_s=1, body="").encode()
            )
            bench.redis("RPUSH", bench.keys.ready(topic), each)
    assert bench.pop(3) == ["c", "d", "a"]


def test_a_pop_waits_until_there_is_a_job(either):
    either.push("x")
    either.later(5, lambda: either.timers.scan(2))
    either.later(5, lambda: either.timers.scan(1))
    assert either.pop(2, wait_ms=50) == ["x"]


def test_a_pop_that_breaks_later_gives_what_it_has(either):
    either.push("x", "y")
    either.tick()
    connection = CuttingConnection(either.direct)
    connection.cut(after_pipelines=3, applied=1)
    assert len(either.run(either.another(connection).pop(2))) == 1


def test_finish_of_what_is_not_there_succeeds_in_the_original(bench, original):
    assert (bench.run(bench.queue.finish("no")), original.run(original.queue.remove("no"))) == (False, True)


def test_a_job_can_be_read_and_removed_while_it_waits(either):
    either.push("x", timeout_ms=2_000)
    got = either.run(either.queue.get("x"))
    assert (got.id, got.payload, got.topic, got.timeout_ms, got.lease_ms) == ("x", "p", "jobs", 2_000, TTR_S * 1_000)
    assert either.run(either.queue.remove("x")) is True
    assert either.run(either.queue.get("x")) is None
    either.later_s(2)
    either.tick()
    assert either.state() == ""


def test_push_sends_two_commands_and_pop_three(original):
    stored = YouzanJob(id="x", topic="jobs", due_s=DUE_S, ttr_s=TTR_S, body="p").encode()
    assert original.sent(lambda queue: queue.push([X])) == [
        ("Q", f"SET x {stored}"),
        ("Q", f"ZADD dq_bucket_2 {DUE_S} x"),
    ]
    original.later_s(2)
    original.tick()
    assert original.sent(lambda queue: queue.pop(1)) == [
        ("Q", "LPOP dq_queue_jobs"),
        ("Q", "GET x"),
        ("Q", f"ZADD dq_bucket_2 {DUE_S + TTR_S} x"),
    ]


def test_a_delay_that_the_original_refuses_is_refused_before_anything_is_sent(bench):
    with pytest.raises(ValueError, match=rf"timeout_ms must be at most {DELAY_S_MAX}000, got {DELAY_S_MAX}001"):
        bench.push("x", "y", timeout_ms=DELAY_S_MAX * 1_000 + 1)
    assert bench.state() == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prefix": ""}, "prefix must be a non-empty string, got ''"),
        ({"topics": ()}, r"topics must be one or more distinct non-empty names, got \(\)"),
        ({"topics": ("a", "")}, "topics must be one or more distinct non-empty names"),
        ({"ttr_s": 0}, "ttr_s must be 1..86400, got 0"),
        ({"ttr_s": 86_401}, "ttr_s must be 1..86400, got 86401"),
        ({"buckets": 0}, "buckets must be at least 1, got 0"),
        ({"lock_ms": 0}, "lock_ms must be at least 1, got 0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        YouzanSettings(**settings)


@pytest.mark.parametrize(("compat", "scan_ms"), [(False, 100), (True, 1_000)])
def test_the_original_scans_every_second(compat, scan_ms):
    assert YouzanSettings(compat=compat).scan_ms == scan_ms
    assert YouzanSettings(compat=compat, scan_interval_ms=7).scan_ms == 7
