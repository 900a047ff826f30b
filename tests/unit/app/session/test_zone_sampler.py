"""Goal: what is recorded each second is what happened in that second. Method: coordinators that the test plays."""

import asyncio
from types import SimpleNamespace

import pytest

from zonelab.app.session.zone_sampler import Sampler
from zonelab.cluster.admin.latency import bucket_of
from zonelab.cluster.zone import ZoneState

S = 1_000_000_000


def answer(*, commands, errors=0, divergence=0, latencies=()):
    """What a coordinator says of itself; ``latencies`` in seconds, of reads and writes."""
    histograms = []
    for part in (latencies[::2], latencies[1::2]):
        counts = [0] * (max(map(bucket_of, part), default=-1) + 1)
        for latency_s in part:
            counts[bucket_of(latency_s)] += 1
        histograms.append({"counts": counts})
    return {
        "port": {"commands": commands, "error_replies": errors, "clients": 2},
        "levels": {"DC_ONE": {"error_answers": 0}},
        "divergence": divergence,
        "latency": {"histograms": histograms},
        "links": [{"in_flight": 3}, {"in_flight": 4}],
    }


class Played:
    """Rounds a second apart."""

    def __init__(self):
        self.now_s = 0
        self.answer = None
        coordinator = SimpleNamespace(state=ZoneState.RUNNING, statistics=self.statistics)
        self.coordinators = {"a": coordinator}
        self.sampler = Sampler(
            zones={"a": SimpleNamespace(state=ZoneState.PAUSED)},
            coordinators=self.coordinators,
            recording=SimpleNamespace(now_ns=lambda: self.now_s * S),
            sampled=lambda rows: None,
        )

    async def statistics(self):
        return self.answer

    def round(self, told, *, after_s=1):
        self.now_s += after_s
        self.answer = told
        (row,) = asyncio.run(self.sampler.ask())
        return row


def test_rates_are_differences_over_the_time_between():
    played = Played()
    played.round(answer(commands=100, errors=4, divergence=1))
    row = played.round(answer(commands=160, errors=10, divergence=2), after_s=2)
    assert (row["operations_per_s"], row["errors_per_s"], row["divergent_per_s"]) == (30, 3, 0.5)
    assert (row["zone"], row["server"], row["coordinator"]) == ("a", "paused", "running")
    assert (row["time_ns"], row["clients"], row["in_flight"]) == (3 * S, 2, 7)


def test_latencies_are_those_of_the_interval_only():
    played = Played()
    early = [0.001] * 100
    played.round(answer(commands=100, latencies=early))
    row = played.round(answer(commands=104, latencies=[*early, 0.5, 0.5, 0.5, 0.5]))
    assert row["p50_ms"] == row["p99_ms"] == pytest.approx(500, rel=0.19)
    quiet = played.round(answer(commands=104, latencies=[*early, 0.5, 0.5, 0.5, 0.5]))
    assert (quiet["p50_ms"], quiet["operations_per_s"]) == (None, 0)


def test_a_coordinator_that_was_restarted_counts_from_nothing_even_if_it_has_done_more_since():
    played = Played()
    played.round(answer(commands=10, latencies=[0.5] * 10))
    row = played.round(answer(commands=40, latencies=[0.001] * 40))
    assert (row["operations_per_s"], row["p99_ms"]) == (40, pytest.approx(1, rel=0.19))


def test_a_coordinator_that_does_not_answer_has_no_rates_and_the_next_interval_is_longer():
    played = Played()
    played.round(answer(commands=100))
    silent = played.round(None)
    assert "operations_per_s" not in silent
    assert played.round(answer(commands=120))["operations_per_s"] == 10


def test_a_coordinator_that_began_anew_counts_from_nothing():
    played = Played()
    played.round(answer(commands=1000, errors=50, latencies=[0.1] * 10))
    row = played.round(answer(commands=7, errors=1, latencies=[0.001] * 7))
    assert (row["operations_per_s"], row["errors_per_s"]) == (7, 1)
    assert row["p99_ms"] == pytest.approx(1, rel=0.19)


def test_the_last_answer_is_kept_for_the_record():
    played = Played()
    told = answer(commands=5)
    played.round(told)
    played.round(None)
    assert played.sampler.latest == {"a": told}
