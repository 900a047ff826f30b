"""Keys, buckets, settings and the mutex of the pipelined queue. Method: known vectors and values, no server."""

import mmh3
import pytest

from zonelab.cluster.sim.runtime import SimRuntime
from zonelab.engine.common.mutex import Mutex
from zonelab.engine.dyno.v2 import BUCKETS, PipelinedKeys, PipelinedQueue, PipelinedSettings, bucket_of


@pytest.mark.parametrize(("message_id", "bucket"), [("0", 31), ("1", 19), ("id1", 17), ("x001yx", 30)])
def test_an_id_is_in_the_bucket_that_the_originals_murmur3_gives(message_id, bucket):
    assert bucket_of(message_id) == bucket


def test_an_id_is_hashed_by_its_utf8_bytes():
    assert bucket_of("Nachricht-ü-消息") == mmh3.hash("Nachricht-ü-消息".encode(), 0, False) % BUCKETS


def test_ids_spread_over_all_buckets():
    counts = [0] * BUCKETS
    for number in range(3200):
        counts[bucket_of(f"message-{number}")] += 1
    assert min(counts) > 50
    assert max(counts) < 150


def test_every_key_of_a_shard_carries_its_hash_tag():
    keys = PipelinedKeys(prefix="p", queue="jobs", shard="a")
    assert keys.waiting == "p.QUEUE.{jobs.a}"
    assert (keys.payloads[0], keys.payloads[31]) == ("p.MSG.{jobs.a}.0", "p.MSG.{jobs.a}.31")
    assert (keys.leases[0], keys.leases[31]) == ("p.UNACK.{jobs.a}.0", "p.UNACK.{jobs.a}.31")
    assert (keys.payload_of("1"), keys.lease_of("id1")) == ("p.MSG.{jobs.a}.19", "p.UNACK.{jobs.a}.17")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prefix": ""}, "prefix must be a non-empty string, got ''"),
        ({"shard": ""}, "shard must be a non-empty string, got ''"),
        ({"unack_ms": 0}, "unack_ms must be at least 1, got 0"),
        ({"unack_interval_ms": -1}, "unack_interval_ms must be at least 1, got -1"),
        ({"poll_interval_ms": 0}, "poll_interval_ms must be at least 1, got 0"),
        ({"unack_batch": 0}, "unack_batch must be at least 1, got 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_the_value(changes, words):
    with pytest.raises(ValueError, match=words):
        PipelinedSettings(**{"prefix": "p", "shard": "a", **changes})


def test_a_queue_needs_a_name():
    settings = PipelinedSettings(prefix="p", shard="a")
    with pytest.raises(ValueError, match="name must be a non-empty string, got ''"):
        PipelinedQueue("", runtime=None, clock=None, quorum=None, local=None, settings=settings)


def test_a_mutex_lets_one_through_at_a_time_in_order_and_survives_a_cancelled_wait():
    runtime, order = SimRuntime(seed=1), []
    mutex = Mutex(runtime)

    async def work(name):
        async with mutex:
            order.append(f"{name} in")
            await runtime.sleep(10)
            order.append(f"{name} out")

    async def everybody():
        tasks = {}
        for name in "abcd":
            tasks[name] = runtime.spawn(work(name), name=name)
            await runtime.sleep(1)
        tasks["b"].cancel()
        await runtime.sleep(8)
        tasks["e"] = runtime.spawn(work("e"), name="e")  # while c has its turn from a
        for name in "acde":
            await tasks[name].join()
        await work("f")

    runtime.run_until_complete(everybody())
    assert order == [f"{name} {what}" for name in "acdef" for what in ("in", "out")]
