"""Goal: what the servers of a drained run held is what its history tells. Method: Little's law on the sample path.

The time integral of how many messages a server lists, waiting or leased, is the sum of the times for which each was
there. The first is read off the simulated server after every pipeline, the second off the history, whose operations
enclose the moments at which the server worked: so the integral lies between two sums, and chance has no part in it.
"""

from dataclasses import replace

import pytest
from support.scenarios.sim_columns import Done, run_completed
from support.scenarios.sim_runs import small

from zonelab.cluster.sim.redis.values import SortedSet
from zonelab.cluster.sim.server import SimServer

SCENARIO = small(
    topology={"zones": ["a"]},
    level="DC_ONE",
    links={"lag": "0"},
    queue={"unack_ms": 2_000, "unack_interval_ms": 500},
    load={"duration_s": 15, "rate_per_s": 20, "delay": "exponential:50ms"},
    consumers={"per_zone": 2, "batch": 3, "wait_ms": 100, "processing": "exponential:30ms"},
)


class Depth:
    """The integral of how many messages the server lists over time."""

    def __init__(self) -> None:
        self.message_ns = 0
        self.listed = 0
        self._since_ns = 0

    def note(self, server: SimServer) -> None:
        now_ns = server._runtime.now_ns()
        self.message_ns += self.listed * (now_ns - self._since_ns)
        self._since_ns = now_ns
        values = server._model.store._values
        self.listed = len(
            {
                member
                for key, value in values.items()
                if isinstance(value, SortedSet) and (b".QUEUE." in key or b".UNACK." in key)
                for member in value.scores
            }
        )


@pytest.fixture(scope="module")
def ran() -> tuple[list[Done], Depth]:
    depth, right = Depth(), SimServer._finish

    def observed(self: SimServer) -> None:
        right(self)
        depth.note(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SimServer, "_finish", observed)
        return run_completed(SCENARIO), depth


def enclosing(done: list[Done]) -> tuple[int, int]:
    """The least and the most that the messages can have been there, by the operations that brought and took them."""
    pushed = {one.message_id: one for one in done if one.f == "push"}
    acked = [one for one in done if one.f == "ack"]
    least = sum(one.begin_ns - pushed[one.message_id].end_ns for one in acked)
    return least, sum(one.end_ns - pushed[one.message_id].begin_ns for one in acked)


def test_the_integral_of_the_depth_is_the_sum_of_the_sojourns(ran: tuple[list[Done], Depth]) -> None:
    done, depth = ran
    least, most = enclosing(done)
    assert depth.listed == 0
    assert least <= depth.message_ns <= most
    assert (most - least) / depth.message_ns < 0.02


def test_a_history_that_lacks_a_few_messages_or_tells_wrong_times_is_caught(ran: tuple[list[Done], Depth]) -> None:
    done, depth = ran
    few = {one.message_id for one in done if one.f == "ack"} - {f"a-{number:06}" for number in range(0, 1_000, 25)}
    assert enclosing([one for one in done if one.message_id in few])[1] < depth.message_ns
    late = [
        replace(one, begin_ns=one.begin_ns + 5_000_000, end_ns=one.end_ns + 5_000_000) if one.f == "ack" else one
        for one in done
    ]
    assert enclosing(late)[0] > depth.message_ns
