"""Goal: faults look to clients as they were measured on Dynomite. Method: its failure matrix replayed in virtual time.

Dynomite at 2046b05 with three racks and default time-outs was driven through the same steps: break something, write
and read through rack 1, wait 1.5 s, read and write again, then read and write through rack 3, mend, and look at the key
that was written during the outage. A killed Redis has no persistence.

Three rows differ, for reasons that docs/replication.md gives: each coordinator has its own connection to each server,
so zone c finds out for itself that a server stalls, and does so 5.00 s after its own first request.
"""

import pytest
from support.scripted import MS, S, ScriptedCluster, Until

from cluster.levels import PEER_NOT_CONNECTED, PEER_REFUSED, STORAGE_REFUSED, Level
from cluster.link import Cut

ONE, QUORUM, SAFE = Level
QUORUMS = (QUORUM, SAFE)
FROZEN_NS = 60 * S

WORDS = {
    "ok": (b"OK", 0),
    "v0": (b"v0", 0),
    "ST": (STORAGE_REFUSED, 0),
    "ST5": (STORAGE_REFUSED, 5_000),
    "PN": (PEER_NOT_CONNECTED, 0),
    "PR5": (PEER_REFUSED, 5_200),
    "PR25": (PEER_REFUSED, 25_200),
}

# (fault, level): replies to SET and GET via a, GET and SET via a 1.5 s later, GET and SET via c; replicas afterwards
MATRIX = {
    ("kill b", ONE): ("ok v0 v0 ok v0 ok", "new nil new"),
    ("kill b", QUORUMS): ("ok v0 v0 ok v0 ok", "new nil new"),
    ("kill a", ONE): ("ST ST ST ST v0 ok", "nil new new"),
    ("kill a", QUORUMS): ("ok v0 v0 ok v0 ok", "nil new new"),
    ("kill bc", ONE): ("ok v0 v0 ok ST ST", "new nil nil"),
    ("kill bc", QUORUMS): ("ST ST ST ST ST ST", "new nil nil"),
    ("kill ab", ONE): ("ST ST ST ST v0 ok", "nil nil new"),
    ("kill ab", QUORUMS): ("ST ST ST ST ST ST", "nil nil new"),
    ("kill abc", ONE): ("ST ST ST ST ST ST", "nil nil nil"),
    ("kill abc", QUORUMS): ("ST ST ST ST ST ST", "nil nil nil"),
    ("pause b", ONE): ("ok v0 v0 ok v0 ok", "new new new"),
    ("pause b", QUORUMS): ("ok v0 v0 ok v0 ok", "new new new"),
    ("pause a", ONE): ("ST5 ST ST5 ST v0 ok", "old new new"),
    ("pause a", QUORUMS): ("ok v0 v0 ok v0 ok", "new new new"),
    ("pause bc", ONE): ("ok v0 v0 ok ST5 ST", "new new new"),  # measured 3.50 s for ST5 via c
    ("pause bc", QUORUMS): ("ST5 ST ST5 ST ST5 ST", "new old old"),  # measured 0 s for ST5 via c
    ("pause ab", ONE): ("ST5 ST ST5 ST v0 ok", "old new new"),
    ("pause ab", QUORUMS): ("ST5 ST ST5 ST ST5 ST", "old old new"),  # measured 0 s for ST5 via c
    # the coordinators of these zones killed: connections to them are reset, and refused from then on
    ("lose b", ONE): ("ok v0 v0 ok v0 ok", "new old new"),
    ("lose b", QUORUMS): ("ok v0 v0 ok v0 ok", "new old new"),
    ("lose bc", ONE): ("ok v0 v0 ok", "new old old"),
    ("lose bc", QUORUMS): ("PN PN PN PN", "new old old"),
    # the coordinators of these zones stopped: their kernels go on accepting connections and bytes
    ("freeze b", ONE): ("ok v0 v0 ok v0 ok", "new new new"),
    ("freeze b", QUORUMS): ("ok v0 v0 ok v0 ok", "new new new"),
    ("freeze bc", ONE): ("ok v0 v0 ok", "new new new"),
    ("freeze bc", QUORUMS): ("PR25 PN PR5 PN", "new old old"),
    # ours alone: a black hole around these zones, through which no new connection comes about
    ("hold b", ONE): ("ok v0 v0 ok v0 ok", "new new new"),
    ("hold b", QUORUMS): ("ok v0 v0 ok v0 ok", "new new new"),
    ("hold bc", ONE): ("ok v0 v0 ok", "new new new"),
    ("hold bc", QUORUMS): ("PR25 PN PN PN", "new old old"),
}
ROWS = [
    pytest.param(fault, level, replies.split(), replicas.split(), id=f"{fault}-{level}")
    for (fault, levels), (replies, replicas) in MATRIX.items()
    for level in (levels if isinstance(levels, tuple) else (levels,))
]


def around(cluster, zone):
    return [
        (one, other) for one in cluster.servers for other in cluster.servers if one != other and zone in (one, other)
    ]


def break_down(cluster, fault, zone):
    if fault == "kill":
        cluster.servers[zone].kill()
    elif fault == "pause":
        cluster.servers[zone].pause()
    else:
        for pair in around(cluster, zone):
            if fault == "freeze":
                cluster.links[pair].set_lag(Until(FROZEN_NS, cluster.runtime))
            else:
                cluster.links[pair].cut(Cut.DROP if fault == "lose" else Cut.HOLD)


def heal(cluster, fault):
    if fault == "freeze":
        cluster.run_to(FROZEN_NS)
    for server in cluster.servers.values():
        server.restart()
        server.resume()
    cluster.mend_all()
    cluster.run(60 * S)


def replied(call):
    return str(call.error) if call.error else call.replies[0], call.ms


@pytest.mark.parametrize(("faults", "level", "replies", "replicas"), ROWS)
def test_a_fault_looks_to_clients_as_measured(faults, level, replies, replicas):
    cluster = ScriptedCluster()
    fault, zones = faults.split()
    cluster.send("a", QUORUM, ("SET", "read", "v0"), ("SET", "written", "old"))
    cluster.run(1 * S)
    for zone in zones:
        break_down(cluster, fault, zone)
    cluster.run(1 * MS)
    steps = [("a", ("SET", "first", 1)), ("a", ("GET", "read"))]
    calls = [cluster.send(zone, level, command) for zone, command in steps]
    cluster.run(1_500 * MS)
    steps = [
        ("a", ("GET", "read")),
        ("a", ("SET", "written", "new")),
        ("c", ("GET", "read")),
        ("c", ("SET", "last", 1)),
    ]
    calls += [cluster.send(zone, level, command) for zone, command in steps[: len(replies) - 2]]
    assert [replied(call) for call in calls] == [WORDS[reply] for reply in replies]
    heal(cluster, fault)
    for _ in range(60):
        cluster.send("a", QUORUM, ("GET", "written"))
    assert [value or "nil" for value in cluster.values("written")] == replicas
