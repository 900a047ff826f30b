"""Rules of a scenario whose clients are programs of the user's own."""

from collections.abc import Iterator

from zonelab.cluster.fields import Problem
from zonelab.scenarios.arms import Arm
from zonelab.scenarios.faults.catalogue import BESIDE_PROGRAMS
from zonelab.scenarios.spec.programs import PROCESSES_MAX
from zonelab.scenarios.spec.scenario import Scenario

_REPLACED = ("queue", "consumers", "clients", "sink", "workload")


def program_problems(scenario: Scenario) -> Iterator[Problem]:
    """Yield what cannot be, beside ``programs``."""
    if scenario.arm is Arm.SIM:
        yield Problem(
            "programs", "cannot be simulated: they run beside real servers (--on process, if the verb has it)"
        )
        return
    for name in _REPLACED:
        if getattr(scenario, name) != type(scenario).model_fields[name].default:
            yield Problem(name, "is not accepted beside programs, which take its place")
    for name, field in type(scenario.load).model_fields.items():
        if name != "duration_s" and getattr(scenario.load, name) != field.default:
            yield Problem(f"load.{name}", "is not accepted beside programs, which push what they will")
    if scenario.servers != scenario.zones or len(scenario.topology.data_centres) > 1:
        yield Problem("topology.data_centres", "programs need one data centre with one server a zone")
        return
    processes = 0
    for name, program in scenario.programs.items():
        yield from program.problems(f"programs.{name}", scenario.zones)
        processes += program.count * len(program.zones(scenario.zones))
    if processes > PROCESSES_MAX:
        yield Problem.of("programs", f"{processes} processes", f"at most {PROCESSES_MAX}")
    for index, fault in enumerate(scenario.faults):
        if fault.kind not in BESIDE_PROGRAMS and not fault.simulated_only:
            yield Problem.of(f"faults[{index}].kind", fault.kind, f"beside programs {', '.join(BESIDE_PROGRAMS)}")
    if scenario.drain.bound_s <= scenario.drain.quiet_s:
        accepted = f"more than drain.quiet_s ({scenario.drain.quiet_s:g})"
        yield Problem.of("drain.bound_s", scenario.drain.bound_s, accepted)
