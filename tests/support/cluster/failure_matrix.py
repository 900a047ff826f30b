"""What clients of Dynomite at 2046b05 saw with zones killed, paused or unreachable: its failure matrix.

Three racks, default time-outs; the steps are those of ``tests/unit/cluster/coordinators/test_failure_matrix.py``.
"""

import pytest

from zonelab.cluster.connections.failures import PEER_NOT_CONNECTED, PEER_REFUSED, STORAGE_REFUSED
from zonelab.cluster.links.link import Cut
from zonelab.cluster.votes.levels import LEVELS_OF_ONE_DC

ONE, QUORUM, SAFE = LEVELS_OF_ONE_DC
QUORUMS = (QUORUM, SAFE)

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

CUTS = {"lose": Cut.DROP, "freeze": Cut.FREEZE, "hold": Cut.HOLD}
"""How the links around a zone are cut by the faults that are none of its server."""

READ = ("GET", "read")
STEPS = [("a", ("SET", "first", 1)), ("a", READ)]
STEPS_LATER = [("a", READ), ("a", ("SET", "written", "new")), ("c", READ), ("c", ("SET", "last", 1))]
"""What clients do, through which zone, once a fault is there and 1.5 s later."""
