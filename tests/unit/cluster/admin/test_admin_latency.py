"""Goal: latencies are counted in the right buckets and sampling misleads nobody. Method: a clock that the test sets."""

import math
from itertools import pairwise
from random import Random
from types import SimpleNamespace

import pytest

from zonelab.cluster.admin.latency import (
    BUCKETS,
    DISTANCE_MAX,
    FIRST_S,
    PER_OCTAVE,
    Histogram,
    LatencyProbe,
    bucket_of,
    quantile_s,
    upper_bound_s,
)
from zonelab.cluster.votes.levels import Level


class Port:
    """Runs commands as a port does, on a clock of its own."""

    def __init__(self, seed=1):
        self.now_s = 0.0
        self.server = SimpleNamespace(until_sample=0, sampler=None)
        self.probe = LatencyProbe(random=Random(seed), now_s=lambda: self.now_s)
        self.probe.attach(self.server)
        self.measured = 0

    def run(self, latency_s, *, level=Level.DC_ONE, reads=True, good=True):
        outcomes = []
        done = outcomes.append
        self.server.until_sample -= 1
        if not self.server.until_sample:
            self.measured += 1
            done = self.server.sampler(level, reads, done)
        self.now_s += latency_s
        outcome = [b"v"] if good else "an error"
        done(outcome)
        assert outcomes == [outcome]

    def counts(self, level, kind, outcome):
        return self.probe.histograms[level.value, kind, outcome].commands


def test_every_latency_is_at_most_its_buckets_bound_and_above_the_one_before():
    for exponent in range(-6 * 8, 3 * 8):
        latency_s = 10 ** (exponent / 8)
        bucket = bucket_of(latency_s)
        assert latency_s <= upper_bound_s(bucket) * (1 + 1e-12)
        assert bucket == 0 or latency_s > upper_bound_s(bucket - 1) * (1 - 1e-12)


def test_bounds_double_every_octave_and_the_last_bucket_has_none():
    bounds = [upper_bound_s(bucket) for bucket in range(BUCKETS)]
    assert all(low < high for low, high in pairwise(bounds))
    assert bounds[PER_OCTAVE] == pytest.approx(2 * FIRST_S)
    assert math.isinf(bounds[-1])
    assert bounds[-2] > 100


def test_a_quantile_is_the_bound_of_its_bucket_and_none_without_commands():
    histogram = Histogram()
    assert quantile_s(histogram.counts, 0.5) is None
    histogram.add(0.001, commands=99)
    histogram.add(1.0, commands=1)
    assert quantile_s(histogram.counts, 0.5) == pytest.approx(0.001, rel=0.19)
    assert quantile_s(histogram.counts, 0.99) == pytest.approx(0.001, rel=0.19)
    assert quantile_s(histogram.counts, 0.999) == pytest.approx(1.0, rel=0.19)


def test_commands_with_time_between_them_are_all_measured_under_their_own_names():
    port = Port()
    for _ in range(20):
        port.run(0.005, level=Level.DC_QUORUM, reads=False)
        port.run(0.005, reads=True, good=False)
    assert port.measured == 40
    assert port.counts(Level.DC_QUORUM, "write", "ok") == 20
    assert port.counts(Level.DC_ONE, "read", "error") == 20


def test_of_many_commands_few_are_measured_and_stand_for_all():
    port = Port()
    for _ in range(100_000):
        port.run(0.0001)
    assert port.measured < 100_000 / 16
    assert port.counts(Level.DC_ONE, "read", "ok") == pytest.approx(100_000, abs=2 * DISTANCE_MAX)


def test_a_load_that_repeats_itself_cannot_hide_its_slow_commands():
    port = Port()
    for number in range(64_000):
        port.run(0.0002 if number % 32 == 31 else 0.00002)
    histogram = port.probe.histograms["DC_ONE", "read", "ok"]
    slow = sum(histogram.counts[bucket_of(0.0001) :])
    assert slow / histogram.commands == pytest.approx(1 / 32, rel=0.35)
