"""Goal: a message is delivered again if its work outlasts its lease and the time to the next look for ended leases.

Method: runs of one zone; each look is noted as it is made. Message by message the rule is exact; over all of them the
share is that of exponential work.
"""

from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
import pytest
from support.scenarios.sim_columns import Done, deliveries, run_ended
from support.scenarios.sim_runs import small

from zonelab.analysis.proportions import proportion_interval
from zonelab.cluster.sim.cluster import EPOCH_NS
from zonelab.engine.dyno.v1 import unack

WORK_MS, LEASE_MS, LOOKS_MS = 100, 200, 1_000
SCENARIO = small(
    topology={"zones": ["a"]},
    level="DC_ONE",
    links={"lag": "0"},
    queue={"unack_ms": LEASE_MS, "unack_interval_ms": LOOKS_MS},
    load={"duration_s": 80, "rate_per_s": 8, "delay": "0"},
    consumers={"per_zone": 2, "batch": 1, "wait_ms": 1_000, "processing": f"exponential:{WORK_MS}ms"},
    drain={"bound_s": 30},
)


@pytest.fixture(scope="module")
def ran() -> Iterator[tuple[list[Done], list[int]]]:
    """What was done, and the times in ms at which ended leases were looked for."""
    looks: list[int] = []
    right = unack._expired

    async def noted(context):
        looks.append(context.clock.now_ms())
        return await right(context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unack, "_expired", noted)
        yield run_ended(SCENARIO), looks


def found_ended(done: list[Done], looks_ms: list[int]) -> set[str]:
    """The messages of which a look found the first lease ended before the ack of its consumer was sent."""
    first: dict[str, Done] = {}
    acked_ns: dict[tuple[str, str], int] = {}
    for one in done:
        if one.f == "pop":
            first.setdefault(one.message_id, one)
        elif one.f == "ack":
            acked_ns.setdefault((one.message_id, one.process), one.begin_ns)
    late = set()
    for message_id, popped in first.items():
        place = bisect_left(looks_ms, popped.lease_end_ms)
        ack_ns = EPOCH_NS + acked_ns[message_id, popped.process]
        if place < len(looks_ms) and looks_ms[place] * 1_000_000 < ack_ns:
            late.add(message_id)
    return late


def test_each_message_is_delivered_again_exactly_if_a_look_found_its_lease_ended(ran) -> None:
    done, looks_ms = ran
    again = {message_id for message_id, times in deliveries(done).items() if times > 1}
    assert len(again) > 10
    assert again == found_ended(done, looks_ms)


def predicted(looks_ms: list[int], *, lease_ms: float = LEASE_MS) -> float:
    """The chance that exponential work outlasts the lease and the time to the next look, from any time on."""
    looks = np.array(sorted(set(looks_ms)), dtype=float)
    ends_ms = np.linspace(looks[0], looks[-1], 200_000, endpoint=False)
    until_look_ms = looks[np.searchsorted(looks, ends_ms)] - ends_ms
    return float(np.exp(-(lease_ms + until_look_ms) / WORK_MS).mean())


def test_the_share_is_that_of_work_longer_than_lease_and_next_look(ran) -> None:
    done, looks_ms = ran
    counts = deliveries(done)
    share = proportion_interval(sum(times > 1 for times in counts.values()), len(counts), confidence=0.99)
    assert share.low <= predicted(looks_ms) <= share.high
    wrong = (predicted(looks_ms, lease_ms=0), predicted(looks_ms[::4]), float(np.exp(-LEASE_MS / WORK_MS)))
    assert not any(share.low <= one <= share.high for one in wrong)
