"""Goal: hardened mode keeps its promises in whatever order programs act and one zone fails, and needs its mechanisms
for that. Method: ``QueueMachine`` with crashes, stalls, pauses, cuts and a kill; then without a mechanism.
"""

import pytest
from support.studies.state_machines import search

from zonelab.cluster.votes.levels import Level
from zonelab.engine.dyno.hardened import Hardening
from zonelab.studies.properties import HardenedQueueMachine, Trouble

STEPS = 25
KILLS = {Trouble.KILL_KEEP, Trouble.KILL_WIPE, Trouble.KILL_WARM}


@pytest.mark.parametrize("level", [Level.DC_QUORUM, Level.DC_SAFE_QUORUM])
def test_hardened_mode_keeps_its_promises(level):
    machine = type("Machine", (HardenedQueueMachine,), {"level": level})
    assert search(machine, examples=25, steps=STEPS) is None


@pytest.mark.parametrize(
    ("without", "troubles"),
    [
        ((Hardening.TOMBSTONES,), {Trouble.DROP, *KILLS}),
        ((Hardening.ANTI_ENTROPY, Hardening.HEAD_OF_LINE_REPAIR), {Trouble.DROP, *KILLS}),
    ],
    ids=["tombstones", "repair"],
)
def test_the_machine_notices_what_is_missing(without, troubles):
    machine = type("Machine", (HardenedQueueMachine,), {"without": without, "troubles": frozenset(troubles)})
    searches = (search(machine, examples=60, steps=STEPS, at=at) for at in range(1, 5))
    assert next((violation for violation in searches if violation is not None), None) is not None
