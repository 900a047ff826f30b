"""Goal: a field of a hash ends at its time and nothing else does, also after a restart. Method: a clock that is set."""

import random

from zonelab.cluster.sim.redis import RedisModel


class Clock:
    def __init__(self):
        self.now_us = 1_700_000_000_000_000

    def __call__(self):
        return self.now_us

    def pass_ms(self, ms):
        self.now_us += ms * 1000


def model(clock, **options):
    return RedisModel(clock_us=clock, random=random.Random(1), **options)


def filled(clock, **options):
    redis = model(clock, **options)
    redis.execute(("HSET", "h", "f", "1", "g", "2"))
    assert redis.execute(("HPEXPIRE", "h", 100, "FIELDS", 1, "f")) == [1]
    return redis


def test_a_field_lives_through_its_last_millisecond():
    clock = Clock()
    redis = filled(clock)
    clock.pass_ms(100)
    assert redis.execute(("HGET", "h", "f")) == b"1"
    clock.pass_ms(1)
    assert redis.execute(("HGET", "h", "f")) is None
    assert redis.execute(("HGETALL", "h")) == [b"g", b"2"]
    assert redis.execute(("HPTTL", "h", "FIELDS", 2, "f", "g")) == [-2, -1]


def test_a_hash_without_fields_is_no_key():
    clock = Clock()
    redis = filled(clock)
    redis.execute(("HDEL", "h", "g"))
    clock.pass_ms(101)
    assert redis.execute(("HLEN", "h")) == 0
    assert redis.execute(("EXISTS", "h")) == 0


def test_a_field_that_is_set_anew_has_no_end_and_one_that_is_incremented_keeps_it():
    redis = filled(Clock())
    redis.execute(("HINCRBY", "h", "f", 4))
    assert redis.execute(("HPTTL", "h", "FIELDS", 1, "f")) == [100]
    redis.execute(("HSET", "h", "f", 4))
    assert redis.execute(("HPTTL", "h", "FIELDS", 1, "f")) == [-1]


def test_a_copy_and_a_snapshot_have_the_times_too():
    clock = Clock()
    redis, other = filled(clock), model(clock)
    redis.execute(("COPY", "h", "c"))
    other.store.restore(redis.store.snapshot())
    redis.execute(("HPERSIST", "h", "FIELDS", 1, "f"))
    clock.pass_ms(101)
    assert redis.execute(("HEXISTS", "c", "f")) == other.execute(("HEXISTS", "h", "f")) == 0
    assert redis.execute(("HEXISTS", "h", "f")) == 1


def test_times_are_written_down_and_count_from_when_they_were_given():
    clock, written = Clock(), []
    redis = filled(clock, on_write=written.append)
    redis.execute(("HSETEX", "h", "PX", 50, "FIELDS", 1, "x", "3"))
    redis.execute(("HGETEX", "h", "EX", 9, "FIELDS", 1, "g"))
    redis.execute(("HGETDEL", "h", "FIELDS", 1, "x"))
    assert len(written) == 5
    again, begun_us = model(clock), clock.now_us
    clock.pass_ms(60)
    for effects in written:
        again.replay(effects, now_us=begun_us)
    asked = ("HPEXPIRETIME", "h", "FIELDS", 3, "f", "g", "x")
    assert again.execute(asked) == redis.execute(asked) == [begun_us // 1000 + 100, begun_us // 1000 + 9000, -2]
