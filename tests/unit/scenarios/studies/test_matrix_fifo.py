"""Goal: fenced partitions keep what they promise in drawn runs that once broke it; bugs that they had are still seen.

Method: runs of the matrix, by seed.
"""

import pytest

from cluster.votes.levels import Level
from engine.fifo.fenced import register
from scenarios.fault_draws.fault_classes import EngineMode, FaultClass, scenario_of_class
from scenarios.run.trial import attempt


def drawn(seed, *, level=Level.DC_QUORUM, mode=EngineMode.FENCED):
    return attempt(scenario_of_class(FaultClass.ANY_OF_ONE_ZONE, level=level, mode=mode, seed=seed, engine="fifo"))


@pytest.mark.parametrize(
    ("seed", "why"),
    [
        (91, "a zone that missed a write took its state, without its records, from a renewal"),
        (110, "a producer sent a message again as another record"),
    ],
)
def test_a_seed_that_once_broke_fenced_partitions_holds(seed, why):
    assert drawn(seed).violated == (), why


def test_a_renewal_without_the_effects_of_the_write_that_it_repeats_is_seen(monkeypatch):
    original = register.Register._write

    async def without_effects(self, state, effects, number, *, gives_up):
        new = number > self.number and not gives_up
        await original(self, state, effects if new else register.NOTHING, number, gives_up=gives_up)

    monkeypatch.setattr(register.Register, "_write", without_effects)
    assert drawn(91).violated
