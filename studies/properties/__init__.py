"""Property suites for users' own tests: strategies, ``QueueMachine``, and the decorator ``sim_test``.

Read first: docs/properties.md, then ``zonelab.studies.properties.machine`` and ``zonelab.studies.properties.lab``
(a simulated cluster in a test). Names are loaded when they are first used: pytest imports this package at its start,
for the plugin.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zonelab.engine.queue import ExtendableQueue, Queue, RepairableQueue
    from zonelab.scenarios.queues.under_test import Site
    from zonelab.studies.properties.dyno import DynoQueueMachine, DynoV2QueueMachine, HardenedQueueMachine
    from zonelab.studies.properties.engine import EngineMachine
    from zonelab.studies.properties.faults import Trouble
    from zonelab.studies.properties.interruptions import Course, CrashBefore, NextStep, StallBefore, ToRest
    from zonelab.studies.properties.ledger import Violation
    from zonelab.studies.properties.machine import SAFE, QueueMachine
    from zonelab.studies.properties.simulated_test import sim_test
    from zonelab.studies.properties.strategies import fault_schedules, lags, levels, scenarios, topologies, workloads
    from zonelab.studies.properties.zone_contents import Holdings

_MODULES = {
    ".interruptions": ("NextStep", "Course", "CrashBefore", "StallBefore", "ToRest"),
    ".dyno": ("DynoQueueMachine", "DynoV2QueueMachine", "HardenedQueueMachine"),
    ".engine": ("EngineMachine",),
    ".zone_contents": ("Holdings",),
    ".ledger": ("Violation",),
    ".machine": ("SAFE", "QueueMachine"),
    ".simulated_test": ("sim_test",),
    ".strategies": ("fault_schedules", "lags", "levels", "scenarios", "topologies", "workloads"),
    ".faults": ("Trouble",),
    "zonelab.scenarios.queues.under_test": ("Site",),
    "zonelab.engine.queue": ("ExtendableQueue", "Queue", "RepairableQueue"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "SAFE",
    "Course",
    "CrashBefore",
    "DynoQueueMachine",
    "DynoV2QueueMachine",
    "EngineMachine",
    "ExtendableQueue",
    "HardenedQueueMachine",
    "Holdings",
    "NextStep",
    "Queue",
    "QueueMachine",
    "RepairableQueue",
    "Site",
    "StallBefore",
    "ToRest",
    "Trouble",
    "Violation",
    "fault_schedules",
    "lags",
    "levels",
    "scenarios",
    "sim_test",
    "topologies",
    "workloads",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
