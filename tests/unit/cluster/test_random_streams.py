"""Goal: random streams depend on seed and name only; clocks are the epoch plus run time. Method: draws compared."""

import subprocess
import sys

from zonelab.cluster.clock import NodeClock
from zonelab.cluster.random_streams import Streams


def test_equal_seed_and_name_give_equal_draws_whatever_else_is_drawn():
    alone = [Streams(7).stream("x").random() for _ in range(1)]
    streams = Streams(7)
    streams.stream("y").random()
    assert [streams.stream("x").random()] == alone


def test_other_seeds_and_other_names_give_other_draws():
    first = {(seed, name): Streams(seed).stream(name).random() for seed in (1, 2) for name in ("x", "y", "1/x")}
    assert len(set(first.values())) == len(first)


def test_a_stream_is_asked_for_again_where_it_was_left():
    streams, fresh = Streams(7), Streams(7).stream("x")
    assert [streams.stream("x").random() for _ in range(3)] == [fresh.random() for _ in range(3)]


def test_draws_do_not_depend_on_pythons_hash_seed():
    program = "from zonelab.cluster.random_streams import Streams; print(Streams(7).stream('x').random())"
    drawn = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1")
    }
    assert drawn == {str(Streams(7).stream("x").random())}


def test_a_clock_shows_whole_milliseconds_of_epoch_plus_run_time():
    now_ns = 0
    clock = NodeClock(epoch_ns=1_700_000_000_000_999_999, run_ns=lambda: now_ns)
    assert clock.now_ms() == 1_700_000_000_000
    now_ns = 1
    assert clock.now_ms() == 1_700_000_000_001
