"""Goal: a comparison looks at the right operations, all of them or a fair share. Method: small runs made by hand
whose every value is known; limits far below the size of a run.
"""

from pathlib import Path

import numpy as np
import pytest

from zonelab.analysis.comparison.samples import (
    Metric,
    Series,
    ThinnedValues,
    read_series,
    read_zone_medians,
    zones_differ,
)
from zonelab.analysis.id_hashes import id_hashes
from zonelab.analysis.measures import Lateness
from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.directory import RunDirectory
from zonelab.analysis.runs.history import OPERATIONS
from zonelab.analysis.runs.tables import MemoryTable


def series_of(run: RunBuilder, **changes: object) -> dict[Metric, Series]:
    return read_series(RunDirectory.open(run.write(**changes)))


def values(series: dict[Metric, Series], metric: Metric) -> list[float]:
    return series[metric].values_ms.tolist()


@pytest.fixture
def run(tmp_path: Path) -> RunBuilder:
    return RunBuilder(tmp_path / "run", load_ms=1_000)


def test_latencies_are_those_of_confirmed_operations(run: RunBuilder) -> None:
    run.push("a", at_ms=0, took_ms=7)
    run.push("b", at_ms=10, took_ms=8, outcome="info")
    run.push("c", at_ms=20, took_ms=9, outcome="fail")
    run.push("d", at_ms=30, outcome=None)
    pop = run.pop("a", at_ms=40, took_ms=3)
    run.ack("a", pop, at_ms=50, took_ms=4)
    run.ack("a", pop, at_ms=60, took_ms=5, outcome="fail", error="no lease")
    found = series_of(run)
    assert values(found, Metric.PUSH) == [7]
    assert values(found, Metric.ACK) == [4]
    assert found[Metric.PUSH].count == 1
    assert found[Metric.PUSH].every == 1


def test_an_operation_of_which_only_a_moment_is_known_has_no_latency(run: RunBuilder) -> None:
    for number in range(20):
        run.push(f"m{number}", at_ms=number, took_ms=2)
        pop = run.pop(f"m{number}", at_ms=100 + number, took_ms=0, lease_start_ms=100 + number, leased_ms=100 + number)
        run.ack(f"m{number}", pop, at_ms=200 + number, took_ms=4)
    queue = {"engine": "programs", "shards": {"a": "a"}, "instants": ["pop"]}
    directory = RunDirectory.open(run.write(queue=queue))
    counts = {metric: series.count for metric, series in read_series(directory).items()}
    assert counts == {Metric.PUSH: 20, Metric.POP: 0, Metric.LEASE_STEP: 0, Metric.ACK: 20, Metric.LATENESS: 20}
    medians_ms = read_zone_medians(directory)
    assert (medians_ms[Metric.POP], medians_ms[Metric.ACK]) == ({}, {"a": 4})


def test_a_pop_counts_once_if_it_delivered_and_each_message_has_a_lease_step(run: RunBuilder) -> None:
    run.pop(at_ms=0, took_ms=500)
    run.pop("a", "b", at_ms=100, took_ms=90, lease_start_ms=170, leased_ms=185)
    run.pop("c", at_ms=300, took_ms=40, lease_start_ms=320, leased_ms=322)
    found = series_of(run)
    assert values(found, Metric.POP) == [90, 40]
    assert np.round(found[Metric.LEASE_STEP].values_ms).tolist() == [15, 15, 2]


def test_operations_invoked_after_the_load_are_left_out_and_slow_ones_invoked_in_it_are_not(run: RunBuilder) -> None:
    run.push("slow", at_ms=999, took_ms=700)
    run.push("late", at_ms=1_000, took_ms=3)
    run.ack("slow", run.pop("slow", at_ms=1_800, took_ms=2), at_ms=1_900)
    found = series_of(run)
    assert values(found, Metric.PUSH) == [700]
    assert [values(found, metric) for metric in (Metric.POP, Metric.LEASE_STEP, Metric.ACK)] == [[], [], []]


def test_without_a_load_phase_everything_counts(run: RunBuilder) -> None:
    run.push("late", at_ms=5_000, took_ms=3)
    assert values(series_of(run, phases={}), Metric.PUSH) == [3]


def test_lateness_runs_from_due_to_the_end_of_the_first_delivery_with_parts_of_a_millisecond(run: RunBuilder) -> None:
    run.push("a", at_ms=0, due_ms=100)
    run.pop("a", at_ms=90, took_ms=30.25)
    run.pop("a", at_ms=900, took_ms=5)
    assert values(series_of(run), Metric.LATENESS) == [20.25]


def test_lateness_counts_messages_due_in_the_load_even_if_they_came_in_the_drain(run: RunBuilder) -> None:
    run.push("due later", at_ms=0, due_ms=1_000)
    run.push("due in time", at_ms=1, due_ms=999)
    run.push("never delivered", at_ms=2)
    run.pop("due in time", at_ms=1_700, took_ms=10)
    run.pop("due later", at_ms=1_800, took_ms=10)
    run.pop("unknown", at_ms=1_900)
    assert values(series_of(run), Metric.LATENESS) == [711]


def test_a_delivery_that_is_recorded_before_the_confirmation_of_the_push_has_a_lateness(run: RunBuilder) -> None:
    run.push("a", at_ms=0, took_ms=50, due_ms=0)
    run.pop("a", at_ms=5, took_ms=6)
    assert values(series_of(run), Metric.LATENESS) == [11]


def test_whole_milliseconds_are_spread_without_moving_their_median(run: RunBuilder) -> None:
    rng = np.random.default_rng(3)
    true_ms = rng.uniform(2, 6, 900)
    for number, step_ms in enumerate(true_ms.tolist()):
        begin_ms = number + rng.uniform()
        run.pop(f"m{number}", at_ms=number, took_ms=9, lease_start_ms=begin_ms, leased_ms=begin_ms + step_ms)
    found = series_of(run)[Metric.LEASE_STEP].values_ms
    assert len(np.unique(found)) == 900
    assert np.median(found) == pytest.approx(np.median(true_ms), abs=0.25)


def test_a_series_longer_than_its_limit_keeps_values_at_even_distances() -> None:
    for sizes in ([1_000], [1] * 1_000, [3, 0, 97, 400, 500]):
        series = ThinnedValues(limit=100)
        begin = 0
        for size in sizes:
            series.add(np.arange(begin, begin + size, dtype=np.float64))
            begin += size
        kept = series.series()
        assert (kept.count, kept.every) == (1_000, 16)
        assert kept.values_ms.tolist() == list(range(0, 1_000, 16))


def test_a_long_run_is_sampled_by_message_and_push_and_delivery_of_a_message_stay_together() -> None:
    lateness = Lateness(limit=100)
    for begin in range(0, 5_000, 500):
        table = MemoryTable(OPERATIONS)
        for number in range(begin, begin + 500):
            common = {"type": "ok", "message_id": f"m{number}", "due_ms": number, "invoke_ns": 0}
            table.append({**common, "f": "push", "time_ns": 0})
            table.append({**common, "f": "pop", "time_ns": (number + 7) * 1_000_000})
        lateness.add(table.batch())
    times_ns = list(lateness.of_messages(epoch_ns=0))
    assert lateness.every == 64
    assert 50 <= len(times_ns) <= 100
    assert {end_ns - due_ns for due_ns, _, end_ns in times_ns} == {7_000_000}


def test_reading_keeps_no_more_than_the_limit(run: RunBuilder) -> None:
    for number in range(300):
        run.push(f"m{number}", at_ms=number, took_ms=1 + number)
        run.pop(f"m{number}", at_ms=number + 1)
    found = read_series(RunDirectory.open(run.write()), limit=64)
    assert all(series.values_ms.size <= 64 for series in found.values())
    assert (found[Metric.PUSH].count, found[Metric.PUSH].every) == (300, 8)
    assert values(found, Metric.PUSH) == [1 + number for number in range(0, 300, 8)]


def test_a_sample_is_of_the_same_messages_everywhere() -> None:
    """The published values of murmur3, so neither the machine nor a library's version chooses."""
    assert id_hashes(["", "foo", "hello"], count=3).tolist() == [0, -156908512, 613153351]


@pytest.mark.parametrize(
    ("medians_ms", "differ"),
    [({}, False), ({"a": 2.0}, False), ({"b": 3.0, "a": 2.0}, True), ({"b": 2.9, "a": 2.0}, False)],
)
def test_zones_differ_from_half_as_much_again_on(medians_ms: dict[str, float], differ: bool) -> None:
    assert zones_differ(medians_ms) is differ


def test_a_zone_has_a_median_from_ten_confirmed_operations_of_the_load_on(run: RunBuilder) -> None:
    for number in range(12):
        at_ms, took_ms = 80 * number + (0 if number < 11 else 500), 1 + number
        run.push(f"c{number}", at_ms=at_ms, took_ms=took_ms, zone="c", outcome="fail" if number == 10 else "ok")
        if number < 9:
            run.push(f"a{number}", at_ms=at_ms, zone="a")
    medians = read_zone_medians(RunDirectory.open(run.write()))
    assert medians == {Metric.PUSH: {"c": 5.5}, Metric.POP: {}, Metric.ACK: {}}
