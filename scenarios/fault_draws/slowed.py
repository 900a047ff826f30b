"""A scenario of milliseconds made one of seconds, for engines that count in seconds."""

from typing import Any

from zonelab.scenarios.faults.catalogue import AnyFault
from zonelab.scenarios.faults.clocks import ClockFault
from zonelab.scenarios.faults.zones import Pause
from zonelab.scenarios.spec.scenario import Scenario


def slowed(scenario: Scenario, factor: int) -> Scenario:
    """``scenario`` with leases, load, faults and drain ``factor`` times as long; itself if that is 1.

    Lags, work and the lengths of pauses stay: a pause is long or short beside the time-outs of the replication layer.
    """
    if factor == 1:
        return scenario
    queue, load = scenario.queue, scenario.load
    operations = tuple(
        one.model_copy(update={"at_ms": one.at_ms * factor, "delay_ms": one.delay_ms * factor})
        for one in load.operations or ()
    )
    return scenario.model_copy(
        update={
            "queue": queue.model_copy(
                update={"unack_ms": queue.unack_ms * factor, "unack_interval_ms": queue.unack_interval_ms * factor}
            ),
            "load": load.model_copy(
                update={
                    "duration_s": load.duration_s * factor,
                    "operations": operations,
                    "retry_after_ms": load.retry_after_ms * factor,
                }
            ),
            "faults": tuple(_slowed(fault, factor) for fault in scenario.faults),
            "drain": scenario.drain.model_copy(update={"bound_s": scenario.drain.bound_s * factor}),
        }
    )


def _slowed(fault: AnyFault, factor: int) -> AnyFault:
    times: dict[str, Any] = {"at_s": round(fault.at_s * factor, 3)}
    if not isinstance(fault, Pause):
        times["for_s"] = round(fault.for_s * factor, 3)
    if isinstance(fault, ClockFault):
        times["offset_ms"] = fault.offset_ms * factor
    return fault.model_copy(update=times)
