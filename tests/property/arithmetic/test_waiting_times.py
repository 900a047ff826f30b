"""Goal: messages wait for a consumer as queueing theory says. Method: one consumer as the server of M/M/1 and M/D/1.

Arrivals are Poisson, work is drawn. While nothing is there, the consumer looks again only after a pause, so it is a
server with vacations: to the wait of Pollaczek and Khinchine comes the mean rest of a pause (Fuhrmann and Cooper,
Operations Research 33, 1985). Message by message the wait is that of Lindley's recursion and at most one pause more.
"""

import numpy as np
import pytest
from support.scenarios.sim_columns import run_completed
from support.scenarios.sim_runs import small

from zonelab.analysis.lags.distributions import Floats
from zonelab.analysis.statistics import mean_interval

PAUSE_MS = 50.0
"""Between two looks of a waiting pop; dyno-queues' own."""

OVERHEAD_MS = 5.0
"""Of pops and acks, over the messages that were served without a pause between them: at most."""

SEEDS = range(1, 6)
RATE_PER_S, WORK_MS = 40, 12.5


def waits(processing: str, seed: int, *, consumers: int = 1) -> tuple[Floats, Floats]:
    """In ms, by message in the order of arrival: its wait, and that of Lindley with the same arrivals and work."""
    scenario = small(
        seed=seed,
        topology={"zones": ["a"]},
        level="DC_ONE",
        links={"lag": "0"},
        queue={"unack_ms": 20_000, "unack_interval_ms": 5_000},
        load={"duration_s": 10, "rate_per_s": RATE_PER_S, "delay": "0"},
        consumers={"per_zone": consumers, "batch": 1, "wait_ms": 1_000, "processing": processing},
        drain={"bound_s": 30},
    )
    done = run_completed(scenario)
    pushed, popped, acked = ({one.message_id: one for one in done if one.f == f} for f in ("push", "pop", "ack"))
    found, lindley, free_ns = [], [], 0
    for message_id in sorted(pushed, key=lambda message_id: pushed[message_id].end_ns):
        arrived_ns = pushed[message_id].end_ns
        begin_ns = max(arrived_ns, free_ns)
        free_ns = begin_ns + acked[message_id].begin_ns - popped[message_id].end_ns
        lindley.append((begin_ns - arrived_ns) / 1e6)
        found.append((popped[message_id].end_ns - arrived_ns) / 1e6)
    return np.array(found), np.array(lindley)


def beyond_one_pause(found: Floats, lindley: Floats) -> bool:
    """Whether some message waited less than Lindley says, or longer than that and a pause."""
    more = found - lindley
    return bool(more.min() < 0 or more.max() > PAUSE_MS + OVERHEAD_MS)


def mean_wait_ms(second_moment: float) -> float:
    """Pollaczek and Khinchine, and half a pause. ``second_moment``: of the work, in squares of its mean."""
    load = RATE_PER_S * WORK_MS / 1_000
    return load * WORK_MS * second_moment / (2 * (1 - load)) + PAUSE_MS / 2


@pytest.mark.parametrize(("form", "second_moment"), [("exponential", 2.0), ("constant", 1.0)], ids=["M/M/1", "M/D/1"])
def test_a_consumer_is_a_server_and_two_are_not_one(form: str, second_moment: float) -> None:
    processing, predicted = f"{form}:{WORK_MS:g}ms", mean_wait_ms(second_moment)
    one = [waits(processing, seed) for seed in SEEDS]
    assert not any(beyond_one_pause(*each) for each in one)
    interval = mean_interval([found.mean() for found, _ in one], confidence=0.99)
    assert interval.low <= predicted <= interval.high
    two = waits(processing, SEEDS[0], consumers=2)
    assert beyond_one_pause(*two)
    assert two[0].mean() < min(predicted, interval.low)
