"""The workloads that clients may have in place of a queue, and the operations of each."""

from collections.abc import Mapping
from enum import StrEnum


class WorkloadKind(StrEnum):
    """The workload of a run whose clients do not use a queue."""

    REGISTER = "register"
    SET = "set"
    LOCK = "lock"
    COUNTER = "counter"
    LIST = "list"


OPERATIONS_OF: Mapping[WorkloadKind, tuple[str, ...]] = {
    WorkloadKind.REGISTER: ("read", "write", "cas", "create"),
    WorkloadKind.SET: ("add", "members"),
    WorkloadKind.LOCK: ("acquire",),
    WorkloadKind.COUNTER: ("next",),
    WorkloadKind.LIST: ("push", "pop"),
}
