"""Carries out one run on a testbed: starts the testbed, goes through the phases of the run, and stops it.

The testbed is known as a ``Testbed`` only, so a run is the same on real servers and in simulation.
"""

from collections.abc import Callable
from contextlib import ExitStack

from zonelab.cluster.testbed import Testbed
from zonelab.scenarios.clients.policy import PolicyTestbed
from zonelab.scenarios.consistency.run import WorkloadTestRun
from zonelab.scenarios.errors import explain
from zonelab.scenarios.logs import LOGGER
from zonelab.scenarios.queues.catalogue import MakeQueue, queue_under_test
from zonelab.scenarios.run.queue_run import QueueRun
from zonelab.scenarios.run_files.record import Note, RunRecord, unnoted
from zonelab.scenarios.run_files.tables import Tables
from zonelab.scenarios.run_phases import Onlooker, RunContext, RunPhases, Watcher
from zonelab.scenarios.spec.scenario import Scenario
from zonelab.scenarios.tasks import Halt, at_end

MakeRun = Callable[[RunContext], RunPhases]


async def carry_out(
    scenario: Scenario,
    testbed: Testbed,
    tables: Tables,
    *,
    halt: Halt,
    watcher: Watcher,
    make_queue: MakeQueue = queue_under_test,
    note: Note = unnoted,
    onlooker: Onlooker | None = None,
    make_run: MakeRun | None = None,
) -> RunRecord:
    """Carry out one run on a testbed that is not started yet, and write its tables.

    Whatever happens, the testbed is stopped and the tables are closed when this returns. What went wrong is in the
    record: ``interrupted`` if somebody asked for the end, ``failed`` with one line if the lab could not go on.
    """
    record = RunRecord()
    testbed = _with_policy(scenario, testbed)
    async with at_end(lambda: _stop(testbed, halt, record)):
        try:
            watcher.phase("set-up", None)
            await testbed.start()
            with ExitStack() as closing:
                context = RunContext(
                    scenario=scenario,
                    testbed=testbed,
                    tables=tables,
                    halt=halt,
                    watcher=watcher,
                    record=record,
                    closing=closing,
                    note=note,
                )
                run = _run_of(context, make_queue) if make_run is None else make_run(context)
                if onlooker is not None:
                    onlooker.sees(run)
                await run.phases()
        except Exception as error:  # the record must have it, whatever it is
            halt.fail(error)
    _conclude(record, halt)
    return record


def _run_of(context: RunContext, make_queue: MakeQueue) -> RunPhases:
    return QueueRun(context, make_queue) if context.scenario.workload is None else WorkloadTestRun(context)


def _with_policy(scenario: Scenario, testbed: Testbed) -> Testbed:
    """Return what the programs of the run are given: without a policy, the testbed itself."""
    if scenario.clients.as_usual:
        return testbed
    factor = scenario.replication.time_factor
    return PolicyTestbed(testbed, scenario.clients, zones=scenario.zones, time_factor=factor)


async def _stop(testbed: Testbed, halt: Halt, record: RunRecord) -> None:
    record.coordinators = {
        name: {**item.statistics.as_dict(), "sent_bytes": _sent_bytes(testbed, name)}
        for name, item in testbed.coordinators.items()
    }
    if isinstance(testbed, PolicyTestbed):
        record.clients = testbed.counts
    try:
        await testbed.stop()
    except Exception as error:  # it must not hide what happened before
        halt.fail(error)


def _sent_bytes(testbed: Testbed, zone: str) -> dict[str, int]:
    """Return the bytes that links from ``zone`` carried to each other one; empty where nobody counts them."""
    links = {target: link for (source, target), link in testbed.links.items() if source == zone}
    return {target: link.carried_bytes for target, link in links.items() if link.carried_bytes}


def _conclude(record: RunRecord, halt: Halt) -> None:
    if halt.error is not None:
        record.status, record.error = "failed", explain(halt.error)
        LOGGER.error("the run failed: %s", record.error, exc_info=halt.error)
    elif halt.interrupted:
        record.status, record.error = "interrupted", "interrupted by the user"
        LOGGER.warning("the run was interrupted")
