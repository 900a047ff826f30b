"""Run directories made by hand for tests: a run in which things go wrong, and its parts."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from zonelab.analysis.runs.builder import RunBuilder
from zonelab.analysis.runs.history import ADDED


def eventful_run(path: Path, *, level: str = "DC_QUORUM", seed: int = 1, offset_ms: int = 0) -> RunBuilder:
    """A run in which every class but undecided occurs, most of them more than once."""
    run = RunBuilder(path, level=level, seed=seed, scenario="eventful")
    zones = "abc"
    for number in range(60):
        zone, at_ms = zones[number % 3], 40 * number + offset_ms
        message_id = f"good-{number}"
        run.push(
            message_id,
            at_ms=at_ms,
            took_ms=1 + number % 7,
            due_ms=at_ms + 50,
            zone=zone,
            shard=zone,
            priority=number % 5,
            intended_ms=at_ms - number % 4,
        )
        pop = run.pop(message_id, at_ms=at_ms + 50, took_ms=2 + number % 5, zone=zone, shard=zone)
        run.ack(message_id, pop, at_ms=at_ms + 60, took_ms=1 + number % 3, zone=zone, shard=zone)
    for number in range(3):
        _bad(run, f"-{number}", 100 + 700 * number + offset_ms)
    for zone in zones:
        for at_ms in range(0, 10_000, 500):
            down = zone == "b" and 3_000 <= at_ms < 6_000
            run.depth(zone, at_ms=at_ms, waiting=None if down else at_ms // 100, leased=None if down else 3)
    run.push("at-most-once", at_ms=3_100, lease_ms=0)
    run.pop("at-most-once", at_ms=3_150)
    run.push("in-doubt", at_ms=3_200, outcome="info", zone="b", error="Indeterminate: timed out: 150 ms")
    run.push("refused", at_ms=3_300, outcome="fail", zone="b", error="Unavailable: zone b is down")
    run.pop(at_ms=3_400, took_ms=900, zone="b", outcome="fail", error="Unavailable: zone b is down")
    run.pop(at_ms=6_100, took_ms=900, zone="b")
    run.fault("kill", "b", begin_ms=3_000, end_ms=6_000)
    run.fault("lag", "a>c", begin_ms=7_000, end_ms=8_000, colour="#0072b2")
    return run


def small_run(path: Path, *, level: str = "DC_ONE") -> Path:
    """Four pushes of 10, 20, 40 and 80 ms, two of them ok; two messages delivered, one of them twice; b is killed."""
    run = RunBuilder(path, level=level, seed=7, scenario="small", load_ms=900)
    late = 10 if level == "DC_QUORUM" else 0
    run.push("m1", at_ms=100, took_ms=10, due_ms=150, zone="b", intended_ms=95)
    run.push("m2", at_ms=200, took_ms=20 + late, due_ms=250)
    run.push("m3", at_ms=300, took_ms=40, zone="b", outcome="fail", error="Unavailable: zone b is down")
    run.push("m4", at_ms=400, took_ms=80, outcome="info", error="Indeterminate: no quorum")
    run.push("m5", at_ms=500, took_ms=5)
    first = run.pop("m1", at_ms=150, took_ms=30, zone="b", lease_end_ms=400)
    run.ack("m1", first, at_ms=190, took_ms=4, zone="b")
    run.pop("m2", at_ms=240, took_ms=60, lease_end_ms=420)
    again = run.pop("m2", at_ms=430, took_ms=20 + late, lease_end_ms=900)
    run.ack("m2", again, at_ms=460, took_ms=8)
    for at_ms in (0, 250, 500, 1_000):
        run.depth("b", at_ms=at_ms, waiting=None if at_ms == 250 else at_ms // 100, leased=1)
        run.depth("a", at_ms=at_ms, waiting=2, leased=at_ms // 250)
    run.fault("kill", "b", begin_ms=250, end_ms=450)
    run.fault("lag", "a>c", begin_ms=600, end_ms=None, colour="#0072b2")
    return run.write(git_commit="0123456789abcdef")


def bad_run(path: Path) -> Path:
    """A run in which every class but undecided occurs once, and one good message."""
    run = RunBuilder(path, seed=3, scenario="bad", load_ms=2_000)
    run.push("good", at_ms=10, due_ms=40, zone="c", shard="c", priority=2)
    run.ack("good", run.pop("good", at_ms=50, zone="c", shard="c"), at_ms=60, zone="c", shard="c")
    _bad(run, "", 1_000)
    return run.write()


def as_written_before(path: Path) -> Path:
    """The run with a history as it was before columns were added to it."""
    history = path / "history" / "operations-000001.parquet"
    pq.write_table(pq.read_table(history).drop_columns(list(ADDED)), history)
    return path


def _bad(run: RunBuilder, suffix: str, at_ms: int) -> None:
    def push(name: str, due_ms: float | None = None) -> str:
        run.push(name + suffix, at_ms=at_ms, due_ms=due_ms)
        return name + suffix

    push("lost")
    run.listed(push("stuck"), zone="b")
    run.pop(push("abandoned"), at_ms=at_ms + 20)
    poison = push("dead-letter")
    run.pop(poison, at_ms=at_ms + 20)
    run.listed(poison, zone="b", place="dead")
    run.payload(poison, zone="b")
    run.ack("unexpected" + suffix, run.pop("unexpected" + suffix, at_ms=at_ms + 30), at_ms=at_ms + 40)
    run.push("recovered" + suffix, at_ms=at_ms, outcome="info", error="Indeterminate: no quorum")
    run.ack("recovered" + suffix, run.pop("recovered" + suffix, at_ms=at_ms + 30), at_ms=at_ms + 40)
    early = push("early", due_ms=at_ms + 100)
    run.ack(early, run.pop(early, at_ms=at_ms + 50), at_ms=at_ms + 60)
    run.push("retried" + suffix, at_ms=at_ms, due_ms=at_ms + 20, outcome="info", error="Indeterminate: no quorum")
    retried = push("retried", due_ms=at_ms + 100)  # served by the attempt in doubt, which was due before: not early
    run.ack(retried, run.pop(retried, at_ms=at_ms + 50), at_ms=at_ms + 60)
    redelivered = push("redelivered")
    first = run.pop(redelivered, at_ms=at_ms + 10, lease_end_ms=at_ms + 100)
    run.ack(redelivered, first, at_ms=at_ms + 101, outcome="fail", error="no lease")
    run.ack(redelivered, run.pop(redelivered, at_ms=at_ms + 110), at_ms=at_ms + 120)
    concurrent = push("concurrent")
    run.pop(concurrent, at_ms=at_ms + 10, lease_end_ms=at_ms + 500)
    run.ack(concurrent, run.pop(concurrent, at_ms=at_ms + 110, zone="b"), at_ms=at_ms + 120)
    extended = push("extended")
    held = run.pop(extended, at_ms=at_ms + 10, lease_end_ms=at_ms + 100)
    run.extend(extended, held, at_ms=at_ms + 50, lease_end_ms=at_ms + 400)
    run.ack(extended, run.pop(extended, at_ms=at_ms + 200), at_ms=at_ms + 220)
    shortened = push("shortened")
    held = run.pop(shortened, at_ms=at_ms + 10, lease_end_ms=at_ms + 900)
    run.extend(shortened, held, at_ms=at_ms + 50, lease_end_ms=at_ms + 60, outcome="info")
    run.ack(shortened, run.pop(shortened, at_ms=at_ms + 200), at_ms=at_ms + 220)
    resurrected = push("resurrected")
    run.ack(resurrected, run.pop(resurrected, at_ms=at_ms + 10), at_ms=at_ms + 20)
    run.ack(resurrected, run.pop(resurrected, at_ms=at_ms + 30), at_ms=at_ms + 40)
    zombie = push("zombie")
    run.ack(zombie, run.pop(zombie, at_ms=at_ms + 10, lease_end_ms=at_ms + 30), at_ms=at_ms + 50)
    run.payload("orphan" + suffix, zone="c")


def lognormal_run(path: Path, *, seed: int, factor: float = 1.0, messages: int = 900, level: str = "DC_ONE") -> Path:
    """Messages one after another; every duration lognormal around 20 ms times ``factor``."""
    rng = np.random.default_rng(seed)
    run = RunBuilder(path, seed=seed, level=level, load_ms=messages * 10)
    for number in range(messages):
        push_ms, pop_ms, ack_ms = (20 * factor * rng.lognormal(0, 0.3, 3)).tolist()
        at_ms, name = 10 * number, f"m{number}"
        run.push(name, at_ms=at_ms, took_ms=push_ms)
        pop = run.pop(name, at_ms=at_ms, took_ms=pop_ms)
        run.ack(name, pop, at_ms=at_ms + pop_ms, took_ms=ack_ms)
    return run.write()


def differing_zones(path: Path, *, far_ms: float) -> Path:
    """Twenty pushes of 5 ms in zone a, and as many of ``far_ms`` in zone b."""
    run = RunBuilder(path, load_ms=2_000)
    for number in range(20):
        for zone, took_ms in (("a", 5.0), ("b", far_ms)):
            run.push(f"{zone}{number}", at_ms=90 * number, took_ms=took_ms, zone=zone)
    return run.write()
