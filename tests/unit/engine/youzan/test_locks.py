"""The lock of a bucket goes back to whoever asks next, and nobody gives back the lock of another.

Method: locks as others hold them, on simulated servers. What a lock prevents is in docs/youzan-windows.md.
"""

import pytest
from support.cluster.sim_lab import simulated_lab
from support.engine.dyno import Interceptor
from support.engine.gmq import Refusing
from support.engine.youzan import YouzanBench

from zonelab.cluster.votes.levels import Level
from zonelab.engine.ports import ServerError


def test_a_scan_that_fails_gives_its_lock_back(bench):
    bench.push("x")
    broken = Refusing(bench.direct, "GET", ServerError("ERR busy"))
    with pytest.raises(ServerError, match="busy"):
        bench.tick(bench.program("t1", broken))
    assert [bench.redis("EXISTS", bench.keys.lock(bucket)) for bucket in (1, 2, 3)] == [0, 0, 0]


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


def test_whoever_is_late_leaves_the_lock_of_another(lab):
    bench = YouzanBench(lab, buckets=1, lock_ms=5)
    bench.push("x")

    async def lose_lock():
        await bench.direct.execute(("SET", bench.keys.lock(1), "t2"))

    bench.tick(bench.program("t1", Interceptor(bench.direct, "ZREM", lose_lock)))
    assert bench.redis("GET", bench.keys.lock(1)) == b"t2"
