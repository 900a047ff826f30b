"""Goal: a shard that another zone serves is taken over once its lease has ended by every clock within the margin.

Method: a lease written by hand, and one look at it with a clock that is right, ahead or behind.
"""

import pytest
from support.engine.hardened import MS

from zonelab.engine.dyno.hardened.upkeep.shard_takeover import ServedShards

LEASE_MS = 400


@pytest.mark.parametrize(
    ("ahead_ms", "after_ms", "taken"),
    [
        (0, -5, False),
        (0, 15, False),
        (0, 25, True),
        (15, 0, False),
        (15, 15, True),
        (-15, 25, False),
        (-15, 45, True),
    ],
)
async def test_a_lease_of_a_shard_is_over_a_margin_after_its_end(lab, ahead_ms, after_ms, taken):
    """The margin is 20 ms: with clocks apart by less, nobody takes a shard that its holder still counts as its own."""
    context = lab.queue("a")._context
    assert context.settings.clock_margin_ms == 20
    shards = ServedShards(context)
    await lab.sleep(1_000)
    now_ms = lab.cluster.clock("c").now_ms()
    await context.steps.serve("b", "c", now_ms=now_ms, ends_ms=now_ms + LEASE_MS)
    lab.cluster.clock("a").jump(ahead_ms * MS)
    await lab.sleep(LEASE_MS + after_ms - (lab.cluster.clock("c").now_ms() - now_ms))
    await shards.renew()
    assert ("b" in shards.shards) is taken
