"""Goal: faults look to clients as they were measured on Dynomite. Method: its failure matrix replayed in virtual time.

Dynomite at 2046b05 with three racks and default time-outs was driven through the same steps: break something, write
and read through rack 1, wait 1.5 s, read and write again, then read and write through rack 3, mend, and look at the key
that was written during the outage. A killed Redis has no persistence.

Three rows differ, for reasons that docs/replication.md gives: each coordinator has its own connection to each server,
so zone c finds out for itself that a server stalls, and does so 5.00 s after its own first request.
"""

import pytest
from support.cluster.failure_matrix import CUTS, ROWS, STEPS, STEPS_LATER, WORDS
from support.cluster.stepped import MS, S, SteppedCluster

from zonelab.cluster.votes.levels import Level

QUORUM = Level.DC_QUORUM


def break_down(cluster, fault, zone):
    if fault == "kill":
        cluster.servers[zone].kill()
    elif fault == "pause":
        cluster.servers[zone].pause()
    else:
        cluster.isolate(zone, CUTS[fault])


def replied(call):
    return str(call.error) if call.error else call.replies[0], call.ms


@pytest.mark.parametrize(("faults", "level", "replies", "replicas"), ROWS)
def test_a_fault_looks_to_clients_as_measured(faults, level, replies, replicas):
    cluster = SteppedCluster()
    fault, zones = faults.split()
    cluster.send("a", QUORUM, ("SET", "read", "v0"), ("SET", "written", "old"))
    cluster.run(1 * S)
    for zone in zones:
        break_down(cluster, fault, zone)
    cluster.run(1 * MS)
    calls = [cluster.send(zone, level, command) for zone, command in STEPS]
    cluster.run(1_500 * MS)
    calls += [cluster.send(zone, level, command) for zone, command in STEPS_LATER[: len(replies) - 2]]
    assert [replied(call) for call in calls] == [WORDS[reply] for reply in replies]
    cluster.mend_all()
    cluster.run(60 * S)
    for _ in range(60):
        cluster.send("a", QUORUM, ("GET", "written"))
    assert [value or "nil" for value in cluster.values("written")] == replicas
