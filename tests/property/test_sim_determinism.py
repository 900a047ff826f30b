"""Goal: the seed decides a run of the engine on a simulated cluster. Method: the same load in two new interpreters.

The interpreters have different hash seeds, so an iteration over a set or a use of ``hash`` would show.
"""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from zonelab.cluster.sim.schedule import TieBreak

TESTS = Path(__file__).parents[1]

PROGRAM = textwrap.dedent(
    """
    import sys
    from support.engine.sim_dyno import Load, run_load
    from zonelab.cluster.links.lag_text import parse_lag
    from zonelab.cluster.votes.levels import Level
    from zonelab.cluster.sim.cluster import SimCluster, SimSettings
    from zonelab.cluster.sim.server import ServerSettings
    from zonelab.cluster.sim.schedule import Schedule, TieBreak
    from zonelab.cluster.zone import Persistence

    settings = SimSettings(
        seed=int(sys.argv[1]),
        schedule=Schedule(tie_break=TieBreak(sys.argv[2])),
        server=ServerSettings(persistence=Persistence.AOF_EVERYSEC),
        lag=parse_lag("exponential:2ms"),
    )
    made = SimCluster(("a", "b", "c"), settings)
    load = Load(level=Level.DC_QUORUM, messages_per_zone=20, consumers_per_zone=2, timeout_ms=5, forget_first=True)

    async def faults():
        await made.runtime.sleep(30_000_000)
        made.links["a", "c"].set_loss(0.2)
        made.clock("b").drift(ppm=300)
        await made.zones["c"].pause()
        await made.runtime.sleep(20_000_000)
        await made.zones["c"].resume()

    async def program():
        async with made:
            made.runtime.spawn(faults(), name="faults")
            return await run_load(made, load)

    result = made.runtime.run_until_complete(program())
    print(made.runtime.trace_hash, made.runtime.trace.events, len(result.delivered))
    """
)


def outcome(seed, tie_break, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", PROGRAM, str(seed), tie_break]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.parametrize("tie_break", tuple(TieBreak))
def test_seed_and_tie_break_decide_the_run_whatever_the_hash_seed(tie_break):
    first = outcome(5, tie_break, "0")
    assert outcome(5, tie_break, "12345") == first
    assert int(first.split()[1]) > 1000


def test_another_seed_makes_another_run():
    assert outcome(5, TieBreak.RANDOM, "0").split()[0] != outcome(6, TieBreak.RANDOM, "0").split()[0]
