"""The life of a job: pushed, made ready by a timer, leased, finished or delivered again; times in whole seconds.

Method: one simulated server and a dispatcher; simulated time passes while the tests wait.
"""

import pytest
from support.engine.dyno import EPOCH_MS
from support.engine.gmq import GRACE_S, TTR_S, GmqBench, Tapped

from zonelab.engine.gmq import GmqSettings, JobStatus
from zonelab.engine.gmq.settings import SECONDS_MAX
from zonelab.engine.message import Message
from zonelab.engine.ports import ServerError, Unavailable

X = Message(id="x", payload="p", timeout_ms=2_000)


def test_a_job_goes_from_a_bucket_to_the_ready_list_to_a_bucket_and_out(either):
    either.start().until_ms(100)
    (receipt,) = either.push("x", delay_s=2)
    assert (receipt.id, receipt.shard, receipt.due_ms) == ("x", "jobs", EPOCH_MS + 2_100)
    either.until_ms(500)
    assert (either.state(), either.field("status"), either.pop()) == ("PD", "1", [])
    either.until_ms(2_500)
    assert (either.state(), either.field("status")) == ("PR", "2")
    delivery = either.taken()
    assert (delivery.message.id, delivery.message.payload) == ("x", "p")
    assert delivery.lease_end_ms == delivery.lease_start_ms + 1_000 * TTR_S
    either.pause_ms(100)
    assert (either.state(), either.field("status"), either.field("consume_num")) == ("PT", "1", "1")
    assert either.run(either.queue.ack(delivery)) is True
    assert either.state() == ("T" if either.compat else "")
    either.until_ms(20_000)
    assert (either.state(), either.pop()) == ("", [])


def test_what_is_not_finished_comes_again_three_seconds_after_its_time_to_run(either):
    either.start().push("x")
    either.pause_ms(100)
    for number in (1, 2, 3):
        assert either.pop() == ["x"]
        assert either.field("consume_num") == str(number)
        begin_ms = either.clock.now_ms() - EPOCH_MS
        either.until_ms(begin_ms + 1_000 * (TTR_S + GRACE_S - 1))
        assert either.pop() == []
        either.pause_ms(2_100)  # the original's timer of an idle bucket looks a second after the lease began


def test_without_time_to_run_a_job_is_delivered_at_most_once(lab, compat):
    bench = GmqBench(lab, ttr_s=0, compat=compat).start()
    bench.push("x")
    bench.pause_ms(100)
    delivery = bench.taken()
    assert (bench.state(), delivery.lease_end_ms) == ("", delivery.leased_ms)
    assert bench.run(bench.queue.ack(delivery)) is False
    bench.pause_ms(10_000)
    assert bench.pop() == []


@pytest.mark.parametrize(
    ("status", "consumed", "acked"),
    [
        (JobStatus.RESERVED, 0, True),
        (JobStatus.RESERVED, 2, True),
        (JobStatus.DELAY, 1, True),
        (JobStatus.DELAY, 0, False),
        (JobStatus.READY, 0, False),
        (JobStatus.READY, 1, False),
        (JobStatus.DEFAULT, 0, False),
    ],
)
def test_an_ack_ends_what_is_in_flight_and_nothing_else(either, status, consumed, acked):
    either.start().push("x")
    either.pause_ms(100)
    delivery = either.taken()
    either.pause_ms(10)
    either.store(status=int(status), consumed=consumed)
    assert either.run(either.queue.ack(delivery)) is acked
    assert ("P" in either.state()) is not acked


@pytest.mark.parametrize("delay_s", [0, 5])
def test_an_id_is_refused_as_long_as_its_job_is_there(either, delay_s):
    either.start().push("x", delay_s=delay_s)
    either.pause_ms(100)
    with pytest.raises(ServerError, match=r"^jobKey:gmq:jobpool:x,error:has exist$"):
        either.push("x")
    assert either.state() == ("PD" if delay_s else "PR")
    either.pause_ms(6_000)
    either.run(either.queue.ack(either.taken()))
    either.push("x")
    either.pause_ms(100)
    assert either.pop() == ["x"]


def test_a_pop_gives_the_topics_in_strict_order_and_each_first_in_first_out(lab, compat):
    bench = GmqBench(lab, topics=("urgent", "jobs"), compat=compat).start()
    for topic, ids in (("jobs", "ab"), ("urgent", "cd")):
        for each in ids:
            bench.store(each, topic=topic, status=2)
            bench.redis("LPUSH", bench.keys.ready(topic), each)
    assert bench.pop(3) == ["c", "d", "a"]


def test_a_message_is_of_the_first_topic(lab):
    bench = GmqBench(lab, topics=("urgent", "jobs")).start()
    (receipt,) = bench.push("x")
    bench.pause_ms(10)
    assert (receipt.shard, bench.field("topic"), bench.ready("urgent")) == ("urgent", "urgent", 1)


@pytest.mark.parametrize(("timeout_ms", "seconds"), [(-5, "0"), (0, "0"), (1, "1"), (1_000, "1"), (1_001, "2")])
def test_a_delay_is_rounded_up_to_seconds(either, timeout_ms, seconds):
    either.start()
    either.run(either.queue.push([Message(id="x", timeout_ms=timeout_ms)]))
    assert either.field("delay") == seconds


def test_a_pop_waits_until_there_is_a_job(either):
    either.start().push("x", delay_s=2)
    assert (either.pop(2, wait_ms=1_000), either.pop(2, wait_ms=3_000)) == ([], ["x"])


def test_a_pop_that_meets_a_job_that_is_gone_goes_on_with_the_next(bench):
    bench.start().push("x", "y")
    bench.pause_ms(10)
    bench.redis("DEL", bench.keys.job("x"))
    assert bench.pop(2) == ["y"]


def test_what_the_original_itself_wrote_is_read(either):
    """As its Redis holds it after a push of three jobs, one delayed, one ready and one in flight."""
    for job_id, status, consumed in (("7", 1, 0), ("8", 2, 0), ("9", 1, 1)):
        either.store(job_id, delay_s="+007" if job_id == "7" else 0, status=status, consumed=consumed)
    second = EPOCH_MS // 1_000
    either.redis("ZADD", "gmq:bucket:2", second + 3, "7")
    either.redis("LPUSH", "gmq:readyqueue:jobs", "8")
    either.redis("ZADD", "gmq:bucket:TTR:C", second + 5, "9")
    either.start()
    assert either.pop(3) == ["8"]
    either.until_ms(4_100)
    assert either.pop(3) == ["7"]
    either.until_ms(6_100)
    assert either.pop(3) == ["9"]
    assert either.redis("HGET", "gmq:jobpool:9", "consume_num") == b"2"


@pytest.mark.parametrize(
    ("compat", "pushed", "popped", "acked"),
    [
        (True, ["EXISTS", "HMSET"], ["RPOP", "HSET", "HGETALL", "HINCRBY"], ["HGETALL", "DEL"]),
        (False, ["push"], ["RPOP", "reserve"], ["ack"]),
    ],
    ids=["compat", "default"],
)
def test_every_operation_sends_so_many_commands(lab, compat, pushed, popped, acked):
    bench = GmqBench(lab, compat=compat).start()
    sent = Tapped(bench.direct)
    instance = bench.another(sent)
    bench.run(instance.push([Message(id="x")]))
    bench.pause_ms(100)
    (delivery,) = bench.run(instance.pop(1))
    bench.run(instance.ack(delivery))
    assert sent.steps == [*pushed, *popped, *acked]


def test_a_bucket_and_a_ready_list_are_written_by_the_dispatcher(either):
    sent = Tapped(either.direct)
    either.start(sent)
    either.push("x", delay_s=5)
    either.push("y")
    either.pause_ms(100)
    either.pop()
    either.pause_ms(100)
    own = [name for name in sent.steps if name != "ZCARD"]  # the size of each bucket, when it starts
    assert own == (["add", "HGETALL", "ready", "add"] if either.compat else ["add", "ready", "add"])


@pytest.mark.parametrize("operation", ["push", "pop"])
def test_without_a_dispatcher_nothing_is_pushed_or_popped(either, operation):
    either.redis("LPUSH", either.keys.ready("jobs"), "x")
    call = either.queue.push([X]) if operation == "push" else either.queue.pop(1)
    with pytest.raises(Unavailable, match="no dispatcher runs"):
        either.run(call)
    assert either.state() == "R"


def test_a_delay_out_of_range_is_refused_before_anything_is_sent(bench):
    with pytest.raises(ValueError, match=rf"timeout_ms must be at most {SECONDS_MAX}000, got {SECONDS_MAX}001"):
        bench.run(bench.queue.push([X, Message(id="y", timeout_ms=SECONDS_MAX * 1_000 + 1)]))
    assert bench.state() == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prefix": ""}, "prefix must be a non-empty string, got ''"),
        ({"topics": ()}, r"topics must be one or more distinct non-empty names, got \(\)"),
        ({"topics": ("a", "")}, "topics must be one or more distinct non-empty names"),
        ({"ttr_s": -1}, f"ttr_s must be 0..{SECONDS_MAX}, got -1"),
        ({"ttr_s": SECONDS_MAX + 1}, f"ttr_s must be 0..{SECONDS_MAX}, got {SECONDS_MAX + 1}"),
        ({"buckets": 0}, "buckets must be at least 1, got 0"),
        ({"ttr_buckets": 27}, "ttr_buckets must be 1..26, got 27"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        GmqSettings(**settings)
