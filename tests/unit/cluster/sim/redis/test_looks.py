"""Goal: a look that finds nothing is answered as its words would be. Method: both, over states and forms of looks."""

from itertools import product
from random import Random

import pytest

from zonelab.cluster.sim.redis import Pipeline, RedisModel
from zonelab.cluster.sim.redis.looks import looks_of

STATES = (
    (),
    (("ZADD", "k", 5, "m"),),
    (("ZADD", "k", "inf", "m"),),
    (("ZADD", "k", "-inf", "m"),),
    (("ZADD", "k", 4.5, "m", 6, "n"), ("PEXPIRE", "k", 10)),
    (("ZADD", "k", float(1 << 53), "m"),),
    (("ZADD", "k", 5, "m"), ("ZREM", "k", "m")),
    (("SET", "k", "v"),),
)
NUMBERS = (-1, 0, 4, 5, 6, 5.0, True, "5", "(5", "+inf", (1 << 53) - 1, (1 << 53) + 1, 1 << 63, "x")
LOOKS = (
    *(("ZRANGEBYSCORE", "k", low, high, "LIMIT", 0, 10) for low, high in product((0, 6), NUMBERS)),
    *(
        ("ZRANGEBYSCORE", "k", 0, 4, "WITHSCORES", "LIMIT", offset, limit)
        for offset, limit in product(NUMBERS, NUMBERS)
    ),
    *(("ZRANGEBYSCORE", "k", 0, 4, *words) for words in ((), ("LIMIT", 1), ("LIMITS", 0, 1), ("WITHSCORES", 1, 2))),
    *(("ZRANGE", "k", start, stop) for start, stop in product(NUMBERS, NUMBERS)),
    ("ZRANGE", b"k", 0, 4),
    ("ZRANGE", "k", 0),
)


@pytest.mark.parametrize("state", STATES, ids=str)
def test_a_look_is_answered_as_its_words_are(state) -> None:
    time_ms = [0]
    model = RedisModel(clock_us=lambda: time_ms[0] * 1_000, random=Random(1))
    for command in state:
        model.execute(command)
    for time_ms[0] in (1, 20):
        for look in LOOKS:
            assert model.execute_pipeline(Pipeline([look])) == [model.execute(look)], look
        pairs = [look for look in LOOKS if looks_of([look])][:40]
        for pair in zip(pairs, pairs[::-1], strict=True):
            assert model.execute_pipeline(Pipeline(pair)) == [model.execute(look) for look in pair], pair


def test_what_queues_ask_is_a_look() -> None:
    assert looks_of([("ZRANGEBYSCORE", "k", 0, 1_700_000_000_000, "LIMIT", 0, 10)])
    assert looks_of([("ZRANGE", "k", 0, 9), ("ZRANGEBYSCORE", "k", 0, 5, "WITHSCORES", "LIMIT", 0, 1)])
    assert not looks_of([("ZRANGE", "k", 0, 9), ("ZADD", "k", 1, "m")])
    assert not looks_of([])
