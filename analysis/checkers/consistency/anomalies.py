"""Anomalies of registers, sets, locks, counters and lists."""

from collections.abc import Mapping

from zonelab.analysis.case_class import CaseClass
from zonelab.analysis.workloads import WorkloadKind


class Anomaly(CaseClass):
    """An anomaly, which a single copy of the data, used by one client at a time, would never show."""

    NONLINEARIZABLE = "nonlinearizable", "a key whose operations fit into no order that a register could have had"
    UNWRITTEN = "unwritten", "a read returned a value that nobody had begun to write"
    STALE_READ = "stale_read", "a read that missed a write confirmed before it began"
    CAS_TWICE = "cas_twice", "two compare-and-sets succeeded on the same value"
    LOST_WRITE = "lost_write", "the last write of a key was confirmed, and no zone holds it at rest"
    READ_YOUR_WRITES = "read_your_writes", "a client's read missed its own confirmed write"
    MONOTONIC_READS = "monotonic_reads", "a client's read went back behind what it had read before"
    MONOTONIC_WRITES = "monotonic_writes", "two writes of one client, seen in the other order"
    LOST_ADD = "lost_add", "the addition was confirmed, and no zone holds the member at rest"
    VANISHED = "vanished", "a read that missed a member that an earlier read had shown"
    TWO_OWNERS = "two_owners", "a lock that was granted more than once"
    NO_OWNER = "no_owner", "a lock that was granted to nobody and is taken all the same"
    DUPLICATE_NUMBER = "duplicate_number", "a number that was given out more than once"
    POPPED_TWICE = "popped_twice", "an item that was taken more than once"
    LEFT_BEHIND = "left_behind", "an item that was taken, and that some zone still lists at rest"
    DIVERGENT = "divergent", "a key that the zones hold differently at rest"
    APPLIED_IN_DOUBT = (
        "applied_in_doubt",
        "an update that was answered with an error, and that was seen or is held all the same",
    )
    APPLIED_AFTER_FAIL = (
        "applied_after_fail",
        "an update that was said to have certainly failed, and that was seen or is held",
    )
    UNDECIDED = "undecided", "a key whose linearizability is too costly to decide"


FORBIDDEN_OF: Mapping[WorkloadKind, tuple[Anomaly, ...]] = {
    WorkloadKind.REGISTER: (
        Anomaly.NONLINEARIZABLE,
        Anomaly.UNWRITTEN,
        Anomaly.LOST_WRITE,
        Anomaly.DIVERGENT,
        Anomaly.APPLIED_AFTER_FAIL,
    ),
    WorkloadKind.SET: (Anomaly.LOST_ADD, Anomaly.UNWRITTEN, Anomaly.DIVERGENT, Anomaly.APPLIED_AFTER_FAIL),
    WorkloadKind.LOCK: (Anomaly.TWO_OWNERS,),
    WorkloadKind.COUNTER: (Anomaly.DUPLICATE_NUMBER,),
    WorkloadKind.LIST: (Anomaly.POPPED_TWICE, Anomaly.DIVERGENT),
}
"""Anomalies that make a run invalid unless its scenario says otherwise."""
